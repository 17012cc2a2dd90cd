"""Where the graph is a tree of exact messages, F is minus the log evidence, here by dense algebra; elsewhere above."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, gammaln

import inference as P
from tests.support.expert_models import (
    conjugate_regression,
    hierarchy,
    independent_regression,
    latent_regression,
    local_level,
    regression,
    settle,
    state_space,
    static,
)

TOLERANCE = 1e-10
RNG = np.random.default_rng(17)
ROWS, D = 15, 3
X, Y = RNG.standard_normal((ROWS, D)), RNG.standard_normal(ROWS)
MEAN = np.array([0.3, -0.2, 0.9])
COV = np.array([[1.1, 0.3, 0.0], [0.3, 0.9, -0.2], [0.0, -0.2, 0.7]])
GAPS = np.isin(np.arange(ROWS), [0, 4, 5, 14])
GAPPY = np.where(GAPS, np.nan, Y)


def log_normal(y, mean, covariance) -> float:
    return float(stats.multivariate_normal(mean, covariance).logpdf(y))


def evidence_of(model, data, constraints=()) -> float:
    """Minus F of the engine; exact plans need one sweep."""
    result = P.infer(model, data=data, constraints=constraints)
    assert result.plan.exact and result.n_iter == 1 and result.converged
    return -result.free_energy[-1]


def assert_evidence(model, data, expected: float, constraints=()) -> None:
    found = evidence_of(model, data, constraints)
    assert abs(found - expected) <= TOLERANCE * (1.0 + abs(expected)), (found, expected)


@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
@pytest.mark.parametrize("constraints", [[], [P.BeliefPropagation()], [P.MeanField()]], ids=["default", "bp", "mf"])
def test_regression(y, constraints):
    """One variable is its own cluster: mean field is exact here too."""
    seen = ~np.isnan(y)
    expected = log_normal(y[seen], X[seen] @ MEAN, X[seen] @ COV @ X[seen].T + np.eye(seen.sum()) / 0.7)
    assert_evidence(regression.bind(mean=MEAN, cov=COV, tau=0.7), {"x": X, "y": y}, expected, constraints)


@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
def test_regression_through_a_latent_variable(y):
    """Joint clusters (w, z_n) with the entropy of w between them; a missing row is an open end."""
    seen = ~np.isnan(y)
    noise = (1.0 / 0.7 + 1.0 / 2.2) * np.eye(seen.sum())
    expected = log_normal(y[seen], X[seen] @ MEAN, X[seen] @ COV @ X[seen].T + noise)
    model = latent_regression.bind(mean=MEAN, cov=COV, tau=0.7, s=2.2)
    assert_evidence(model, {"x": X, "y": y}, expected, [P.BeliefPropagation()])


@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
def test_a_local_level(y):
    seen = ~np.isnan(y)
    steps = np.minimum.outer(np.arange(ROWS), np.arange(ROWS))
    covariance = (0.8 + 1.9 * steps)[np.ix_(seen, seen)] + 1.4 * np.eye(seen.sum())
    expected = log_normal(y[seen], np.full(seen.sum(), 0.4), covariance)
    assert_evidence(local_level.bind(start_mean=0.4, start_var=0.8, q=1.9, r=1.4), {"y": y}, expected)


@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
def test_a_state_space(y):
    """``Cov(x_t, x_s) = A^(t-s) P_s``."""
    matrix = np.array([[0.9, 0.4, 0.0], [-0.3, 0.8, 0.1], [0.0, 0.2, 0.7]])
    noise, read, r = 0.3 * COV + 0.2 * np.eye(D), np.array([1.0, -0.5, 0.3]), 1.7
    means, spreads = [MEAN], [COV]
    for _ in range(ROWS - 1):
        means.append(matrix @ means[-1])
        spreads.append(matrix @ spreads[-1] @ matrix.T + noise)
    covariance = np.eye(ROWS) / r
    for s in range(ROWS):
        across = spreads[s] @ read
        for t in range(s, ROWS):
            covariance[t, s] += read @ across
            covariance[s, t] = covariance[t, s]
            across = matrix @ across
    seen = ~np.isnan(y)
    expected = log_normal(y[seen], np.array(means)[seen] @ read, covariance[np.ix_(seen, seen)])
    priors = {"start_mean": MEAN, "start_cov": COV, "matrix": matrix, "noise_cov": noise}
    assert_evidence(state_space.bind(**priors, read=read, noise_precision=r), {"y": y}, expected)


@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
def test_regression_with_unknown_noise(y):
    """A multivariate Student t."""
    seen, precision, shape, rate = ~np.isnan(y), np.linalg.inv(COV), 2.3, 1.7
    scale = rate / shape * (np.eye(seen.sum()) + X[seen] @ COV @ X[seen].T)
    expected = float(stats.multivariate_t(X[seen] @ MEAN, scale, df=2.0 * shape).logpdf(y[seen]))
    model = conjugate_regression.bind(mean=MEAN, precision=precision, shape=shape, rate=rate)
    assert_evidence(model, {"x": X, "y": y}, expected)


@pytest.mark.parametrize("row", [None, 1.3], ids=["observed rows", "latent rows"])
@pytest.mark.parametrize("y", [Y, GAPPY], ids=["complete", "gaps"])
def test_group_means_around_one_mean(y, row):
    """A gather: rows see the mean of their group; a group without rows is an open end."""
    group = np.array([0, 1, 1, 2, 4, 4, 4, 2, 0, 0, 1, 5, 5, 1, 2])
    seen = ~np.isnan(y)
    same = (group[:, None] == group[None, :]).astype(float)
    noise = 1.0 / 2.5 + (1.0 / row if row else 0.0)
    covariance = (10.0 + same / 0.6 + noise * np.eye(ROWS))[np.ix_(seen, seen)]
    expected = log_normal(y[seen], np.zeros(seen.sum()), covariance)
    assert_evidence(hierarchy.bind(between=0.6, within=2.5, row=row), {"y": y, "group": group}, expected)


def test_a_static_ensemble():
    """One multivariate Student t an expert, centred at the targets."""
    yhat, shape, rate = RNG.standard_normal((ROWS, 2)), np.array([1.3, 2.0]), np.array([0.8, 3.0])
    errors = yhat - Y[:, None]
    expected = sum(
        float(stats.multivariate_t(np.zeros(ROWS), b / a * np.eye(ROWS), df=2.0 * a).logpdf(e))
        for a, b, e in zip(shape, rate, errors.T, strict=True)
    )
    assert_evidence(static.bind(shape=shape, rate=rate), {"yhat": yhat, "y": Y}, expected)


def test_a_coin():
    @P.model
    def coin(m, y):
        m.bernoulli("y", m.beta("bias", a=1.5, b=2.5), observed=y, plates=m.plate("toss", len(y)))

    tosses = (Y > 0.0).astype(float)
    heads, tails = tosses.sum(), (1.0 - tosses).sum()
    assert_evidence(coin, {"y": tosses}, float(betaln(1.5 + heads, 2.5 + tails) - betaln(1.5, 2.5)))


def test_a_loop_is_solved_densely():
    """Three variables each tied to the two others: minus the log integral of the product, which is no density."""

    @P.model
    def triangle(m):
        a = m.normal("a", mean=0.4, precision=1.0)
        b = m.normal("b", mean=a, precision=2.0)
        c = m.normal("c", mean=a, precision=0.5)
        m.normal(c, mean=b, precision=3.0)

    differences = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])
    weights = np.array([2.0, 0.5, 3.0])
    precision = np.diag([1.0, 0.0, 0.0]) + differences.T @ np.diag(weights) @ differences
    linear = np.array([0.4, 0.0, 0.0])
    log_integral = 0.5 * (np.log(weights).sum() - 4.0 * np.log(2.0 * np.pi) - 0.4**2)
    log_integral += 0.5 * (3.0 * np.log(2.0 * np.pi) - np.linalg.slogdet(precision)[1])
    log_integral += 0.5 * linear @ np.linalg.solve(precision, linear)
    assert_evidence(triangle, {}, float(log_integral))
    with pytest.raises(P.NoRule, match="loops"):
        P.infer(triangle, constraints=[P.BeliefPropagation()])


def test_exact_clusters_under_mean_field_lie_above():
    latent = latent_regression.bind(mean=MEAN, cov=COV, tau=0.7, s=2.2)
    data = {"x": X, "y": Y}
    _, apart = settle(latent, data, [P.MeanField()], tolerance=1e-10)
    assert apart > -evidence_of(latent, data) + 0.1
    level = local_level.bind(start_mean=0.4, start_var=0.8, q=1.9, r=1.4)
    _, chain = settle(level, {"y": Y}, [P.MeanField()], tolerance=1e-10)
    np.testing.assert_allclose(chain, -evidence_of(level, {"y": Y}), rtol=1e-10, err_msg="a chain stays one variable")


def test_independent_weights_and_noise_lie_above():
    """The evidence by quadrature over the one noise precision."""
    shape, rate, ridge = 2.0, 1.5, 0.4

    def integrand(tau: float) -> float:
        prior = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(tau) - rate * tau
        return float(np.exp(prior + log_normal(Y, np.zeros(ROWS), X @ X.T / ridge + np.eye(ROWS) / tau) + 20.0))

    evidence = np.log(quad(integrand, 1e-9, 30.0, epsabs=0.0, epsrel=1e-11, limit=300)[0]) - 20.0
    model = independent_regression.bind(w_precision=ridge, shape=shape, rate=rate)
    result, energy = settle(model, {"x": X, "y": Y})
    assert 1e-3 < energy + evidence < 0.5
    assert not result.plan.exact
