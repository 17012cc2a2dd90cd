"""Precision-gated experts with a joint Gaussian over the weights and all latent ``z`` of an expert.

``q(w, z)`` is the prior times softdots at precision ``t`` times one site ``N^-1(h, l)`` an edge, so its natural
parameters are linear in ``(t, h, l)``: halving a step toward the old three reaches the old belief.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from tests.support.gated_experts import (
    LOG_2PI,
    Beliefs,
    Experts,
    Fit,
    Options,
    counted,
    fit,
    gamma_divergence,
    link_coefficients,
    mean_log_of,
    mean_of,
    movement,
    start,
)
from tests.support.link_oracle import gaussian_link

Array = np.ndarray


@dataclass(frozen=True)
class Joint:
    """``q(w, z)`` by ``t`` (K,), sites (N, K), and moments; ``divergence`` (K,) from prior and softdots at ``t``."""

    t: Array
    h: Array
    l: Array  # noqa: E741
    mean_w: Array
    cov_w: Array
    mean_z: Array
    var_z: Array
    residuals: Array
    divergence: Array

    @property
    def mean_gamma(self) -> Array:
        """``E e^z``."""
        return np.exp(self.mean_z + 0.5 * self.var_z)


@dataclass(frozen=True)
class StructuredBeliefs:
    """The joint cluster and the Gammas (2, K)."""

    joint: Joint
    tau: Array
    beta: Array


def joint(x: Experts, t: Array, h: Array, sites: Array) -> Joint:
    """The moments of ``q(w, z)`` after ``z`` is integrated out (message passing 2.5)."""
    q = t + sites
    eye, phi = np.eye(x.phi.shape[1]), x.phi
    precision = x.w_precision * eye + np.einsum("nk,na,nb->kab", t * sites / q, phi, phi)
    linear = x.w_precision * x.w_mean + (t * h / q).T @ phi
    cov_w = np.linalg.inv(precision)
    mean_w = np.einsum("kab,kb->ka", cov_w, linear)
    a, va = phi @ mean_w.T, np.einsum("na,kab,nb->nk", phi, cov_w, phi)
    mean_z, var_z = (t * a + h) / q, 1.0 / q + (t / q) ** 2 * va
    log_z = (0.5 * np.log(t / q) + 0.5 * h**2 / q).sum(0) + 0.5 * (linear * mean_w).sum(1)
    log_z = log_z - 0.5 * len(eye) * (x.w_precision * x.w_mean**2 - np.log(x.w_precision))
    log_z = log_z - 0.5 * np.linalg.slogdet(precision)[1]
    return Joint(
        t=t,
        h=h,
        l=sites,
        mean_w=mean_w,
        cov_w=cov_w,
        mean_z=mean_z,
        var_z=var_z,
        residuals=1.0 / q + ((h - sites * a) ** 2 + sites**2 * va) / q**2,
        divergence=(h * mean_z - 0.5 * sites * (mean_z**2 + var_z)).sum(0) - log_z,
    )


def structured_energy(x: Experts, o: Options, q: StructuredBeliefs) -> float:
    """The free energy of any such ``q``, whether or not ``E tau`` is still the ``t`` of the joint."""
    j, t = q.joint, mean_of(q.tau)
    energy = gamma_divergence(q.tau, x.tau) + float(j.divergence.sum())
    energy += float(np.sum(0.5 * (t - j.t) * j.residuals.sum(0) - 0.5 * len(x.y) * (np.log(t / j.t))))
    energy -= 0.5 * len(x.y) * float(np.sum(mean_log_of(q.tau) - np.log(t)))
    edges = 0.5 * (LOG_2PI - j.mean_z + j.mean_gamma * (x.y[:, None] - x.yhat) ** 2) - o.jacobian * j.mean_z
    if o.gamma_factor:
        energy += gamma_divergence(q.beta, x.beta)
        edges = edges + gammaln(x.alpha) - x.alpha * mean_log_of(q.beta) - (x.alpha - 1.0) * j.mean_z
        edges = edges + mean_of(q.beta) * j.mean_gamma
    return energy + float(edges.sum())


def coefficients(x: Experts, o: Options, q: StructuredBeliefs) -> tuple[float, Array]:
    """``s`` and ``c`` of every edge."""
    return link_coefficients(x, o, replace(start(x), beta=q.beta), o.jacobian)


def update_joint(x: Experts, o: Options, q: StructuredBeliefs) -> StructuredBeliefs:
    """All sites at once from their cavities at the current ``E tau``; halved until the free energy does not rise."""
    old, t = q.joint, mean_of(q.tau)
    now = joint(x, t, old.h, old.l)
    s, c = coefficients(x, o, q)
    precision = 1.0 / now.var_z - now.l
    m, v = gaussian_link(precision, (now.mean_z / now.var_z - now.h) / precision, s, c)
    rate = c * np.exp(m + 0.5 * v)
    before = structured_energy(x, o, q)
    for step in 0.5 ** np.arange(40):
        target = ((t, old.t), (s - rate + rate * m, old.h), (rate, old.l))
        new = replace(q, joint=joint(x, *(step * to + (1.0 - step) * of for to, of in target)))
        if structured_energy(x, o, new) <= before + 1e-12 * (1.0 + abs(before)):
            return new
    return q


def update_tau(x: Experts, o: Options, q: StructuredBeliefs) -> StructuredBeliefs:
    """Half a count and half a squared residual a row, the residual under the joint."""
    return replace(q, tau=counted(x.tau, 0.5 * len(x.y), 0.5 * q.joint.residuals.sum(0)))


def update_beta(x: Experts, o: Options, q: StructuredBeliefs) -> StructuredBeliefs:
    """``alpha`` counts and one ``E gamma`` a row."""
    return replace(q, beta=counted(x.beta, x.alpha * len(x.y), q.joint.mean_gamma.sum(0)))


def begin(x: Experts, o: Options, warm: int = 3) -> StructuredBeliefs:
    """The sites of ``warm`` mean-field sweeps; flat sites, hence the prior, for none."""
    first = fit(x, o, sweeps=warm).beliefs if warm else start(x)
    return StructuredBeliefs(joint(x, mean_of(first.tau), *_sites(x, o, first, warm > 0)), first.tau, first.beta)


def _sites(x: Experts, o: Options, q: Beliefs, known: bool) -> tuple[Array, Array]:
    if not known:
        return np.zeros(x.yhat.shape), np.zeros(x.yhat.shape)
    s, c = link_coefficients(x, o, q, o.jacobian)
    rate = c * q.mean_gamma
    return s - rate + rate * q.mean_z, rate


def fit_structured(x: Experts, o: Options, *, sweeps: int | None = None, warm: int = 3, limit: int = 5000) -> Fit:
    """Joint, tau, beta until the free energy stands still to 1e-12 and every number to 1e-11, or ``sweeps``."""
    q, energies, names, last = begin(x, o, warm), [], [], np.inf
    updates = {"joint": update_joint, "tau": update_tau} | ({"beta": update_beta} if o.gamma_factor else {})
    for _ in range(sweeps or limit):
        before = q
        for name, update in updates.items():
            q = update(x, o, q)
            energies, names = [*energies, structured_energy(x, o, q)], [*names, name]
        moved = max(movement(before.joint, q.joint), float(np.max(np.abs(mean_of(q.tau) / mean_of(before.tau) - 1.0))))
        if not sweeps and abs(energies[-1] - last) <= 1e-12 and moved <= 1e-11:
            return Fit(q, energies, names)
        last = energies[-1]
    assert sweeps, f"no fixed point in {limit} sweeps: moved {moved}"
    return Fit(q, energies, names)
