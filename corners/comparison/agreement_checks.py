"""Belief and draws side by side, each difference in its Monte Carlo standard errors (theory 10.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import linalg, special

from corners.errors import DataError
from corners.method import LastLayer
from corners.numerics import LOG_2PI
from corners.types import Array, Float

LIMIT = 4.5
COVARIANCE_UNITS = 3.0


@runtime_checkable
class PosteriorDraws(Protocol):
    """What agreement reads of a reference posterior; ``inference.truth.reference.ReferencePosterior`` has it."""

    @property
    def weights(self) -> Array:
        """Draws of the weights, ``(chains, draws, H)``."""
        ...

    @property
    def hyperparameters(self) -> Mapping[str, Array]:
        """Draws of the hyperparameters that were sampled; empty where they were given."""
        ...

    @property
    def passed(self) -> bool:
        """Whether the sampler's gate passed."""
        ...

    @property
    def ess_mean(self) -> Array:
        """Effective sample size of every weight's mean, ``(H,)``."""
        ...

    @property
    def ess_sd(self) -> Array:
        """Effective sample size of every weight's standard deviation, ``(H,)``."""
        ...

    def log_predictive(self, features: Array, targets: Array) -> tuple[Array, Array]:
        """Log predictive densities of new points and their Monte Carlo standard errors."""
        ...


class HeadDraws(PosteriorDraws, Protocol):
    """What agreement reads beyond that where the likelihood is not Gaussian noise."""

    def log_prob(self, targets: Array, latent: Array, parameters: Mapping[str, float]) -> Array:
        """``log p(y_n | f_sn)`` of the likelihood that was sampled, at given parameters; ``latent`` is ``(S, N)``."""
        ...


@dataclass(frozen=True)
class Check:
    """One family of tests: how many, how many failed, the worst value, the limit, what chance alone does.

    ``false_alarm`` bounds the chance that any of the ``count`` tests fails although belief and posterior are equal.
    """

    name: str
    count: int
    failed: int
    worst: float
    limit: float
    unit: str
    where: str
    false_alarm: float

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return self.failed == 0

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        verdict = "all within" if self.passed else f"{self.failed} of {self.count} beyond"
        return f"{self.name}: {verdict} {self.limit:.3g} {self.unit} (worst {self.worst:.3g}{place})"

    def record(self) -> dict[str, Any]:
        """One flat row."""
        row = {"check": self.name, "passed": self.passed, "count": self.count, "failed": self.failed}
        return {**row, "worst": self.worst, "limit": self.limit, "where": self.where, "false_alarm": self.false_alarm}


@dataclass(frozen=True, eq=False)
class Marginals:
    """Every weight: draws and belief side by side, and their differences in Monte Carlo standard errors."""

    draws_mean: Float[Array, " H"]
    draws_sd: Float[Array, " H"]
    belief_mean: Float[Array, " H"]
    belief_sd: Float[Array, " H"]
    mean_z: Float[Array, " H"]
    sd_z: Float[Array, " H"]

    def weight_records(self) -> list[dict[str, Any]]:
        """One flat row a weight."""
        return [
            {"weight": h, **{name: float(values[h]) for name, values in vars(self).items()}}
            for h in range(self.draws_mean.size)
        ]


@dataclass(frozen=True, eq=False)
class LogPredictive:
    """Log predictive density (of labels and counts probability) of every test point, nats in the layer's units.

    Draws, their Monte Carlo error, belief, and the difference in such errors.
    """

    draws: Float[Array, " M"]
    mcse: Float[Array, " M"]
    belief: Float[Array, " M"]
    z: Float[Array, " M"]

    @property
    def mean_difference(self) -> float:
        """Belief minus draws, nats per test point: what the belief's own predictive gains."""
        return float((self.belief - self.draws).mean())


def marginals(layer: LastLayer, covariance: Float[Array, "H H"], reference: PosteriorDraws) -> Marginals:
    """``(m̂ - μ) √ESS_mean / ŝ`` and ``(ŝ/s - 1) √(2 ESS_sd)`` of every weight; infinite for a belief without spread."""
    draws = reference.weights.reshape(-1, layer.mean.size)
    mean, sd = draws.mean(axis=0), draws.std(axis=0, ddof=1)
    belief_sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratio = np.divide(sd, belief_sd, out=np.full_like(sd, np.inf), where=belief_sd > 0.0)
    mean_z = (mean - layer.mean) * np.sqrt(reference.ess_mean) / sd
    return Marginals(mean, sd, layer.mean, belief_sd, mean_z, (ratio - 1.0) * np.sqrt(2.0 * reference.ess_sd))


def log_predictive(layer: LastLayer, covariance: Float[Array, "H H"], reference: PosteriorDraws) -> LogPredictive:
    """The draws' predictive against ``log N(y; ψᵀμ, σ² + ψᵀΣψ)`` at the test points.

    Of another likelihood against ``layer.test_log_predictive``, what the fit itself gives them.
    """
    belief = _belief_log_predictive(layer, covariance)
    sampled, mcse = reference.log_predictive(layer.test_features, layer.test_targets)
    return LogPredictive(sampled, mcse, belief, (sampled - belief) / mcse)


def _belief_log_predictive(layer: LastLayer, covariance: Float[Array, "H H"]) -> Float[Array, " M"]:
    if layer.likelihood != "gaussian":
        if layer.test_log_predictive is None:
            raise DataError(
                f"a layer of likelihood {layer.likelihood!r} needs its own test_log_predictive; take it from a fit's "
                "sampled_layer"
            )
        return layer.test_log_predictive
    features = layer.test_features
    total = layer.noise_var + ((features @ covariance) * features).sum(axis=1)
    return -0.5 * (LOG_2PI + np.log(total) + (layer.test_targets - features @ layer.mean) ** 2 / total)


def z_check(name: str, z: Float[Array, " K"], of: str) -> Check:
    """``|z| ≤ 4.5`` for every element; NaN fails. By chance each fails with probability ``2 Φ(-4.5) = 6.8e-6``."""
    badness = np.where(np.isnan(z), np.inf, np.abs(z))
    worst = int(np.argmax(badness))
    chance = 2.0 * float(special.ndtr(-LIMIT)) * z.size
    failed = int((badness > LIMIT).sum())
    return Check(name, z.size, failed, float(badness[worst]), LIMIT, "standard errors", f"{of} {worst}", chance)


def covariance_check(mean: Float[Array, " H"], covariance: Float[Array, "H H"], reference: PosteriorDraws) -> Check:
    """``‖cov(L⁻¹(w - μ)) - I‖_F ≤ 3 √(H(H+1)/ESS)`` with ``Σ = LLᵀ`` and the smallest ESS of a standard deviation.

    With ``k = H(H+1)/2`` independent entries the squared error is about ``2 χ²_k / ESS``: by chance the limit is passed
    with probability ``P(χ²_k > 9k)``. A singular ``Σ`` is infinitely far from any draws that spread.
    """
    size = mean.size
    unit = float(np.sqrt(size * (size + 1) / reference.ess_sd.min()))
    entries = size * (size + 1) // 2
    chance = float(special.chdtrc(entries, COVARIANCE_UNITS**2 * entries))
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        error, where = np.inf, "a singular covariance"
    else:
        white = linalg.solve_triangular(lower, (reference.weights.reshape(-1, size) - mean).T, lower=True)
        error, where = float(np.linalg.norm(np.atleast_2d(np.cov(white)) - np.eye(size))) / unit, ""
    failed = int(not error <= COVARIANCE_UNITS)
    return Check("whitened covariance", 1, failed, error, COVARIANCE_UNITS, "expected errors", where, chance)
