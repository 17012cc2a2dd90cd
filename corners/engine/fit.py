"""What a trained cell is afterwards: every replicate's parameters, belief and standardiser, ready to predict."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GammaPrior, GaussianBelief, InverseGammaPrior
from corners.covariances._base import Params
from corners.data.batch import DTYPES
from corners.data.standardiser import Standardiser
from corners.engine.corner import Corner
from corners.engine.sampled_head import SampledHead, class_precision
from corners.errors import SpecError
from corners.likelihoods.gaussian import TARGET_VAR
from corners.method import Fit, FitStatus, HyperpriorSpec, LastLayer, Trace
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.multi_output_gaussian import MultiOutputGaussianPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class Replicate:
    """One trained replicate, without batch dimensions; ``belief`` is in the units trained in."""

    params: Params
    belief: GaussianBelief
    prior_precision: float
    standardiser: Standardiser
    best_step: int
    at_bound: tuple[str, ...]


@dataclass(frozen=True)
class CornerFit(Fit):
    """Fit of one cell; see :class:`corners.method.Fit` for what each member promises."""

    method: str
    corner: Corner
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    replicates: tuple[Replicate | None, ...]
    trace: Trace
    seconds: float
    dtype: str = "float64"

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """Features of inputs in original units."""
        return _numpy(self._features(inputs, replicate))

    def _features(self, inputs: Float[Array, "..."], replicate: int) -> Float[Tensor, "N H"]:
        chosen = self._usable(replicate)
        scaled = torch.tensor(chosen.standardiser.inputs(inputs), dtype=DTYPES[self.dtype])
        with torch.no_grad():
            return self.corner.backbone.features(chosen.params, scaled)

    def predict(
        self, inputs: Float[Array, "..."], *, replicate: int = 0
    ) -> Predictive | CategoricalPredictive | MultiOutputGaussianPredictive:
        """Predictive of one replicate at inputs in original units; of several outputs their joint distribution."""
        chosen = self._usable(replicate)
        marginals = chosen.belief.marginals(self.corner.latent_features(self._features(inputs, replicate)))
        likelihood, scale = self.corner.likelihood, chosen.standardiser
        of = likelihood.predictive if likelihood.target_columns == 1 else likelihood.joint_predictive
        return of(chosen.params, marginals, scale.target_mean, scale.target_scale)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """The replicate's last layer on its split; None where the likelihood is not Gaussian noise of one output."""
        chosen = self._usable(replicate)
        noise_var = self.corner.likelihood.noise_var(chosen.params)
        if noise_var is None or self.corner.likelihood.target_columns > 1:
            return None
        return self._layer(replicate, split, float(noise_var))

    def sampled_layer(self, replicate: int, split: "Split", latent: int | None = None) -> LastLayer | None:
        """The same for any likelihood; of K latent functions (one-versus-all) the binary layer of class ``latent``."""
        chosen, corner = self._usable(replicate), self.corner
        if corner.likelihood.noise_var(chosen.params) is not None:
            return self.last_layer(replicate, split) if latent is None else None
        head = SampledHead.of(corner.likelihood, chosen.params, latent)
        if head is None:
            return None
        belief = chosen.belief if latent is None else chosen.belief.select(torch.tensor(latent))
        layer = self._layer(replicate, split, float("nan"), belief)
        precision = layer.prior_precision if latent is None else class_precision(chosen.params, latent)
        test = belief.marginals(self._features(split.test.inputs, replicate))
        targets, test_targets = head.targets(layer.targets), head.targets(layer.test_targets)
        return replace(
            layer,
            targets=targets,
            test_targets=test_targets,
            prior_precision=precision,
            likelihood=head.name,
            likelihood_params=head.params,
            test_log_predictive=head.log_predictive(test_targets, test),
        )

    def _layer(
        self, replicate: int, split: "Split", noise_var: float, belief: GaussianBelief | None = None
    ) -> LastLayer:
        chosen, corner = self._usable(replicate), self.corner
        belief = chosen.belief if belief is None else belief
        return LastLayer(
            features=self.features(split.train.inputs, replicate=replicate),
            targets=chosen.standardiser.targets(split.train.targets),
            test_features=self.features(split.test.inputs, replicate=replicate),
            test_targets=chosen.standardiser.targets(split.test.targets),
            mean=_numpy(belief.mean),
            covariance=_numpy(belief.covariance.matrix()),
            prior_precision=chosen.prior_precision,
            noise_var=noise_var,
            jitter=corner.jitter if corner.covariance.name != "none" else 0.0,
            cavity=corner.cavity.name,
            routing=corner.routing.name,
            family=corner.covariance.name,
            target_mean=chosen.standardiser.target_mean,
            target_scale=chosen.standardiser.target_scale,
            precision_prior=_precision_prior(corner.prior.hyperprior, belief.mean.shape[-1]),
            noise_prior=_noise_prior(corner, chosen.params),
            has_prior_term=corner.has_prior_term,
            at_bound=chosen.at_bound,
        )

    def learned(self, replicate: int) -> dict[str, float]:
        """``prior_precision``, ``noise_scale`` (original units) and ``steps`` to the best state.

        Of several outputs ``noise_scale_0``, ``noise_scale_1``, ..., and the geometric mean of the precisions.
        """
        chosen = self.replicates[replicate]
        if chosen is None:
            return {}
        values = {"prior_precision": chosen.prior_precision, "steps": float(chosen.best_step)}
        noise_var = self.corner.likelihood.noise_var(chosen.params)
        if noise_var is None:
            return values
        scales = _numpy(noise_var.sqrt()) * chosen.standardiser.target_scale
        if self.corner.likelihood.target_columns == 1:
            return values | {"noise_scale": float(scales)}
        return values | {f"noise_scale_{p}": float(scale) for p, scale in enumerate(scales)}

    def _usable(self, replicate: int) -> Replicate:
        chosen, status = self.replicates[replicate], self.statuses[replicate]
        if chosen is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return chosen


def _numpy(tensor: Tensor) -> Array:
    return tensor.detach().double().numpy()


def _precision_prior(prior: GammaPrior | None, size: int) -> HyperpriorSpec | None:
    return None if prior is None else HyperpriorSpec("gamma", prior.shape, prior.rate_for(size))


def _noise_prior(corner: Corner, params: Params) -> HyperpriorSpec | None:
    prior = getattr(corner.likelihood, "hyperprior", None)
    if not isinstance(prior, InverseGammaPrior):
        return None
    return HyperpriorSpec("inverse_gamma", prior.shape, float(prior.scale_for(params[TARGET_VAR])))
