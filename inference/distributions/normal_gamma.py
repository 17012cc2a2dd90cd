"""A Gaussian vector and the gamma precision that scales it, as one joint."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from inference.distributions import _matrices as matrices
from inference.distributions._base import Numbers
from inference.distributions._checks import finite, frozen, points, positive, vectors
from inference.distributions._parametric import Parametric
from inference.distributions._special import LOG_2PI
from inference.distributions.gamma import Gamma
from inference.distributions.student_t import StudentT
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NormalGamma(Parametric):
    """``tau ~ Ga(a, b)``, ``w | tau ~ N(m, (tau L)^-1)`` (message_passing 5.3).

    ``mean`` m is ``(..., d)``, ``precision`` L ``(..., d, d)``. The event is w: ``mean``, ``var``, ``cdf`` and
    ``quantile`` are those of its coordinates, Student-t with 2a degrees of freedom. ``logpdf``, ``sample`` and
    ``entropy`` are of the pair ``(w, tau)``.

    Raises
    ------
    SpecError : an entry is not finite, shape or rate not positive, precision not symmetric positive definite, or the
        shapes do not fit.

    Example
    -------
    >>> belief = NormalGamma(mean=[1.0], precision=[[4.0]], shape=3.0, rate=2.0)
    >>> belief.marginal_precision()
    Gamma(shape=3, rate=2)
    >>> belief.weights_covariance().tolist()
    [[0.25]]
    """

    support: ClassVar[str] = "joint"
    layout: ClassVar[dict[str, int]] = {"mean": 1, "precision": 2, "shape": 0, "rate": 0}
    _mean: Array
    precision: Array
    shape: Array
    rate: Array

    def __init__(self, mean: Numbers, precision: Numbers, shape: Numbers, rate: Numbers) -> None:
        cls = type(self)
        centre = vectors(cls, "mean", finite(cls, "mean", mean))
        given = {
            "mean": centre,
            "precision": matrices.symmetric(cls, "precision", precision, centre.shape[-1]),
            "shape": positive(cls, "shape", shape),
            "rate": positive(cls, "rate", rate),
        }
        self._fill(given)
        _ = self._factor  # refuses what is not positive definite now, and keeps the factor

    def marginal_precision(self) -> Gamma:
        """``q(tau) = Ga(a, b)``."""
        return Gamma._trusted(shape=self.shape, rate=self.rate)

    def marginal_mean(self) -> StudentT:
        """Every coordinate of w: Student-t, df ``2a``, location ``m_k``, squared scale ``(b/a) (L^-1)_kk``.

        Its batch is ``(*batch, d)``. The joint of w is the multivariate t with :meth:`weights_covariance`.
        """
        scale = np.sqrt((self.rate / self.shape)[..., None] * np.square(self._inverse_factor).sum(-2))
        return StudentT._trusted(df=np.asarray(2.0 * self.shape)[..., None], loc=self._mean, scale=scale)

    def weights_mean(self) -> Array:
        """``E w = m``; nan where a <= 1/2, as there is none."""
        return self.mean()

    def weights_covariance(self) -> Array:
        """``Cov w = b/(a-1) L^-1``, ``(*batch, d, d)``; nan where a <= 1, as there is none."""
        exists = self.shape > 1.0
        factor = np.where(exists, self.rate / np.where(exists, self.shape - 1.0, 1.0), np.nan)
        return factor[..., None, None] * (matrices.transposed(self._inverse_factor) @ self._inverse_factor)

    def predictive(self, features: Numbers) -> StudentT:
        """Of ``y ~ N(x'w, 1/tau)``: df ``2a``, location ``x'm``, squared scale ``(b/a) (1 + x' L^-1 x)``.

        ``features`` x are ``(..., d)``; their leading axes broadcast against the batch.
        """
        x = points(type(self), features, self.event_shape)
        reach = np.square(matrices.applied(self._inverse_factor, x)).sum(-1)
        scale = np.asarray(np.sqrt(self.rate / self.shape * (1.0 + reach)))
        return StudentT._trusted(df=np.asarray(2.0 * self.shape), loc=np.asarray((x * self._mean).sum(-1)), scale=scale)

    def mean(self) -> Array:
        """``E w``, ``(*batch, d)``."""
        return self.marginal_mean().mean()

    def var(self) -> Array:
        """Variances of w, ``(*batch, d)``; inf where 1/2 < a <= 1."""
        return self.marginal_mean().var()

    def cdf(self, x: Numbers) -> Array:
        """That of every coordinate of w."""
        return self.marginal_mean().cdf(points(type(self), x, self.event_shape))

    def quantile(self, q: Numbers) -> Array:
        """That of every coordinate of w."""
        return self.marginal_mean().quantile(q)

    def logpdf(self, x: Any) -> Array:
        """``log Ga(tau) + d/2 log(tau/2pi) + 1/2 log det L - tau/2 (w-m)' L (w-m)`` at ``x = (w, tau)``."""
        w, tau = points(type(self), x[0], self.event_shape), np.asarray(x[1], np.float64)
        inside = np.where(tau > 0.0, tau, 1.0)
        distance = np.square(matrices.applied(matrices.transposed(self._factor), w - self._mean)).sum(-1)
        size = self.event_shape[0]
        normal = 0.5 * (size * (np.log(inside) - LOG_2PI) + self._log_det - inside * distance)
        return np.where(tau > 0.0, self.marginal_precision().logpdf(inside) + normal, -np.inf)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """``n`` pairs: w ``(n, *batch, d)`` and tau ``(n, *batch)``."""
        tau = self.marginal_precision().sample(n, rng)
        noise = rng.standard_normal((*self._mean.shape, n))
        unscaled = np.moveaxis(matrices.transposed(self._inverse_factor) @ noise, -1, 0)
        return np.asarray(self._mean + unscaled / np.sqrt(tau)[..., None]), tau

    def entropy(self) -> Array:
        """``H[tau] + d/2 (log 2 pi e - E log tau) - 1/2 log det L``, of the pair."""
        tau, size = self.marginal_precision(), self.event_shape[0]
        return np.asarray(tau.entropy() + 0.5 * (size * (LOG_2PI + 1.0 - tau.mean_log()) - self._log_det))

    @classmethod
    def example(cls) -> "NormalGamma":
        """Two in the plane, with moments that a sample can reach."""
        mean = np.array([[0.4, -1.3], [2.1, 0.6]])
        precision = np.array([[[1.9, 0.7], [0.7, 0.6]], [[0.4, -0.5], [-0.5, 2.2]]])
        return cls(mean, precision, np.array([5.5, 7.2]), np.array([2.3, 9.1]))

    @cached_property
    def _factor(self) -> Array:
        return matrices.cholesky(type(self), "precision", self.precision)

    @cached_property
    def _inverse_factor(self) -> Array:
        return matrices.inverse_factor(self._factor)

    @cached_property
    def _log_det(self) -> Array:
        return frozen(matrices.log_determinant(self._factor))
