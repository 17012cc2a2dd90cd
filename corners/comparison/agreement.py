"""A belief against sampled weights: the tests of theory 10.3 with their Monte Carlo errors, distances, a verdict."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corners.comparison.agreement_checks import (
    LIMIT,
    Check,
    LogPredictive,
    Marginals,
    PosteriorDraws,
    covariance_check,
    log_predictive,
    marginals,
    z_check,
)
from corners.comparison.attribution import belief_covariance
from corners.comparison.distances import ENERGY_POINTS, energy_distance, energy_null, gaussian_w2, psd_root, thin
from corners.errors import DataError, TruthError
from corners.method import LastLayer
from corners.types import Array, Float

FREE_NOTE = (
    "a free covariance is fitted variance, not an approximation of the posterior: a difference here is expected and no "
    "fault of the fit"
)
MARGINAL_NOTE = (
    "the draws integrate over the hyperparameters, the belief holds them at their fitted values: some difference is "
    "expected"
)
POINT_NOTE = "the belief is a point: its standard deviations are zero and it has no covariance to compare"
NO_GENERATOR = "not computed: no random generator was given"

GAUSSIAN = "gaussian"

KHat = Callable[..., Any]
"""``k_hat(log_density, mean, covariance, rng=generator)``, for example ``inference.truth.gaussian_k_hat``."""


@dataclass(frozen=True, eq=False)
class AgreementReport:
    """Checks with Monte Carlo errors, every weight's marginals, log predictive densities, distances and k-hat.

    ``w2`` and ``energy`` are in the unit of the weights, their ``_relative`` forms divided by the root of the trace of
    the draws' covariance. ``energy_null`` holds what splitting the chains gives. ``k_hat`` judges the belief against
    the posterior at the fit's own precision, noise and other parameters of the likelihood. ``loo`` is what the draws
    say of points left out (PSIS), in words. None stands for what was not computed; ``notes`` say why.
    """

    checks: tuple[Check, ...]
    marginals: Marginals
    log_predictive: LogPredictive
    w2: float
    w2_relative: float
    energy: float | None
    energy_relative: float | None
    energy_null: Float[Array, " K"]
    k_hat: str | None
    free: bool
    notes: tuple[str, ...]
    loo: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether every test of every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def false_alarm(self) -> float:
        """Bound on the chance that any test fails although belief and posterior are equal."""
        return min(sum(check.false_alarm for check in self.checks), 1.0)

    @property
    def sentence(self) -> str:
        """The verdict, what it rests on, and how to read it."""
        count = sum(check.count for check in self.checks)
        if self.agrees:
            verdict = (
                f"agrees with the posterior within Monte Carlo error ({count} tests at {LIMIT:g} standard errors; were "
                f"they equal, any of them would fail with probability at most {self.false_alarm:.1g})"
            )
        else:
            verdict = "differs from the posterior: " + "; ".join(str(each) for each in self.checks if not each.passed)
        sizes = (
            f"W2 distance {self.w2_relative:.2g} posterior scales, log predictive density "
            f"{self.log_predictive.mean_difference:+.2g} nats per test point"
        )
        return "; ".join([verdict, sizes, *self.notes])

    def __str__(self) -> str:
        lines = [str(check) for check in self.checks]
        lines.append(f"W2 distance: {self.w2:.4g} ({self.w2_relative:.3g} of the posterior's scale)")
        if self.energy is not None:
            top = f"{self.energy_null.max():.3g}" if self.energy_null.size else "unknown"
            lines.append(f"energy distance: {self.energy:.3g}, largest between halves of the chains {top}")
        lines += [f"k-hat: {self.k_hat}"] if self.k_hat is not None else []
        lines += [f"PSIS-LOO: {self.loo}"] if self.loo is not None else []
        return "\n".join([*lines, self.sentence])

    def records(self) -> list[dict[str, Any]]:
        """One flat row a check; ``weight_records`` of ``marginals`` has a row a weight."""
        shared = {"agrees": self.agrees, "w2_relative": self.w2_relative, "energy_relative": self.energy_relative}
        return [{**check.record(), **shared, "k_hat": self.k_hat} for check in self.checks]


def agreement(
    layer: LastLayer,
    reference: PosteriorDraws,
    *,
    generator: np.random.Generator | None = None,
    k_hat: KHat | None = None,
) -> AgreementReport:
    """Hold a belief against gated draws, in the layer's units, of the posterior of its own data (theory 10.3).

    Every weight's mean and standard deviation and every test point's log predictive density are tested at 4.5 standard
    errors, the whitened covariance at three times its expected Frobenius error. Energy distance and k-hat draw from the
    belief: without a ``generator`` they are left out, and it is said; k-hat needs a ``k_hat`` function too.

    Raises
    ------
    TruthError, DataError : the reference failed its gate; it holds another number of weights.

    Example
    -------
    >>> from types import SimpleNamespace
    >>> size, nothing, density = np.full(1, 4e3), np.zeros((1, 1)), lambda *_: (np.log([0.39894228]), np.ones(1))
    >>> rest = {"ess_mean": size, "ess_sd": size, "passed": True, "hyperparameters": {}, "log_predictive": density}
    >>> draws = SimpleNamespace(weights=np.random.default_rng(0).normal(size=(4, 1000, 1)), **rest)
    >>> belief = (np.zeros(1), np.eye(1), 1.0, 1.0, 0.0, "sequential", "closed", "dense")  # the prior: no feature
    >>> agreement(LastLayer(nothing, np.zeros(1), nothing, np.zeros(1), *belief), draws).agrees
    True
    """
    _require(layer, reference)
    covariance = belief_covariance(layer)
    found, predictive = marginals(layer, covariance, reference), log_predictive(layer, covariance, reference)
    return AgreementReport(
        checks=_checks(layer, covariance, reference, found, predictive),
        marginals=found,
        log_predictive=predictive,
        **_distances(layer.mean, covariance, reference.weights, generator),
        k_hat=_k_hat(layer, covariance, reference, generator, k_hat),
        free=layer.routing != "closed",
        notes=_notes(layer, reference, generator),
        loo=_loo(reference),
    )


def _checks(
    layer: LastLayer,
    covariance: Float[Array, "H H"],
    reference: PosteriorDraws,
    found: Marginals,
    predictive: LogPredictive,
) -> tuple[Check, ...]:
    return (
        z_check("posterior means", found.mean_z, "weight"),
        z_check("posterior standard deviations", found.sd_z, "weight"),
        *([] if layer.family == "none" else [covariance_check(layer.mean, covariance, reference)]),
        z_check("log predictive densities", predictive.z, "test point"),
    )


def _distances(
    mean: Float[Array, " H"],
    covariance: Float[Array, "H H"],
    draws: Float[Array, "C S H"],
    generator: np.random.Generator | None,
) -> dict[str, Any]:
    """The report's distances by name: in the unit of the weights, and in units of the posterior's scale."""
    flat = draws.reshape(-1, mean.size)
    posterior = np.atleast_2d(np.cov(flat, rowvar=False))
    scale = float(np.sqrt(np.trace(posterior)))
    w2 = gaussian_w2(mean, covariance, flat.mean(axis=0), posterior)
    energy = None if generator is None else _energy(mean, covariance, draws, generator)
    return {
        "w2": w2,
        "w2_relative": w2 / scale,
        "energy": energy,
        "energy_relative": None if energy is None else energy / scale,
        "energy_null": np.zeros(0) if energy is None else energy_null(draws),
    }


def _require(layer: LastLayer, reference: PosteriorDraws) -> None:
    if not reference.passed:
        raise TruthError(
            "the reference failed its gate and may not be used as ground truth; look at its gate, and sample longer or "
            "in another form"
        )
    if reference.weights.shape[-1] != layer.mean.size:
        raise DataError(f"the reference has {reference.weights.shape[-1]} weights, the layer {layer.mean.size}")


def _energy(
    mean: Float[Array, " H"],
    covariance: Float[Array, "H H"],
    draws: Float[Array, "C S H"],
    generator: np.random.Generator,
) -> float:
    noise = generator.standard_normal((ENERGY_POINTS, mean.size))
    return energy_distance(mean + noise @ psd_root(covariance), thin(draws, ENERGY_POINTS))


def _k_hat(
    layer: LastLayer,
    covariance: Float[Array, "H H"],
    reference: PosteriorDraws,
    generator: np.random.Generator | None,
    k_hat: KHat | None,
) -> str | None:
    """k-hat of the belief against the posterior at the layer's own hyperparameters."""
    if k_hat is None or generator is None:
        return None
    if np.linalg.eigvalsh(covariance)[0] <= 0.0:
        return "not defined: the covariance is singular"

    def log_density(weights: Float[Array, "S H"]) -> Float[Array, " S"]:
        prior = -0.5 * layer.prior_precision * (weights**2).sum(axis=1)
        latent = weights @ layer.features.T
        if layer.likelihood != GAUSSIAN:
            sampled: Any = reference  # of another likelihood it holds the density of the data too
            return prior + sampled.log_prob(layer.targets, latent, layer.likelihood_params).sum(axis=1)
        return prior - 0.5 * ((layer.targets - latent) ** 2).sum(axis=1) / layer.noise_var

    return str(k_hat(log_density, layer.mean, covariance, rng=generator))


def _loo(reference: PosteriorDraws) -> str | None:
    """The posterior's leave-one-out by Pareto smoothing, with the points where that cannot be trusted."""
    loo: Any = getattr(reference, "loo", None)
    if loo is None:
        return None
    flagged, count = len(loo.flagged), len(loo.lpd)
    return (
        f"{loo.elpd / count:+.4g} nats per training point, standard error {loo.se / count:.2g}; k-hat above "
        f"{loo.threshold:.2g} at {flagged} of {count}"
    )


def _notes(layer: LastLayer, reference: PosteriorDraws, generator: np.random.Generator | None) -> tuple[str, ...]:
    notes = []
    if layer.family == "none":
        notes.append(POINT_NOTE)
    elif layer.routing != "closed":
        notes.append(FREE_NOTE)
    notes += [MARGINAL_NOTE] if reference.hyperparameters else []
    notes += [f"energy distance {NO_GENERATOR}"] if generator is None else []
    return tuple(notes)
