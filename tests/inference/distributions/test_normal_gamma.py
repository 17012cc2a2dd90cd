"""NormalGamma: quadrature over weights and precision, its Student-t marginals, and exact regression."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from inference.distributions import Gamma, MvNormal, NormalGamma
from tests.support.golden import golden


def nodes(one):
    """Weights, precisions and masses on a grid in which the density is nearly a product."""
    t, dt = np.linspace(-7.0, 4.0, 221, retstep=True)
    u, du = np.linspace(-8.0, 8.0, 81, retstep=True)
    spread = np.sqrt(np.diag(np.linalg.inv(one.precision)))
    tau = np.exp(t)[:, None, None]
    w = one.mean() + np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1) * spread / np.sqrt(tau)[..., None]
    log_density = one.logpdf((w, tau))
    mass = np.exp(log_density) * (tau * dt) * du**2 * spread.prod() / tau
    return w, np.broadcast_to(tau, mass.shape), mass, log_density


@pytest.mark.parametrize("index", [0, 1])
def test_the_density_against_quadrature(index):
    one = NormalGamma.example()[index]
    w, tau, mass, log_density = nodes(one)
    np.testing.assert_allclose(mass.sum(), 1.0, rtol=1e-10)
    np.testing.assert_allclose(one.entropy(), -(mass * log_density).sum(), rtol=1e-9)
    np.testing.assert_allclose(one.marginal_precision().mean(), (mass * tau).sum(), rtol=1e-10)
    np.testing.assert_allclose(one.weights_mean(), np.einsum("abc,abck->k", mass, w), rtol=1e-9)
    gap = w - one.weights_mean()
    covariance = np.einsum("abc,abck,abcl->kl", mass, gap, gap)
    np.testing.assert_allclose(one.weights_covariance(), covariance, rtol=1e-8)
    np.testing.assert_allclose(one.var(), np.diag(covariance), rtol=1e-8)


def test_the_density_is_a_gamma_times_a_gaussian():
    one = NormalGamma.example()[1]
    w, tau = np.array([0.3, -0.8]), 1.7
    expected = Gamma(one.shape, one.rate).logpdf(tau) + MvNormal(one.mean(), precision=tau * one.precision).logpdf(w)
    np.testing.assert_allclose(one.logpdf((w, tau)), expected, rtol=1e-13)
    assert one.logpdf((w, -1.0)) == -np.inf


def test_marginals_of_the_weights_against_an_integral_over_the_precision():
    one = NormalGamma.example()[0]
    variance, marginal = np.diag(np.linalg.inv(one.precision)), one.marginal_mean()
    for k, point in enumerate([0.9, -2.2]):
        z = lambda tau, k=k, point=point: (point - one.mean()[k]) * np.sqrt(tau / variance[k])  # noqa: E731
        integrand = lambda t, z=z: np.exp(one.marginal_precision().logpdf(np.exp(t)) + t) * special.ndtr(z(np.exp(t)))  # noqa: E731
        area = integrate.quad(integrand, -9.0, 5.0, epsabs=1e-13)[0]
        np.testing.assert_allclose(marginal[k].cdf(point), area, rtol=1e-9)
        np.testing.assert_allclose(one.quantile(area)[k], point, rtol=1e-8)


def test_moments_that_do_not_exist():
    one = NormalGamma(np.zeros((3, 1)), np.eye(1), [0.4, 0.9, 3.0], 2.0)
    np.testing.assert_array_equal(one.var()[:, 0], [np.nan, np.inf, 1.0])
    np.testing.assert_array_equal(one.weights_covariance()[:, 0, 0], [np.nan, np.nan, 1.0])


def test_sequential_predictives_are_the_evidence():
    """Updates and predictives of exact regression: the product of Student-t predictives is the multivariate t."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((6, 2)), rng.standard_normal(6)
    m0, L0, a0, b0 = np.array([0.2, -0.4]), np.array([[1.3, 0.2], [0.2, 0.8]]), 1.7, 0.9
    m, L, a, b, total = m0, L0, a0, b0, 0.0
    for row, target in zip(x, y, strict=True):
        total += float(NormalGamma(m, L, a, b).predictive(row).logpdf(target))
        new = L + np.outer(row, row)
        centre = np.linalg.solve(new, L @ m + row * target)
        b = b + 0.5 * (target**2 + m @ L @ m - centre @ new @ centre)
        m, L, a = centre, new, a + 0.5
    shape = b0 / a0 * (np.eye(6) + x @ np.linalg.solve(L0, x.T))
    np.testing.assert_allclose(total, stats.multivariate_t(x @ m0, shape, df=2 * a0).logpdf(y), rtol=1e-11)


def test_golden_sequential_predictives():
    """Row by row from the golden prior: df, location, scale and log density of every predictive, and the evidence."""
    given, expected = (golden("mp_normal_gamma_regression")[key] for key in ("inputs", "expected"))
    x, y = np.array(given["X"]), np.array(given["y"])
    total = 0.0
    for n, target in enumerate(y):
        seen, L0, m0 = x[:n], np.array(given["Lambda0"]), np.array(given["m0"])
        L = L0 + seen.T @ seen
        m = np.linalg.solve(L, L0 @ m0 + seen.T @ y[:n])
        rate = given["b0"] + 0.5 * (y[:n] @ y[:n] + m0 @ L0 @ m0 - m @ L @ m)
        predictive = NormalGamma(m, L, given["a0"] + 0.5 * n, rate).predictive(x[n])
        for name in ("df", "loc", "scale"):
            np.testing.assert_allclose(getattr(predictive, name), expected[f"seq_{name}"][n], rtol=1e-10, err_msg=name)
        np.testing.assert_allclose(predictive.logpdf(target), expected["seq_logpdf"][n], rtol=1e-10)
        total += float(predictive.logpdf(target))
    np.testing.assert_allclose(total, expected["log_evidence"], rtol=1e-10)


def test_predictive_of_many_rows_and_of_a_batch():
    rows = np.arange(10.0).reshape(5, 2)
    batch = NormalGamma.example()
    together = batch.predictive(rows[:, None, :])
    assert together.batch_shape == (5, 2)
    alone = batch[1].predictive(rows)
    for name in ("df", "loc", "scale"):
        np.testing.assert_allclose(getattr(together, name)[:, 1], getattr(alone, name), rtol=1e-13)
