"""Case 31: N = 0 returns the priors and a free energy of exactly 0, and so does data of which all is missing."""

import numpy as np
import pytest

import inference as P


@P.model
def experts(m, phi, yhat, y, *, noisy=False, rate=False):
    """Precision-gated experts, plain, noisy or with a rate prior."""
    row, each = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.3, precision=0.5, dim=phi.shape[1], plates=each)
    z = m.softdot("z", w, phi, m.gamma("tau", 2.0, 3.0, plates=each), plates=(row, each))
    gamma = m.exp("gamma", z)
    if rate:
        m.gamma(gamma, 1.0, m.gamma("beta", 1.5, 2.0, plates=each))
    if noisy:
        pred = m.normal("pred", mean=yhat, precision=m.gamma("kappa", 1.0, 1.0, plates=each), plates=(row, each))
        m.normal("y", mean=pred, precision=gamma, observed=y, plates=(row, each))
    else:
        m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(row, each))


@P.model
def regression(m, x, y):
    """Known noise."""
    w = m.mvnormal("w", mean=1.0, precision=0.25, dim=x.shape[1])
    m.softdot("y", w, x, 2.0, observed=y, plates=m.plate("row", len(y)))


@P.model
def conjugate(m, x, y):
    """Weights and noise in one prior."""
    w, tau = m.normal_gamma(("w", "tau"), mean=0.5, precision=2.0 * np.eye(x.shape[1]), shape=2.0, rate=3.0)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def coin(m, y):
    """A bias and its tosses."""
    bias = m.beta("bias", a=2.0, b=3.0)
    m.bernoulli("y", bias, observed=y, plates=m.plate("toss", len(y)))


@P.model
def groups(m, y, group):
    """Group effects around a grand mean."""
    grand = m.normal("grand", mean=0.5, precision=2.0)
    effect = m.normal("effect", mean=grand, precision=1.0, plates=m.plate("group", 3))
    m.normal("y", mean=effect[group], precision=m.gamma("r", 2.0, 1.0), observed=y, plates=m.plate("row", len(y)))


@P.model
def level(m, y):
    """A random walk; all of its readings may be missing."""
    x = m.chain("x", start=P.Normal(0.5, 4.0), step=lambda a: {"mean": a, "precision": 2.0}, length=len(y))
    m.normal("y", mean=x, precision=5.0, observed=y)


def nothing(*shape):
    return np.zeros(shape)


EMPTY = {"phi": nothing(0, 2), "yhat": nothing(0, 3), "y": nothing(0)}
NORMAL = P.MvNormal(np.full((3, 2), 0.3), np.broadcast_to(2.0 * np.eye(2), (3, 2, 2)))


def same(found, expected):
    assert type(found) is type(expected)
    for name, array in expected.arrays().items():
        other = found.arrays()[name]
        np.testing.assert_allclose(other, np.broadcast_to(array, other.shape), rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["joint", "apart"])
@pytest.mark.parametrize("options", [{}, {"noisy": True}, {"rate": True}], ids=["plain", "noisy", "rate"])
def test_gated_experts(options, constraints):
    result = P.infer(experts.bind(**options), data=EMPTY, constraints=constraints)
    assert result.converged and result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    q = result.posteriors
    np.testing.assert_allclose(q["w"].mean(), NORMAL.mean(), rtol=1e-14)
    np.testing.assert_allclose(q["w"].covariance, NORMAL.covariance, rtol=1e-14, atol=1e-15)
    same(q["tau"], P.Gamma(np.full(3, 2.0), np.full(3, 3.0)))
    if "rate" in options:
        same(q["beta"], P.Gamma(np.full(3, 1.5), np.full(3, 2.0)))
    assert q["z"].batch_shape == q["gamma"].batch_shape == (0, 3) and "(empty)" in str(result)


def test_regression():
    result = P.infer(regression, data={"x": nothing(0, 2), "y": nothing(0)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(result.posteriors["w"].mean(), [1.0, 1.0], rtol=1e-14)
    np.testing.assert_allclose(result.posteriors["w"].covariance, 4.0 * np.eye(2), rtol=1e-14)


def test_regression_with_unknown_noise():
    result = P.infer(conjugate, data={"x": nothing(0, 2), "y": nothing(0)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(result.posteriors["tau"].mean(), 2.0 / 3.0, rtol=1e-14)


def test_a_coin():
    result = P.infer(coin, data={"y": nothing(0)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    same(result.posteriors["bias"], P.Beta(2.0, 3.0))


@pytest.mark.parametrize("constraints", [(), P.MeanField("grand")], ids=["joint", "apart"])
def test_groups_without_rows(constraints):
    result = P.infer(groups, data={"y": nothing(0), "group": nothing(0)}, constraints=constraints, iterations=500)
    if constraints == ():
        assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(result.posteriors["effect"].var(), np.full(3, 1.5), rtol=1e-14)
    np.testing.assert_allclose(result.posteriors["effect"].mean(), np.full(3, 0.5), rtol=1e-6)


@pytest.mark.parametrize("length", [1, 4])
def test_a_chain_of_which_nothing_was_read(length):
    result = P.infer(level, data={"y": P.missing(length)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    variance = 4.0 + 0.5 * np.arange(length)
    np.testing.assert_allclose(result.posteriors["x"].mean(), np.full(length, 0.5), rtol=1e-13)
    np.testing.assert_allclose(result.posteriors["x"].var(), variance, rtol=1e-13)
    np.testing.assert_allclose(result.predictions["y"].mean(), np.full(length, 0.5), rtol=1e-13)
    np.testing.assert_allclose(result.predictions["y"].var(), variance + 0.2, rtol=1e-13)


@pytest.mark.parametrize("model", [regression, conjugate])
def test_all_targets_missing_is_the_prior_and_all_are_predicted(model):
    x = np.array([[1.0, 0.5], [1.0, -2.0], [0.0, 1.0]])
    result = P.infer(model, data={"x": x, "y": P.missing(3)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    assert result.predictions["y"].batch_shape == (3,)
    np.testing.assert_allclose(result.predictions["y"].mean(), x @ ([1.0, 1.0] if model is regression else [0.5, 0.5]))


def test_all_tosses_missing():
    result = P.infer(coin, data={"y": P.missing(5)})
    assert result.free_energy[-1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(result.predictions["y"].mean(), np.full(5, 0.4))


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["joint", "apart"])
def test_all_targets_of_experts_missing_leaves_them_their_priors(constraints):
    phi, yhat = np.ones((4, 2)), np.zeros((4, 3))
    result = P.infer(
        experts, data={"phi": phi, "yhat": yhat, "y": P.missing(4)}, constraints=constraints, iterations=3000
    )
    assert result.predictions["y"].batch_shape == (4,)
    if constraints == ():
        np.testing.assert_allclose(result.posteriors["w"].mean(), NORMAL.mean(), rtol=1e-8)
