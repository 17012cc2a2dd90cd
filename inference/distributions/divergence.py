"""Kullback-Leibler divergences within one family, in closed form."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from inference.distributions import _matrices as matrices
from inference.distributions._base import Distribution
from inference.distributions.beta import Beta
from inference.distributions.gamma import Gamma
from inference.distributions.mv_normal import MvNormal
from inference.distributions.normal import Normal
from inference.distributions.normal_gamma import NormalGamma
from inference.errors import SpecError
from inference.types import Array


def kl(q: Distribution, p: Distribution) -> Array:
    """``KL(q || p) = E_q[log q - log p]`` in nats, over the broadcast batch (message_passing 1.7).

    Raises
    ------
    SpecError : the two are of different families, of one without a closed form, or of different event shapes.

    Example
    -------
    >>> float(kl(Normal(mean=1.0, var=1.0), Normal(mean=0.0, var=1.0)))
    0.5
    """
    if type(q) is not type(p) or type(q) not in RULES:
        known = ", ".join(family.__name__ for family in RULES)
        got = f"{type(q).__name__} and {type(p).__name__}"
        raise SpecError(f"kl has a closed form between two of one family among {known}; got {got}")
    if q.event_shape != p.event_shape:
        raise SpecError(f"kl needs one event shape; got {q.event_shape} and {p.event_shape}")
    return RULES[type(q)](q, p)


def _normal(q: Normal, p: Normal) -> Array:
    """``1/2 [v/v0 - 1 - log(v/v0) + (m-m0)^2/v0]``."""
    excess = (q.var() - p.var()) / p.var()
    return np.asarray(0.5 * (excess - np.log1p(excess) + np.square(q.mean() - p.mean()) / p.var()))


def _mv_normal(q: MvNormal, p: MvNormal) -> Array:
    """``1/2 [tr(V0^-1 V) - d + log det V0 - log det V + (m-m0)' V0^-1 (m-m0)]``."""
    gap = q.mean() - p.mean()
    if p.is_diagonal:
        terms = (q.variance - p.variance + np.square(gap)) / p.variance
        return np.asarray(0.5 * (terms.sum(-1) + p.log_det_covariance - q.log_det_covariance))
    trace = np.square(p.whitening @ q.colouring).sum((-2, -1))
    distance = np.square(matrices.applied(p.whitening, gap)).sum(-1)
    return np.asarray(0.5 * (trace - gap.shape[-1] + p.log_det_covariance - q.log_det_covariance + distance))


def _gamma(q: Gamma, p: Gamma) -> Array:
    """``(a-a0) psi(a) - lgamma(a) + lgamma(a0) + a0 log(b/b0) + a (b0-b)/b``."""
    a, b, a0, b0 = q.shape, q.rate, p.shape, p.rate
    shapes = (a - a0) * special.digamma(a) - special.gammaln(a) + special.gammaln(a0)
    return np.asarray(shapes + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b)


def _beta(q: Beta, p: Beta) -> Array:
    """``log B(a0, b0) - log B(a, b) + (a-a0) E log x + (b-b0) E log(1-x)``."""
    normalisers = special.betaln(p.a, p.b) - special.betaln(q.a, q.b)
    return np.asarray(normalisers + (q.a - p.a) * q.mean_log() + (q.b - p.b) * q.mean_log1m())


def _normal_gamma(q: NormalGamma, p: NormalGamma) -> Array:
    """``KL(Ga || Ga0) + E_tau KL(N || N0)``; only the distance of the means meets ``E tau``."""
    given_one = MvNormal._trusted(mean=np.zeros(q.precision.shape[:-1]), precision=q.precision)
    other = MvNormal._trusted(mean=np.zeros(p.precision.shape[:-1]), precision=p.precision)
    gap = q._mean - p._mean
    distance = np.square(matrices.applied(other.whitening, gap)).sum(-1)
    tau, tau0 = q.marginal_precision(), p.marginal_precision()
    return np.asarray(_gamma(tau, tau0) + _mv_normal(given_one, other) + 0.5 * tau.mean() * distance)


RULES: dict[type[Distribution], Callable[[Any, Any], Array]] = {
    Normal: _normal,
    MvNormal: _mv_normal,
    Gamma: _gamma,
    Beta: _beta,
    NormalGamma: _normal_gamma,
}
