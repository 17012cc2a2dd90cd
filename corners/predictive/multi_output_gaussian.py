"""Gaussian predictive of several outputs: a P-dimensional normal distribution at every data point."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

import numpy as np

from corners.errors import DataError, SpecError
from corners.numerics import LOG_2PI
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array, Float

SYMMETRIC = 1e-9
"""How far a covariance may be from its transpose, relative to its largest entry."""
OF_ONE_OUTPUT = ("cdf", "quantile", "crps")


@dataclass(frozen=True, eq=False)
class MultiOutputGaussianPredictive:
    """``N(means_n, covariances_n)`` over the P outputs of every data point, in original units.

    What is defined for one number alone (distribution function, quantiles, CRPS, errors in target units) is asked of
    the marginals: ``predictive.output(p)`` is a :class:`GaussianPredictive`, and takes every score of one.

    Parameters
    ----------
    means : (N, P), in the units of each output.
    covariances : (N, P, P), noise included, in products of those units; or (N, P), the variances of outputs that are
        independent.

    Raises
    ------
    DataError : shapes that do not fit, a mean that is not finite, a covariance that is not symmetric and positive
        definite.

    Example
    -------
    >>> import numpy as np
    >>> joint = MultiOutputGaussianPredictive(np.zeros((1, 2)), np.ones((1, 2)))
    >>> bool(np.isclose(joint.log_prob(np.zeros((1, 2)))[0], -np.log(2.0 * np.pi)))
    True
    """

    means: Float[Array, "N P"]
    covariances: Float[Array, "N P P"] | Float[Array, "N P"]
    task: ClassVar[Literal["regression", "count"]] = "regression"

    def __post_init__(self) -> None:
        means, covariances = require_joint_moments(self.means, self.covariances)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "covariances", covariances)
        object.__setattr__(self, "_lower", _factors(means, covariances))

    def __getattr__(self, name: str) -> NoReturn:
        if name in OF_ONE_OUTPUT:
            raise AttributeError(f"{name} is defined for one output: ask predictive.output(p).{name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def outputs(self) -> int:
        """P."""
        return self.means.shape[1]

    @property
    def mean(self) -> Float[Array, "N P"]:
        """Predictive means."""
        return self.means

    @property
    def covariance(self) -> Float[Array, "N P P"]:
        """Predictive covariances, noise included."""
        return self.covariances

    @property
    def variance(self) -> Float[Array, "N P"]:
        """Predictive variances of each output, noise included."""
        return np.diagonal(self.covariances, axis1=1, axis2=2).copy()

    def output(self, index: int) -> GaussianPredictive:
        """The marginal predictive of one output, counted from 0."""
        if not 0 <= index < self.outputs:
            raise SpecError(f"outputs are counted from 0 to {self.outputs - 1}; got {index}")
        return GaussianPredictive(self.means[:, index], self.variance[:, index])

    def standardised(self, targets: Float[Array, "N P"]) -> Float[Array, "N P"]:
        """``L⁻¹(y - m)`` with the Cholesky factor ``L`` of the covariance: independent standard normals if right."""
        residual = self._targets(targets) - self.means
        return np.linalg.solve(self._lower, residual[..., None])[..., 0]

    def log_prob(self, targets: Float[Array, "N P"]) -> Float[Array, " N"]:
        """Joint log density of the outputs of a data point, ``-½ (P log 2π + log|V| + (y - m)ᵀV⁻¹(y - m))``, nats."""
        log_det = 2.0 * np.log(np.diagonal(self._lower, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * (self.outputs * LOG_2PI + log_det + (self.standardised(targets) ** 2).sum(axis=1))

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N P"]:
        """Draws that are independent between data points and coupled between outputs."""
        noise = generator.standard_normal((count, *self.means.shape))
        return self.means + (self._lower @ noise[..., None])[..., 0]

    def in_units(
        self, target_mean: float | Float[Array, " P"], target_scale: float | Float[Array, " P"]
    ) -> "MultiOutputGaussianPredictive":
        """The distribution of ``target_mean + target_scale y``, one number for all outputs or one for each."""
        scale = np.broadcast_to(np.asarray(target_scale, np.float64), (self.outputs,))
        return MultiOutputGaussianPredictive(
            target_mean + scale * self.means, scale[:, None] * self.covariances * scale
        )

    def _targets(self, targets: Array) -> Array:
        found = np.asarray(targets, np.float64)
        if found.shape != self.means.shape:
            raise DataError(f"targets must have shape {self.means.shape}, a row a data point; got {found.shape}")
        return found


def require_joint_moments(means: Array, covariances: Array) -> tuple[Array, Array]:
    """Means (N, P) and covariances (N, P, P) as float64, also from variances (N, P); other shapes: ``DataError``."""
    means, given = np.asarray(means, np.float64), np.asarray(covariances, np.float64)
    if means.ndim == 2 and means.size and given.shape == means.shape:
        given = given[..., None] * np.eye(means.shape[1])
    if means.ndim != 2 or not means.size or given.shape != (*means.shape, means.shape[1]):
        raise DataError(
            "predictive means of several outputs must have shape (N, P) with at least one entry, and covariances "
            f"(N, P, P) or (N, P); got {means.shape} and {np.shape(covariances)}"
        )
    return means, given


def _factors(means: Array, covariances: Array) -> Array:
    """Lower Cholesky factors, or a ``DataError`` that names the first data point without one."""
    finite = np.isfinite(means).all(axis=1) & np.isfinite(covariances).all(axis=(1, 2))
    size = np.abs(covariances).max(axis=(1, 2))
    symmetric = np.abs(covariances - covariances.transpose(0, 2, 1)).max(axis=(1, 2)) <= SYMMETRIC * size
    good = finite & symmetric
    if good.all():
        try:
            return np.linalg.cholesky(covariances)
        except np.linalg.LinAlgError:
            good = np.linalg.eigvalsh(covariances).min(axis=1) > 0.0
    first = int(np.argmin(good))
    raise DataError(
        "predictive means must be finite and covariances symmetric and positive definite; "
        f"{int((~good).sum())} of {good.size} are not (first at point {first}: {means[first].tolist()}, "
        f"{covariances[first].tolist()}); the fit diverged or its noise underflowed"
    )
