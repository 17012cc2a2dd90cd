"""MAP, Bethe and ELBO of a trained cell with any head, at one belief on its training part (theory 4)."""

from typing import TYPE_CHECKING

import torch

from corners.beliefs import GaussianBelief, Marginals, Prior
from corners.engine.fit import CornerFit
from corners.errors import SpecError
from corners.exact.bounds import Objective, kl_to_prior
from corners.exact.shared_free import prior_overlap
from corners.method import BeliefObjectives

if TYPE_CHECKING:
    from corners.data.split import Split


def objectives_at(fit: CornerFit, replicate: int, split: "Split") -> BeliefObjectives:
    """The three objectives at the replicate's ``(μ, Σ)``, precision and head parameters, totals in nats.

    Data terms: ``-log_prob`` at the mean, ``-log_partition`` and ``-expected_log_prob`` of every training point. Prior
    terms: ``-log N(μ; 0, I/α)``, ``-log Z_w`` and ``KL(q‖p)``, summed over the latent functions. Where each of those
    has a precision of its own the smallest is given, for the thresholds of theory 4.1.

    Raises
    ------
    SpecError : the replicate failed, or its latent functions share one covariance.
    """
    chosen, corner = fit.replicates[replicate], fit.corner
    if chosen is None or not fit.statuses[replicate].usable:
        raise SpecError(f"{fit.method}, seed {fit.seeds[replicate]}: {fit.statuses[replicate].sentence}")
    features = torch.tensor(fit.features(split.train.inputs, replicate=replicate), dtype=chosen.belief.mean.dtype)
    found = chosen.belief.marginals(corner.latent_features(features))
    if found.coupling is not None or corner.likelihood.target_columns > 1:
        raise SpecError("the three objectives are set side by side for one output, or for classes with a belief each")
    at = Marginals(found.mean.detach().double(), found.variance.detach().double().clamp(min=0.0))
    params = {name: value.detach().double() for name, value in chosen.params.items()}
    targets = torch.tensor(chosen.standardiser.targets(split.train.targets), dtype=torch.float64)
    head = corner.likelihood
    data = (
        head.log_prob(params, targets, at.mean),
        head.log_partition(params, targets, at),
        head.expected_log_prob(params, targets, at),
    )
    beliefs = _each_latent(chosen.belief, head.latents)
    precisions = params[Prior.parameter].exp().reshape(-1).expand(len(beliefs)).tolist()
    pairs = list(zip(beliefs, precisions, strict=True))
    priors = [
        sum(parts) for parts in zip(*(_prior_terms(*pair, corner.covariance.name) for pair in pairs), strict=True)
    ]
    terms = [Objective(float(prior), -each.detach().numpy()) for prior, each in zip(priors, data, strict=True)]
    return BeliefObjectives(
        map=terms[0],
        bethe=terms[1],
        elbo=terms[2],
        prior_precision=min(precisions),
        family=corner.covariance.name,
        routing=corner.routing.name,
    )


def _each_latent(belief: GaussianBelief, latents: int) -> list[GaussianBelief]:
    return [belief] if latents == 1 else [belief.select(torch.tensor(k)) for k in range(latents)]


def _prior_terms(belief: GaussianBelief, precision: float, family: str) -> tuple[float, float, float]:
    """Of MAP, Bethe and ELBO, for one latent function."""
    mean = belief.mean.detach().double().numpy()
    point = prior_overlap(mean, None, precision).value
    if family == "none":
        return point, point, float("inf")
    covariance = belief.covariance.matrix().detach().double().numpy()
    covariance = 0.5 * (covariance + covariance.T)  # float32 leaves the two halves apart by rounding
    return point, prior_overlap(mean, covariance, precision).value, kl_to_prior(mean, covariance, precision)
