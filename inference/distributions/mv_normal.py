"""The multivariate Gaussian, held by its covariance, its precision or its variances alone."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions import _matrices as matrices
from inference.distributions._base import Numbers
from inference.distributions._checks import finite, frozen, levels, points, positive, vectors
from inference.distributions._parametric import Parametric
from inference.distributions._special import LOG_2PI
from inference.errors import SpecError
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MvNormal(Parametric):
    """``N(x | m, V)`` in d dimensions; ``mean`` is ``(..., d)``, and exactly one of the other three is given.

    ``cov`` V and ``precision`` ``V^-1`` are ``(..., d, d)``; ``diag`` ``(..., d)`` holds the variances of independent
    coordinates. Whatever else is asked for is computed from that form once, by Cholesky factors. ``cdf`` and
    ``quantile`` are those of the coordinates.

    Raises
    ------
    SpecError : not exactly one form, shapes that do not fit, entries that are not finite, a matrix that is not
        symmetric or not positive definite (with its batch index).

    Example
    -------
    >>> x = MvNormal([1.0, 0.0], precision=[[2.0, 0.0], [0.0, 4.0]])
    >>> x.variance.round(12).tolist()
    [0.5, 0.25]
    >>> MvNormal.from_natural(linear=[2.0, 0.0], precision=[[2.0, 0.0], [0.0, 4.0]]).mean().tolist()
    [1.0, 0.0]
    """

    support: ClassVar[str] = "real"
    layout: ClassVar[dict[str, int]] = {"mean": 1, "cov": 2, "precision": 2, "diag": 1}
    _mean: Array
    _cov: Array
    _precision: Array
    _diag: Array

    def __init__(
        self,
        mean: Numbers,
        cov: Numbers | None = None,
        *,
        precision: Numbers | None = None,
        diag: Numbers | None = None,
    ) -> None:
        forms = {"cov": cov, "precision": precision, "diag": diag}
        given = [name for name, value in forms.items() if value is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise SpecError(f"MvNormal: give exactly one of cov, precision and diag; got {got}")
        centre = vectors(type(self), "mean", finite(type(self), "mean", mean))
        self._fill({"mean": centre, given[0]: _spread(given[0], forms[given[0]], centre.shape[-1])})
        if not self.is_diagonal:
            _ = self._factor  # refuses what is not positive definite now, and keeps the factor

    @classmethod
    def from_natural(cls, linear: Numbers, precision: Numbers) -> "MvNormal":
        """``N^-1(h, L)``: mean ``L^-1 h``; ``SpecError`` with the batch index where L is not positive definite."""
        h = vectors(cls, "linear", finite(cls, "linear", linear))
        held = matrices.symmetric(cls, "precision", precision, h.shape[-1])
        factor = matrices.cholesky(cls, "precision", held)
        made = cls._trusted(mean=np.linalg.solve(held, h[..., None])[..., 0], precision=held)
        object.__setattr__(made, "_factor", np.broadcast_to(factor, made._precision.shape))
        return made

    @property
    def is_diagonal(self) -> bool:
        """Whether it is held by variances alone."""
        return "_diag" in self.__dict__

    @cached_property
    def variance(self) -> Array:
        """``diag V``, ``(*batch, d)``."""
        if self.is_diagonal:
            return self._diag
        if "_cov" in self.__dict__:
            return np.diagonal(self._cov, axis1=-2, axis2=-1)
        return frozen(np.square(self.colouring).sum(-1))

    @cached_property
    def covariance(self) -> Array:
        """``V``, dense ``(*batch, d, d)``."""
        if "_cov" in self.__dict__:
            return self._cov
        if self.is_diagonal:
            return matrices.diagonal_matrix(self._diag)
        return frozen(self.colouring @ matrices.transposed(self.colouring))

    @cached_property
    def precision(self) -> Array:
        """``V^-1``, dense ``(*batch, d, d)``."""
        if "_precision" in self.__dict__:
            return self._precision
        if self.is_diagonal:
            return matrices.diagonal_matrix(1.0 / self._diag)
        return frozen(matrices.transposed(self.whitening) @ self.whitening)

    @cached_property
    def log_det_covariance(self) -> Array:
        """``log det V``, ``(*batch,)``."""
        if self.is_diagonal:
            return frozen(np.asarray(np.log(self._diag).sum(-1)))
        sign = 1.0 if "_cov" in self.__dict__ else -1.0
        return frozen(np.asarray(sign * matrices.log_determinant(self._factor)))

    @cached_property
    def colouring(self) -> Array:
        """``T`` with ``T T' = V``: turns independent standard normals into deviations."""
        if self.is_diagonal:
            return matrices.diagonal_matrix(np.sqrt(self._diag))
        if "_cov" in self.__dict__:
            return self._factor
        return matrices.transposed(matrices.inverse_factor(self._factor))

    @cached_property
    def whitening(self) -> Array:
        """``S`` with ``S' S = V^-1``: turns deviations into independent standard normals."""
        if self.is_diagonal:
            return matrices.diagonal_matrix(1.0 / np.sqrt(self._diag))
        if "_cov" in self.__dict__:
            return matrices.inverse_factor(self._factor)
        return matrices.transposed(self._factor)

    def mean(self) -> Array:
        """``m``, ``(*batch, d)``."""
        return self._mean

    def var(self) -> Array:
        """``diag V``, ``(*batch, d)``."""
        return self.variance

    def logpdf(self, x: Numbers) -> Array:
        """``-1/2 (d log 2 pi + log det V + (x-m)' V^-1 (x-m))``."""
        gap = points(type(self), x, self.event_shape) - self._mean
        if self.is_diagonal:
            distance = (np.square(gap) / self._diag).sum(-1)
        else:
            distance = np.square(matrices.applied(self.whitening, gap)).sum(-1)
        return np.asarray(-0.5 * (gap.shape[-1] * LOG_2PI + self.log_det_covariance + distance))

    def cdf(self, x: Numbers) -> Array:
        """``Phi`` of every standardised coordinate."""
        return np.asarray(special.ndtr((points(type(self), x, self.event_shape) - self._mean) / self.std()))

    def quantile(self, q: Numbers) -> Array:
        """``m + sqrt(diag V) Phi^-1(q)``."""
        return np.asarray(self._mean + self.std() * special.ndtri(levels(type(self), q, self._batch, self.event_shape)))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``m + T e``."""
        if self.is_diagonal:
            return np.asarray(self._mean + self.std() * rng.standard_normal((n, *self._mean.shape)))
        noise = rng.standard_normal((*self._mean.shape, n))
        return np.asarray(self._mean + np.moveaxis(self.colouring @ noise, -1, 0))

    def entropy(self) -> Array:
        """``1/2 log det(2 pi e V)`` (message_passing 1.1)."""
        return np.asarray(0.5 * (self.event_shape[0] * (LOG_2PI + 1.0) + self.log_det_covariance))

    @classmethod
    def example(cls) -> "MvNormal":
        """Two in the plane, correlated either way."""
        return cls(
            np.array([[0.4, -1.3], [2.1, 0.6]]), np.array([[[1.9, 0.7], [0.7, 0.6]], [[0.4, -0.5], [-0.5, 2.2]]])
        )

    @cached_property
    def _factor(self) -> Array:
        name = "cov" if "_cov" in self.__dict__ else "precision"
        return matrices.cholesky(type(self), name, self.__dict__[f"_{name}"])


def _spread(name: str, value: Numbers | None, size: int) -> Array:
    if name != "diag":
        return matrices.symmetric(MvNormal, name, value, size)
    diag = positive(MvNormal, name, value)
    if diag.shape[-1:] != (size,):
        raise SpecError(f"MvNormal: diag must have shape (..., {size}), as mean has, but got {diag.shape}")
    return diag
