"""Precision-gated experts by hand, mean field: every update and the free energy written from the model.

``z_ij ~ N(w_i'phi_j, 1/tau_i)``, ``gamma_ij = e^z_ij``, ``yhat_ij ~ N(y_j, 1/gamma_ij)``; noisy experts put
``pred_ij ~ N(yhat_ij, 1/kappa_i)``, ``y_j ~ N(pred_ij, 1/gamma_ij)`` in place of the last. N rows, K experts, d
features.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from tests.support.link_oracle import entropy_of_log, gamma_link, gaussian_link, trigamma

Array = np.ndarray

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Experts:
    """Data (N, d), (N, K), (N,) and priors: ``w ~ N(w_mean, I/w_precision)``, Gammas as (shape, rate).

    The pair ``(inf, value)`` is a variable known to be ``value``; beliefs keep it as it is.
    """

    phi: Array
    yhat: Array
    y: Array
    w_mean: float = 0.0
    w_precision: float = 0.01
    tau: tuple[float, float] = (1.0, 1.0)
    beta: tuple[float, float] = (1.0, 1.0)
    kappa: tuple[float, float] = (1.0, 1.0)
    alpha: float = 1.0


@dataclass(frozen=True)
class Options:
    """What is assumed; the names are those of the golden file. ``link_marginal``: "gauss", "gamma" or "dual"."""

    link_marginal: str = "gauss"
    jacobian: int = 0
    cov: str = "full"
    noisy: bool = False
    gamma_factor: bool = True


@dataclass(frozen=True)
class Beliefs:
    """Marginals: ``w`` (K, d), (K, d, d); Gammas (2, K) as shapes over rates; edges (N, K)."""

    mean_w: Array
    cov_w: Array
    tau: Array
    beta: Array
    kappa: Array
    mean_z: Array
    var_z: Array
    mean_gamma: Array
    entropy_z: Array
    shape_gamma: Array
    rate_gamma: Array
    mean_pred: Array
    var_pred: Array


class Fit(NamedTuple):
    """Converged beliefs, and the free energy after every block in order (empty where there is none)."""

    beliefs: Any
    energies: list[float]
    blocks: list[str]


def start(x: Experts) -> Beliefs:
    """Every variable at its prior, ``pred`` at the forecasts."""
    (rows, experts), features = x.yhat.shape, x.phi.shape[1]
    edges, nothing = np.zeros((rows, experts)), np.full((rows, experts), np.nan)
    return Beliefs(
        mean_w=np.full((experts, features), x.w_mean),
        cov_w=np.tile(np.eye(features) / x.w_precision, (experts, 1, 1)),
        tau=counted(x.tau, 0.0, np.zeros(experts)),
        beta=counted(x.beta, 0.0, np.zeros(experts)),
        kappa=counted(x.kappa, 0.0, np.zeros(experts)),
        mean_z=edges,
        var_z=edges + 1.0,
        mean_gamma=edges + np.exp(0.5),
        entropy_z=edges + 0.5 * (LOG_2PI + 1.0),
        shape_gamma=nothing,
        rate_gamma=nothing,
        mean_pred=x.yhat,
        var_pred=edges + 1.0 / mean_of(np.array(x.kappa)),
    )


def counted(prior: tuple[float, float], counts: float, added: Array) -> Array:
    """Shapes over rates (2, K): ``counts`` more and ``added`` (K,) more."""
    shape, rate = prior
    return np.array([np.full(len(added), shape + counts), rate + (added if shape < np.inf else 0.0 * added)])


def mean_of(gamma: Array) -> Array:
    """``E g`` of shapes over rates."""
    return np.where(gamma[0] < np.inf, gamma[0] / gamma[1], gamma[1])


def mean_log_of(gamma: Array) -> Array:
    """``E log g`` of shapes over rates."""
    shape = np.where(gamma[0] < np.inf, gamma[0], 1.0)
    return np.where(gamma[0] < np.inf, digamma(shape) - np.log(gamma[1]), np.log(gamma[1]))


def gamma_divergence(q: Array, prior: tuple[float, float]) -> float:
    """``sum KL(Ga(q) || Ga(prior))`` as ``E log q - E log prior``."""
    if prior[0] == np.inf:
        return 0.0
    (shape, rate), log, mean = q, mean_log_of(q), mean_of(q)
    own = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * log - rate * mean
    other = prior[0] * np.log(prior[1]) - gammaln(prior[0]) + (prior[0] - 1.0) * log - prior[1] * mean
    return float(np.sum(own - other))


def squared_errors(x: Experts, o: Options, q: Beliefs) -> Array:
    """``E (y - forecast)^2``, (N, K)."""
    if o.noisy:
        return (x.y[:, None] - q.mean_pred) ** 2 + q.var_pred
    return (x.y[:, None] - x.yhat) ** 2


def link_coefficients(x: Experts, o: Options, q: Beliefs, jacobian: int) -> tuple[float, Array]:
    """``s`` and ``c`` (N, K) of everything that touches ``gamma``."""
    errors = 0.5 * squared_errors(x, o, q)
    if not o.gamma_factor:
        return 0.5 + jacobian, errors
    return 0.5 + x.alpha - 1.0 + jacobian, errors + mean_of(q.beta)


def update_links(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """One marginal per edge in the chosen form; "dual" fits two that know nothing of each other."""
    precision, mean = mean_of(q.tau), x.phi @ q.mean_w.T
    if o.link_marginal == "gauss":
        m, v = gaussian_link(precision, mean, *link_coefficients(x, o, q, o.jacobian))
        entropy = 0.5 * (LOG_2PI + 1.0 + np.log(v))
        return replace(q, mean_z=m, var_z=v, mean_gamma=np.exp(m + 0.5 * v), entropy_z=entropy)
    dual = o.link_marginal == "dual"
    a, b = gamma_link(precision, mean, *link_coefficients(x, o, q, 0 if dual else o.jacobian))
    q = replace(q, mean_gamma=a / b, shape_gamma=a, rate_gamma=b)
    if dual:
        m, v = gaussian_link(precision, mean, *link_coefficients(x, o, q, 1))
        return replace(q, mean_z=m, var_z=v)
    return replace(q, mean_z=digamma(a) - np.log(b), var_z=trigamma(a), entropy_z=entropy_of_log(a))


def update_w(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """Ridge regression of the mean ``z`` on the features, one expert at a time."""
    means, covariances = [], []
    for t, z in zip(mean_of(q.tau), q.mean_z.T, strict=True):
        precision = x.w_precision * np.eye(x.phi.shape[1]) + t * x.phi.T @ x.phi
        means.append(np.linalg.solve(precision, np.full(len(precision), x.w_precision * x.w_mean) + t * x.phi.T @ z))
        covariances.append(np.linalg.inv(precision) if o.cov == "full" else np.diag(1.0 / np.diag(precision)))
    return replace(q, mean_w=np.array(means), cov_w=np.array(covariances))


def squared_residuals(x: Experts, q: Beliefs) -> Array:
    """``E (z - w'phi)^2`` under independent ``z`` and ``w``, (N, K)."""
    return (q.mean_z - x.phi @ q.mean_w.T) ** 2 + q.var_z + np.einsum("na,kab,nb->nk", x.phi, q.cov_w, x.phi)


def update_tau(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """Half a count and half a squared residual a row."""
    return replace(q, tau=counted(x.tau, 0.5 * len(x.y), 0.5 * squared_residuals(x, q).sum(0)))


def update_beta(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """``alpha`` counts and one ``E gamma`` a row."""
    return replace(q, beta=counted(x.beta, x.alpha * len(x.y), q.mean_gamma.sum(0)))


def update_pred(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """The precision-weighted mean of the forecast and the target."""
    precision = mean_of(q.kappa) + q.mean_gamma
    mean = (mean_of(q.kappa) * x.yhat + q.mean_gamma * x.y[:, None]) / precision
    return replace(q, mean_pred=mean, var_pred=1.0 / precision)


def update_kappa(x: Experts, o: Options, q: Beliefs) -> Beliefs:
    """Half a count and half an expected squared forecast noise a row."""
    return replace(q, kappa=counted(x.kappa, 0.5 * len(x.y), 0.5 * ((q.mean_pred - x.yhat) ** 2 + q.var_pred).sum(0)))


def blocks(o: Options) -> dict[str, Callable[[Experts, Options, Beliefs], Beliefs]]:
    """The updates of one sweep in their order."""
    every = {"link": update_links, "w": update_w, "tau": update_tau}
    rate = {"beta": update_beta} if o.gamma_factor else {}
    noise = {"pred": update_pred, "kappa": update_kappa} if o.noisy else {}
    return every | rate | noise


def free_energy(x: Experts, o: Options, q: Beliefs) -> float:
    """Divergences of the globals plus, edge by edge, energies less entropies."""
    energy = weight_divergence(x, q) + gamma_divergence(q.tau, x.tau)
    edges = 0.5 * (LOG_2PI - mean_log_of(q.tau) + mean_of(q.tau) * squared_residuals(x, q))
    edges = edges + 0.5 * (LOG_2PI - q.mean_z + q.mean_gamma * squared_errors(x, o, q))
    edges = edges - q.entropy_z - o.jacobian * q.mean_z
    if o.gamma_factor:
        energy += gamma_divergence(q.beta, x.beta)
        edges = edges + gammaln(x.alpha) - x.alpha * mean_log_of(q.beta) - (x.alpha - 1.0) * q.mean_z
        edges = edges + mean_of(q.beta) * q.mean_gamma
    if o.noisy:
        energy += gamma_divergence(q.kappa, x.kappa)
        noise = (q.mean_pred - x.yhat) ** 2 + q.var_pred
        edges = edges + 0.5 * (LOG_2PI - mean_log_of(q.kappa) + mean_of(q.kappa) * noise)
        edges = edges - 0.5 * (LOG_2PI + 1.0 + np.log(q.var_pred))
    return energy + float(edges.sum())


def weight_divergence(x: Experts, q: Beliefs) -> float:
    """``sum KL(q(w) || p(w))``."""
    difference = q.mean_w - x.w_mean
    moments = x.w_precision * (np.trace(q.cov_w, axis1=1, axis2=2) + (difference**2).sum(1))
    log_dets = np.linalg.slogdet(q.cov_w)[1]
    return 0.5 * float(np.sum(moments - x.phi.shape[1] * (1.0 + np.log(x.w_precision)) - log_dets))


def sweep(x: Experts, o: Options, q: Beliefs) -> Fit:
    """One pass over the blocks."""
    energies = []
    for update in blocks(o).values():
        q = update(x, o, q)
        energies.append(free_energy(x, o, q) if o.link_marginal != "dual" else np.nan)
    return Fit(q, energies, list(blocks(o)))


def fit(x: Experts, o: Options, *, sweeps: int | None = None, limit: int = 20000) -> Fit:
    """Sweeps until the free energy stands still to 1e-12 and every number of the beliefs to 1e-11, or ``sweeps``."""
    q, energies, names, last = start(x), [], [], np.inf
    for _ in range(sweeps or limit):
        new, some, of = sweep(x, o, q)
        energies, names = energies + some, names + of
        still = np.isnan(some[-1]) or abs(some[-1] - last) <= 1e-12
        moved, q, last = movement(q, new), new, some[-1]
        if not sweeps and still and moved <= 1e-11:
            return Fit(q, energies, names)
    assert sweeps, f"no fixed point in {limit} sweeps: moved {moved}"
    return Fit(q, energies, names)


def movement(old: Any, new: Any) -> float:
    """The largest ``|new - old| / (1 + |new|)`` over the array fields of two values of one dataclass."""
    pairs = [(getattr(old, field.name), getattr(new, field.name)) for field in fields(new)]
    with np.errstate(invalid="ignore"):
        steps = [np.abs(b - a) / (1.0 + np.abs(b)) for a, b in pairs]
    return max(float(np.max(step, where=np.isfinite(step), initial=0.0)) for step in steps)
