"""Where inference starts: at the forward messages of the priors, unless told; and what is said where neither helps."""

import numpy as np
import pytest

import inference as P
from inference.initial import fitted, initial_state
from inference.schedule import make_plan
from inference.structure import Plate, Variable
from tests.support.letters import Scaled, letters

ROWS, D = 4, 2
PHI = np.array([[1.0, 0.0], [1.0, 1.0], [0.5, -1.0], [2.0, 0.3]])


@P.model
def experts(m, y):
    """Gated experts, two of them, with a rate prior."""
    row, each = m.plate("row", ROWS), m.plate("expert", 2)
    w = m.mvnormal("w", mean=1.0, precision=4.0, dim=D, plates=each)
    tau = m.gamma("tau", 3.0, 2.0, plates=each)
    z = m.softdot("z", w, PHI, tau, plates=(row, each))
    gamma = m.exp("gamma", z)
    m.gamma(gamma, 1.0, m.gamma("beta", 2.0, 5.0, plates=each))
    m.normal("y", mean=0.0, precision=gamma, observed=y, plates=(row, each))


def start(model, init=None, constraints=(), **data):
    return initial_state(make_plan(model.build(data), constraints).program, init)


def test_every_variable_starts_at_the_forward_message_of_its_own_factor():
    q = start(experts, y=np.zeros((ROWS, 2))).marginals
    np.testing.assert_allclose(q["w"].mean(), np.ones((2, D)))
    np.testing.assert_allclose(q["w"].var(), np.full((2, D), 0.25))
    np.testing.assert_allclose(q["tau"].mean(), [1.5, 1.5])
    mean, var = PHI.sum(axis=1), 0.25 * (PHI**2).sum(axis=1) + 2.0 / 3.0
    np.testing.assert_allclose(q["z"].mean(), np.column_stack([mean, mean]))
    np.testing.assert_allclose(q["z"].var(), np.column_stack([var, var]))
    np.testing.assert_allclose(q["gamma"].mean(), np.exp(q["z"].mean() + 0.5 * q["z"].var()))
    np.testing.assert_allclose(q["beta"].mean(), [0.4, 0.4])


def test_a_chain_starts_at_its_start_everywhere():
    @P.model
    def walk(m, y):
        series = m.plate("series", len(y))
        prior = P.Normal(np.array([1.0, 2.0]), 3.0)
        x = m.chain("x", start=prior, step=lambda a: {"mean": a, "precision": 1.0}, length=3, plates=series)
        m.normal("y", mean=x, precision=1.0, observed=y)

    q = start(walk, y=np.zeros((2, 3))).marginals["x"]
    np.testing.assert_array_equal(q.mean(), [[1.0] * 3, [2.0] * 3])
    np.testing.assert_array_equal(q.var(), np.full((2, 3), 3.0))


def test_a_normal_gamma_pair_starts_together():
    @P.model
    def pair(m, x, y):
        w, tau = m.normal_gamma(("w", "tau"), mean=0.0, precision=np.eye(2), shape=2.0, rate=4.0)
        m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))

    state = start(pair, x=np.ones((3, 2)), y=np.zeros(3))
    assert set(state.joints) == {("w", "tau")}
    np.testing.assert_allclose(state.marginals["tau"].mean(), 0.5)


def test_what_is_given_is_where_it_starts_and_what_follows_follows():
    w = P.MvNormal(np.array([2.0, -1.0]), np.eye(2))
    q = start(experts, {"w": w, "tau": P.Gamma(6.0, 2.0)}, y=np.zeros((ROWS, 2))).marginals
    np.testing.assert_allclose(q["w"].mean(), [[2.0, -1.0]] * 2)
    np.testing.assert_allclose(q["z"].mean()[:, 0], PHI @ [2.0, -1.0])
    np.testing.assert_allclose(q["z"].var()[:, 0], (PHI**2).sum(axis=1) + 1.0 / 3.0)


def test_a_fixed_marginal_is_where_it_starts_whatever_init_says():
    fixed = [P.Fixed("tau", P.Gamma(6.0, 2.0))]
    q = start(experts, {"tau": P.Gamma(1.0, 1.0)}, fixed, y=np.zeros((ROWS, 2))).marginals
    np.testing.assert_allclose(q["tau"].mean(), [3.0, 3.0])


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (
            {"taux": P.Gamma(1.0, 1.0)},
            r"init names 'taux' \(did you mean 'tau'\?\); the variables are w, tau, z, gamma, beta",
        ),
        ({"gamma": P.Gamma(1.0, 1.0)}, r"init names 'gamma', which is e\^z; start 'z' in its place"),
        ({"tau": P.Normal(0.0, 1.0)}, r"'tau' is positive; Normal\(mean=0, var=1\) is not on that support"),
        ({"w": P.Gamma(1.0, 1.0)}, "'w' is real; Gamma"),
        ({"tau": P.PointMass(-1.0)}, "'tau' is positive; PointMass.* is not on that support"),
        ({"w": P.Normal(0.0, 1.0)}, r"'w' has event shape \(2,\), the distribution given for it \(\)"),
        (
            {"w": P.MvNormal(np.zeros(3), np.eye(3))},
            r"'w' has event shape \(2,\), the distribution given for it \(3,\)",
        ),
        (
            {"tau": P.Gamma(np.ones(3), 1.0)},
            r"'tau' is over plates \(expert=2\); the distribution .* batch shape \(3,\)",
        ),
        ({"z": P.Normal(np.zeros((2, ROWS)), 1.0)}, r"'z' is over plates \(row=4, expert=2\); .* batch shape \(2, 4\)"),
    ],
)
def test_a_start_that_does_not_fit_is_named(init, said):
    with pytest.raises(P.SpecError, match=said):
        start(experts, init, y=np.zeros((ROWS, 2)))


def test_all_that_cannot_be_defaulted_are_listed_with_the_reason():
    @P.model
    def stuck(m, y):
        a = m.scaled("a", m.mvnormal("x", 0.0, precision=1.0, dim=D), 1.0)
        b = m.mvnormal("b", a, precision=1.0, dim=D)
        c = m.scaled("c", b, m.gamma("weight", 1.0, 1.0))
        m.scaled("d", m.mvnormal("u", 0.0, precision=1.0, dim=D), 1.0)
        m.mvnormal("y", c, precision=1.0, dim=D, observed=y)

    with letters(Scaled):
        with pytest.raises(P.SpecError) as refusal:
            start(stuck, y=np.zeros(D))
        said = str(refusal.value)
        for name in ("a", "d"):
            assert f"{name} (scaled has no rule toward y given the marginals of the other ports, forward" in said
        assert "b (it follows from a)" in said and "c (it follows from b)" in said
        assert "Pass init={name: distribution} for these" in said
        assert not any(f" {name} (" in said for name in ("x", "u", "weight", "y"))
        given = {name: P.MvNormal(np.zeros(D), np.eye(D)) for name in ("a", "c", "d")}
        assert set(start(stuck, given, y=np.zeros(D)).marginals) == {"x", "a", "b", "weight", "c", "u", "d"}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (
            "real",
            [P.Normal(0.0, 1.0), P.PointMass(-1.0), P.StudentT(3.0, 0.0, 1.0)],
            [P.Gamma(1.0, 1.0), P.Beta(1.0, 1.0)],
        ),
        (
            "positive",
            [P.Gamma(1.0, 1.0), P.LogNormal(0.0, 1.0), P.PointMass(2.0)],
            [P.Normal(0.0, 1.0), P.PointMass(0.0)],
        ),
        ("probability", [P.Beta(1.0, 1.0), P.PointMass(0.5)], [P.Gamma(1.0, 1.0), P.PointMass(1.0)]),
        ("binary", [P.Bernoulli(0.5), P.PointMass(1.0)], [P.Beta(1.0, 1.0), P.PointMass(0.5)]),
    ],
)
def test_a_distribution_fits_a_variable_of_its_support(kind, good, bad):
    variable = Variable("x", kind, (Plate("row", 3),))
    for q in good:
        assert fitted(variable, q).batch_shape == (3,)
    for q in bad:
        with pytest.raises(P.SpecError, match=f"'x' is {kind}"):
            fitted(variable, q)
