"""Message passing against plain minimisation: LBFGS on the free energy as a function of unconstrained numbers.

The objective is expected log densities and entropies of ``torch.distributions``, from a cold start: no update, no
closed form and no link solver is shared with the fixed points it is compared with (message passing 6, item 4).
"""

import numpy as np
import pytest
import torch
from torch.distributions import Gamma, MultivariateNormal, Normal

from tests.support.gated_experts import fit
from tests.support.gated_experts_golden import golden_configurations, golden_experts
from tests.support.gated_experts_structured import fit_structured

FAST = {
    "meanfield-gauss-J0-full",
    "meanfield-gauss-J0-diag-noisy",
    "meanfield-gamma-J0-full-no_rate",
    "structured_wz-gauss-J1-full",
}


def configurations():
    """Every golden configuration that has a free energy; four kinds are fast enough to run always."""
    for entry in golden_configurations():
        if entry.options.link_marginal != "dual":
            marks = [] if entry.name in FAST else [pytest.mark.slow]
            yield pytest.param(entry, id=entry.name, marks=marks)


def tensor(value):
    return torch.as_tensor(np.asarray(value), dtype=torch.float64)


def parameters(x, structured):
    """Zeros: unit variances, shapes and rates, means at nought."""
    (n, k), d = x.yhat.shape, x.phi.shape[1]
    width = d + n if structured else d
    shapes = {"mean": (k, width), "root": (k, width, width), "tau": (2, k), "beta": (2, k), "kappa": (2, k)}
    if not structured:
        shapes |= {"link": (2, n, k), "pred": (2, n, k)}
    return {name: torch.zeros(shape, dtype=torch.float64, requires_grad=True) for name, shape in shapes.items()}


def cholesky(root, diagonal):
    """A factor with a positive diagonal from any square matrix."""
    scale = torch.diag_embed(torch.exp(torch.diagonal(root, dim1=1, dim2=2)))
    return scale if diagonal else torch.tril(root, -1) + scale


def expected_log_gamma_density(q, prior):
    """``E log Ga(g | prior)``."""
    a, b = tensor(prior[0]), tensor(prior[1])
    return a * b.log() - torch.lgamma(a) + (a - 1.0) * mean_log(q) - b * q.mean


def mean_log(q):
    return torch.digamma(q.concentration) - q.rate.log()


def expected_log_normal(precision, squares):
    """``E log N`` of a residual with ``E`` squares and a Gamma precision."""
    return 0.5 * (mean_log(precision) - np.log(2.0 * np.pi) - precision.mean * squares)


def edges(o, raw):
    """``E z``, ``Var z``, ``E gamma`` and ``H[z]`` of one-form marginals."""
    if o.link_marginal == "gamma":
        q = Gamma(*raw.exp())
        # Not polygamma(1, .): torch's is right to nine digits only.
        trigamma = torch.special.zeta(tensor(2.0), q.concentration)
        return mean_log(q), trigamma, q.mean, q.entropy() - mean_log(q)
    q = Normal(raw[0], (0.5 * raw[1]).exp())
    return q.mean, q.variance, (q.mean + 0.5 * q.variance).exp(), q.entropy()


def near_side(x, o, structured, p):
    """Of each expert: the Gaussian cluster's ``E log p(w)``, its entropy and the squared residuals; and the edges."""
    phi, d = tensor(x.phi), x.phi.shape[1]
    cluster = MultivariateNormal(p["mean"], scale_tril=cholesky(p["root"], o.cov == "diag"))
    m, cov = cluster.mean, cluster.covariance_matrix
    second = torch.diagonal(cov, dim1=1, dim2=2)[:, :d] + (m[:, :d] - x.w_mean) ** 2
    prior = 0.5 * (np.log(x.w_precision / (2.0 * np.pi)) - x.w_precision * second).sum()
    if structured:
        z, var = m[:, d:].T, torch.diagonal(cov, dim1=1, dim2=2)[:, d:].T
        read = torch.cat([-phi, torch.eye(len(phi), dtype=torch.float64)], dim=1)
        squares = (m @ read.T).T ** 2 + torch.einsum("na,kab,nb->nk", read, cov, read)
        return prior, cluster.entropy().sum(), squares, z, (z + 0.5 * var).exp()
    z, var, g, entropy = edges(o, p["link"])
    squares = (z - phi @ m.T) ** 2 + var + torch.einsum("na,kab,nb->nk", phi, cov, phi)
    return prior, cluster.entropy().sum() + entropy.sum(), squares, z, g


def free_energy(x, o, structured, p):
    """Minus the expected logs of the model, minus entropies."""
    y, yhat = tensor(x.y)[:, None], tensor(x.yhat)
    tau, beta, kappa = (Gamma(*p[name].exp()) for name in ("tau", "beta", "kappa"))
    logs, entropy, squares, z, g = near_side(x, o, structured, p)
    logs = logs + expected_log_gamma_density(tau, x.tau).sum() + expected_log_normal(tau, squares).sum()
    entropy, errors = entropy + tau.entropy().sum(), (y - yhat) ** 2
    if o.noisy:
        pred = Normal(p["pred"][0], (0.5 * p["pred"][1]).exp())
        errors = (y - pred.mean) ** 2 + pred.variance
        noise = (pred.mean - yhat) ** 2 + pred.variance
        logs = logs + expected_log_gamma_density(kappa, x.kappa).sum() + expected_log_normal(kappa, noise).sum()
        entropy = entropy + kappa.entropy().sum() + pred.entropy().sum()
    if o.gamma_factor:
        rate = x.alpha * mean_log(beta) - torch.lgamma(tensor(x.alpha)) + (x.alpha - 1.0) * z - beta.mean * g
        logs = logs + expected_log_gamma_density(beta, x.beta).sum() + rate.sum()
        entropy = entropy + beta.entropy().sum()
    return -(logs + 0.5 * (z - np.log(2.0 * np.pi) - g * errors).sum() + o.jacobian * z.sum()) - entropy


def minimum(x, o, structured):
    """The free energy where LBFGS stops, restarted once."""
    p = parameters(x, structured)

    def closure():
        optimiser.zero_grad()
        energy = free_energy(x, o, structured, p)
        energy.backward()
        return energy

    for _ in range(2):
        optimiser = torch.optim.LBFGS(
            list(p.values()),
            max_iter=3000,
            max_eval=6000,
            history_size=60,
            tolerance_grad=1e-8,
            tolerance_change=1e-15,
            line_search_fn="strong_wolfe",
        )
        optimiser.step(closure)
    return free_energy(x, o, structured, p).item()


@pytest.mark.parametrize("entry", list(configurations()))
def test_direct_minimisation_finds_the_fixed_point(entry):
    x, o = golden_experts(), entry.options
    fixed = (fit_structured if entry.structured else fit)(x, o).energies[-1]
    np.testing.assert_allclose(minimum(x, o, entry.structured), fixed, rtol=0.0, atol=1e-9)
