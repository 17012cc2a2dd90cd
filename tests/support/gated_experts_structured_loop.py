"""The structured belief of gated experts in one hand-written loop, for speed; companion of ``gated_experts_loops``."""

from typing import NamedTuple

import numpy as np

from tests.support.gated_experts import Experts, Options, counted, mean_log_of, mean_of
from tests.support.gated_experts_forward import Globals
from tests.support.gated_experts_loops import (
    Solve,
    Trained,
    far_energy,
    log_coefficient,
    mean_field_loop,
    rates,
)
from tests.support.link_oracle import gaussian_link

Array = np.ndarray


class Moments(NamedTuple):
    """Of ``q(w, z)``; ``divergence`` is summed over experts."""

    mean_w: Array
    cov_w: Array
    mean_z: Array
    var_z: Array
    residuals: Array
    divergence: float


def structured_loop(x: Experts, o: Options, sweeps: int, solve: Solve = gaussian_link, *, warm: int = 3) -> Trained:
    """Mean-field sweeps, then sweeps of sites, joint, tau, beta: full steps without a guard, one joint a sweep."""
    first = mean_field_loop(x, o, warm, solve)
    phi, yhat, n = np.ascontiguousarray(x.phi.T), np.ascontiguousarray(x.yhat.T), len(x.y)
    s, errors, t = np.full(yhat.shape, log_coefficient(x, o)), (x.y - yhat) ** 2, mean_of(first.globals.tau)[:, None]
    rate = rates(o, errors, first.globals.beta) * np.exp(first.mean_z + 0.5 * first.var_z)
    h = s - rate + rate * first.mean_z
    moments, now, energies = _moments(x, phi, t, h, rate), first.globals, []
    for _ in range(sweeps):
        m, v, c = moments.mean_z, moments.var_z, rates(o, errors, now.beta)
        p = 1.0 / v - rate
        link = solve(p, (m / v - h) / p, s, c)
        rate = c * np.exp(link.mean + 0.5 * link.var)
        h, t = s - rate + rate * link.mean, mean_of(now.tau)[:, None]
        moments = _moments(x, phi, t, h, rate)
        g = np.exp(moments.mean_z + 0.5 * moments.var_z)
        total, gammas = moments.residuals.sum(1), g.sum(1)
        tau = counted(x.tau, 0.5 * n, 0.5 * total)
        beta = counted(x.beta, n * x.alpha, gammas) if o.gamma_factor else now.beta
        now = Globals(moments.mean_w, moments.cov_w, tau, beta)
        near = moments.divergence + _moved(t[:, 0], tau, total, n)
        energies.append(near + far_energy(x, o, now, float(np.vdot(g, errors)), gammas, moments.mean_z))
    return Trained(now, moments.mean_z, moments.var_z, energies)


def _moved(t: Array, tau: Array, total: Array, n: int) -> float:
    """What the softdots cost at ``q(tau)`` beyond what they cost at ``t``."""
    return 0.5 * float(np.sum((mean_of(tau) - t) * total + n * (np.log(t) - mean_log_of(tau))))


def _moments(x: Experts, phi: Array, t: Array, h: Array, rate: Array) -> Moments:
    q, d = t + rate, len(phi)
    share = t / q
    precision = np.stack([(phi * row) @ phi.T for row in share * rate]) + x.w_precision * np.eye(d)
    linear = x.w_precision * x.w_mean + (share * h) @ phi.T
    cov = np.linalg.inv(precision)
    w = (cov @ linear[:, :, None])[:, :, 0]
    a = w @ phi
    va = np.stack([np.einsum("an,an->n", each @ phi, phi) for each in cov])
    m, v = share * a + h / q, 1.0 / q + share**2 * va
    log_z = 0.5 * float(np.sum(np.log(share)) + np.sum(h * h / q) + np.vdot(linear, w))
    log_z += 0.5 * w.size * (np.log(x.w_precision) - x.w_precision * x.w_mean**2)
    log_z -= 0.5 * float(np.linalg.slogdet(precision)[1].sum())
    sites = float(np.vdot(h, m)) - 0.5 * float(np.sum(rate * (m * m + v)))
    return Moments(w, cov, m, v, 1.0 / q + ((h - rate * a) ** 2 + rate**2 * va) / q**2, sites - log_z)
