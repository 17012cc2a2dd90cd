"""Gated experts as a practitioner would write them once, for speed: plain numpy, no graph, nothing general.

The Gram matrix is cached, arrays are (K, N), and one call of ``solve(p, mu, s, c)`` (a value with ``mean`` and ``var``)
fits all edges. A general engine is timed against these; ``gated_experts`` is what it is checked against.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from tests.support.gated_experts import LOG_2PI, Experts, Options, counted, gamma_divergence, mean_log_of, mean_of
from tests.support.gated_experts_forward import Globals, Prediction
from tests.support.link_oracle import gaussian_link

Array = np.ndarray
Solve = Callable[[Array, Array, Array, Array], Any]


class Trained(NamedTuple):
    """Globals, edge means and variances (K, N), and the free energy after every sweep."""

    globals: Globals
    mean_z: Array
    var_z: Array
    energies: list[float]


def mean_field_loop(x: Experts, o: Options, sweeps: int, solve: Solve = gaussian_link) -> Trained:
    """Sweeps of links, w, tau, beta, pred, kappa for the Gaussian link."""
    phi, yhat = np.ascontiguousarray(x.phi.T), np.ascontiguousarray(x.yhat.T)
    gram, zero, n = phi @ phi.T, np.zeros(len(yhat)), len(x.y)
    s = np.full(yhat.shape, log_coefficient(x, o))
    tau, beta, kappa = (counted(prior, 0.0, zero) for prior in (x.tau, x.beta, x.kappa))
    fitted = np.tile(x.w_mean * phi.sum(0), (len(yhat), 1))
    errors = (x.y - yhat) ** 2 + (1.0 / mean_of(kappa)[:, None] if o.noisy else 0.0)
    w = cov = m = v = zero
    noise, noise_log_var, energies = zero, 0.0, []
    for _ in range(sweeps):
        t = mean_of(tau)
        link = solve(np.broadcast_to(t[:, None], s.shape), fitted, s, rates(o, errors, beta))
        m, v = link.mean, link.var
        g = np.exp(m + 0.5 * v)
        w, cov = _weights(x, o, gram, t, m @ phi.T)
        fitted = w @ phi
        residual = m - fitted
        total = np.einsum("kn,kn->k", residual, residual) + v.sum(1) + np.einsum("kab,ab->k", cov, gram)
        tau, gammas = counted(x.tau, 0.5 * n, 0.5 * total), g.sum(1)
        if o.gamma_factor:
            beta = counted(x.beta, n * x.alpha, gammas)
        if o.noisy:
            errors, noise, noise_log_var = _noise(x.y, yhat, mean_of(kappa)[:, None], g)
            kappa = counted(x.kappa, 0.5 * n, 0.5 * noise)
        now = Globals(w, cov, tau, beta, kappa)
        near = _near_energy(x, now, total, float(np.log(v).sum()), n)
        far = far_energy(x, o, now, float(np.vdot(g, errors)), gammas, m)
        energies.append(near + far + (_noise_energy(x, kappa, noise, noise_log_var, n) if o.noisy else 0.0))
    return Trained(Globals(w, cov, tau, beta, kappa), m, v, energies)


def log_coefficient(x: Experts, o: Options) -> float:
    """``s``."""
    return 0.5 + o.jacobian + (x.alpha - 1.0 if o.gamma_factor else 0.0)


def rates(o: Options, errors: Array, beta: Array | None) -> Array:
    """``c`` (K, N)."""
    return 0.5 * errors + mean_of(beta)[:, None] if o.gamma_factor and beta is not None else 0.5 * errors


def _weights(x: Experts, o: Options, gram: Array, t: Array, moments: Array) -> tuple[Array, Array]:
    precision = x.w_precision * np.eye(len(gram)) + t[:, None, None] * gram
    cov = np.linalg.inv(precision)
    w = (cov @ (x.w_precision * x.w_mean + t[:, None] * moments)[:, :, None])[:, :, 0]
    if o.cov == "diag":
        cov = np.eye(len(gram)) / np.einsum("kaa->ka", precision)[:, :, None]
    return w, cov


def _noise(y: Array, yhat: Array, k: Array, g: Array) -> tuple[Array, Array, float]:
    var = 1.0 / (k + g)
    pred = (k * yhat + g * y) * var
    return (y - pred) ** 2 + var, ((pred - yhat) ** 2 + var).sum(1), float(np.log(var).sum())


def _near_energy(x: Experts, q: Globals, total: Array, log_var: float, n: int) -> float:
    difference = q.mean_w - x.w_mean
    trace = float(np.einsum("kaa->", q.cov_w)) + float(np.vdot(difference, difference))
    log_dets = float(np.linalg.slogdet(q.cov_w)[1].sum())
    weights = 0.5 * (x.w_precision * trace - q.mean_w.size * (1.0 + np.log(x.w_precision)) - log_dets)
    softdots = 0.5 * float(np.sum(mean_of(q.tau) * total - n * mean_log_of(q.tau)))
    return weights + softdots - 0.5 * n * len(total) - 0.5 * log_var


def far_energy(x: Experts, o: Options, q: Globals, squares: float, gammas: Array, z: Array) -> float:
    """Everything on the far side of the links, and the divergences of tau and beta."""
    energy = gamma_divergence(q.tau, x.tau) + 0.5 * (z.size * LOG_2PI + squares)
    energy -= log_coefficient(x, o) * float(z.sum())
    if o.gamma_factor and q.beta is not None:
        energy += gamma_divergence(q.beta, x.beta) + z.size * float(gammaln(x.alpha))
        energy += float(np.sum(mean_of(q.beta) * gammas - z.shape[1] * x.alpha * mean_log_of(q.beta)))
    return energy


def _noise_energy(x: Experts, kappa: Array, noise: Array, log_var: float, n: int) -> float:
    edges = float(np.sum(mean_of(kappa) * noise - n * mean_log_of(kappa) - n))
    return gamma_divergence(kappa, x.kappa) + 0.5 * (edges - log_var)


def forward_loop(
    x: Experts, o: Options, q: Globals, phi: Array, yhat: Array, solve: Solve = gaussian_link
) -> Prediction:
    """All new rows and experts at once."""
    mean = phi @ q.mean_w.T
    var = np.stack([np.einsum("na,na->n", phi @ cov, phi) for cov in q.cov_w], axis=1) + 1.0 / mean_of(q.tau)
    if o.gamma_factor and q.beta is not None:
        s = np.full(mean.shape, log_coefficient(x, o) - 0.5)
        link = solve(1.0 / var, mean, s, np.broadcast_to(mean_of(q.beta), mean.shape))
        gamma = np.exp(link.mean + 0.5 * link.var)
    else:
        gamma = np.exp(mean + (0.5 + o.jacobian) * var)
    weight = 1.0 / (1.0 / gamma + 1.0 / mean_of(q.kappa)) if o.noisy and q.kappa is not None else gamma
    total = weight.sum(1)
    return Prediction(gamma, (weight * yhat).sum(1) / total, 1.0 / total, mean, var)
