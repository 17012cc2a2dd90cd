"""The free objective over transformed parameters, its mean eliminated, for an optimiser (theory 3.5, 5.7)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from corners.exact.covariance import Covariance, DiagonalCovariance, FactorCovariance, NoCovariance
from corners.exact.shared_free import PriorOverlap, chain_plates, gaussian_plates, overlap_of
from corners.types import Array, Float

FAMILIES = ("none", "diagonal", "dense")


@dataclass(frozen=True)
class FreeBounds:
    """Boxes of the logarithms (theory 5.7).

    A dense factor's diagonal reaches lower than ``log_scales``, or its floor would show beside a tiny noise.
    """

    log_prior_precision: tuple[float, float] = (-10.0, 12.0)
    log_noise_var: tuple[float, float] = (-14.0, 5.0)
    log_scales: tuple[float, float] = (-18.0, 6.0)
    log_factor_diagonal: tuple[float, float] = (-18.0, 3.0)

    @classmethod
    def of(cls, targets: Float[Array, " N"]) -> "FreeBounds":
        """The noise at most four times the variance of the targets (and at least one nat above its floor)."""
        highest = math.log(max(4.0 * float(np.var(targets)), math.exp(-13.0)))
        return cls(log_noise_var=(-14.0, highest))


@dataclass(frozen=True)
class Hyperpriors:
    """Penalties without their constants; ``None`` adds nothing (theory 7.4).

    ``prior_precision=(a, b)`` is a Gamma density, ``−(a−1) log α + bα``; ``noise_var=(a, b)`` an inverse-Gamma density,
    ``(a+1) log σ² + b/σ²``.
    """

    prior_precision: tuple[float, float] | None = None
    noise_var: tuple[float, float] | None = None


NO_HYPERPRIORS = Hyperpriors()


class Belief(NamedTuple):
    """What a vector of transformed parameters stands for, with the mean that is best for it."""

    mean: Float[Array, " H"]
    covariance: Covariance
    prior_precision: float
    noise_var: float
    overlap: PriorOverlap


@dataclass(frozen=True, eq=False)
class FreeObjective:
    """``F`` plus penalties over ``(family roots, log α if free, log σ² if free)``: called, its value and gradient."""

    features: Float[Array, "N H"]
    targets: Float[Array, " N"]
    family: str
    jitter: float
    prior_precision: float | None
    noise_var: float | None
    hyperpriors: Hyperpriors
    bounds: FreeBounds

    def __call__(self, parameters: Float[Array, " P"]) -> tuple[float, Float[Array, " P"]]:
        """Value and gradient; by the envelope theorem the eliminated mean contributes nothing."""
        belief = self.belief(parameters)
        noise_scale = math.sqrt(belief.noise_var)
        variances = belief.covariance.variances(self.features)
        plates = gaussian_plates(self.targets, self.features @ belief.mean, variances, noise_scale)
        slopes = chain_plates(
            self.features,
            belief.mean,
            belief.covariance,
            belief.prior_precision,
            plates,
            belief.overlap,
            noise_scale,
        )
        penalty, prior_slope, noise_slope = self._penalty(belief)
        gradient = [self._family_gradient(parameters, slopes.family)]
        if self.prior_precision is None:
            gradient.append(np.array([slopes.log_prior_precision + prior_slope]))
        if self.noise_var is None:
            gradient.append(np.array([slopes.log_noise_var + noise_slope]))
        return belief.overlap.value + float(plates.value.sum()) + penalty, np.concatenate(gradient)

    @property
    def family_size(self) -> int:
        """How many parameters the family has."""
        width = self.features.shape[1]
        return {"none": 0, "diagonal": width, "dense": width * (width + 1) // 2}[self.family]

    def belief(self, parameters: Float[Array, " P"]) -> Belief:
        """Covariance and hyperparameters, and ``μ = (M⁻¹ + Ψᵀ diag(1/V) Ψ)⁻¹ Ψᵀ(y/V)``."""
        hyper = list(parameters[self.family_size :])
        precision = self.prior_precision if self.prior_precision is not None else math.exp(hyper.pop(0))
        noise_var = self.noise_var if self.noise_var is not None else math.exp(hyper.pop(0))
        covariance = self._covariance(parameters[: self.family_size])
        shifted = covariance.shifted(self.features.shape[1], 1.0 / precision)
        weights = 1.0 / np.sqrt(noise_var + covariance.variances(self.features))
        stacked = np.vstack([shifted.root.T, self.features * weights[:, None]])  # ‖Wᵀμ‖² + Σ r²/V as least squares
        basis, upper = np.linalg.qr(stacked)
        mean = solve_triangular(upper, basis[len(upper) :].T @ (self.targets * weights))
        return Belief(mean, covariance, precision, noise_var, overlap_of(mean, shifted))

    def random_start(self, rng: np.random.Generator) -> Float[Array, " P"]:
        """Scales, prior precision and noise spread over their plausible decades."""
        width = self.features.shape[1]
        lowest, highest = self.bounds.log_noise_var
        slopes = rng.standard_normal((width, width)) * 10.0 ** rng.uniform(-1.5, 0.0)
        return self._pack(rng.uniform(-6.0, 2.0, width), slopes, rng.uniform(-3.0, 3.0), rng.uniform(lowest, highest))

    def near(self, prior_precision: float, noise_scale: float) -> Float[Array, " P"]:
        """The start of theory 5.8 (``s = 10⁻²``) at stated hyperparameters."""
        width = self.features.shape[1]
        log_scales = np.full(width, math.log(1e-2))
        return self._pack(log_scales, np.zeros((width, width)), math.log(prior_precision), 2.0 * math.log(noise_scale))

    def box(self) -> list[tuple[float | None, float | None]]:
        """Bounds in the order of the parameters; off-diagonal entries of a factor are free."""
        width = self.features.shape[1]
        box: list[tuple[float | None, float | None]] = []
        if self.family == "diagonal":
            box += [self.bounds.log_scales] * width
        elif self.family == "dense":
            rows, columns = np.tril_indices(width)
            diagonal = self.bounds.log_factor_diagonal
            box += [diagonal if a == b else (None, None) for a, b in zip(rows, columns, strict=True)]
        box += [self.bounds.log_prior_precision] if self.prior_precision is None else []
        return box + ([self.bounds.log_noise_var] if self.noise_var is None else [])

    def at_bounds(self, parameters: Float[Array, " P"]) -> tuple[str, ...]:
        """Names of the free hyperparameters that lie on their bounds."""
        names = [("prior_precision", self.prior_precision), ("noise_scale", self.noise_var)]
        free = [name for name, value in names if value is None]
        tail = zip(free, parameters[self.family_size :], self.box()[self.family_size :], strict=True)
        return tuple(name for name, value, box in tail if value in box)

    def _pack(
        self,
        log_scales: Float[Array, " H"],
        off_diagonal: Float[Array, "H H"],
        log_prior_precision: float,
        log_noise_var: float,
    ) -> Float[Array, " P"]:
        """Parameters in their order, hyperparameters only where they are free."""
        roots = {"none": np.empty(0), "diagonal": log_scales}.get(self.family)
        if roots is None:
            lower = off_diagonal.copy()
            np.fill_diagonal(lower, 0.5 * log_scales)
            roots = lower[np.tril_indices(len(log_scales))]
        free = [log_prior_precision] if self.prior_precision is None else []
        return np.concatenate([roots, free, [log_noise_var] if self.noise_var is None else []])

    def _covariance(self, roots: Float[Array, " P"]) -> Covariance:
        """``s = e^ρ``, or a lower factor whose diagonal is ``e^ρ``."""
        if self.family == "none":
            return NoCovariance()
        if self.family == "diagonal":
            return DiagonalCovariance(np.exp(roots), self.jitter)
        width = self.features.shape[1]
        lower = np.zeros((width, width))
        lower[np.tril_indices(width)] = roots
        np.fill_diagonal(lower, np.exp(lower.diagonal()))
        return FactorCovariance(lower, self.jitter)

    def _family_gradient(
        self, parameters: Float[Array, " P"], family: dict[str, Float[Array, "..."]]
    ) -> Float[Array, " Q"]:
        """From the family's own gradients to the roots; the diagonal of a factor is chained through ``e^ρ``."""
        if self.family == "none":
            return np.empty(0)
        if self.family == "diagonal":
            return family["log_scales"]
        width = self.features.shape[1]
        slope = family["lower"].copy()
        rows, columns = np.tril_indices(width)
        on_diagonal = rows == columns
        values = slope[rows, columns]
        values[on_diagonal] *= np.exp(parameters[: self.family_size][on_diagonal])
        return values

    def _penalty(self, belief: Belief) -> tuple[float, float, float]:
        """Negative log hyperpriors without constants, and their slopes in ``log α`` and ``log σ²`` (theory 7.4)."""
        value = prior_slope = noise_slope = 0.0
        if self.hyperpriors.prior_precision is not None:
            shape, rate = self.hyperpriors.prior_precision
            value += rate * belief.prior_precision - (shape - 1.0) * math.log(belief.prior_precision)
            prior_slope = rate * belief.prior_precision - (shape - 1.0)
        if self.hyperpriors.noise_var is not None:
            shape, scale = self.hyperpriors.noise_var
            value += (shape + 1.0) * math.log(belief.noise_var) + scale / belief.noise_var
            noise_slope = shape + 1.0 - scale / belief.noise_var
        return value, prior_slope, noise_slope
