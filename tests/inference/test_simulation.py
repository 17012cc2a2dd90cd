"""Ancestral draws from a model, judged by the moments its factors imply."""

import numpy as np
import pytest

import inference as P


@P.model
def level(m, y):
    series, length = y.shape
    b = m.plate("series", series)
    q = m.gamma("q", 50.0, 25.0, plates=b)
    x = m.chain("x", start=P.Normal(1.0, 0.5), step=lambda a: {"mean": a, "precision": q}, length=length, plates=b)
    m.normal("y", mean=x, precision=10.0, observed=y)


@P.model
def opinions(m, y):
    mu = m.normal("mu", mean=0.0, precision=1.0)
    m.normal(mu, mean=1.0, precision=1.0)
    m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))


@P.model
def regression(m, x, y):
    w, tau = m.normal_gamma(("w", "tau"), mean=1.0, precision=2.0, shape=3.0, rate=1.0, dim=x.shape[1])
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


def within(values, expected, k=5.0):
    """Five standard errors of the mean over the leading axis."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - expected) < k * error)


def test_a_chain_has_the_variance_of_a_random_walk():
    draw = P.simulate(level, {"y": P.missing(4000, 4)}, seed=0)
    assert {k: v.shape for k, v in draw.items()} == {"q": (4000,), "x": (4000, 4), "y": (4000, 4)}
    within(draw["x"], 1.0)
    expected = 0.5 + np.arange(4) * 25.0 / 49.0  # E 1/q of Ga(50, 25) a step
    within((draw["x"] - 1.0) ** 2, expected)
    within((draw["y"] - draw["x"]) ** 2, 0.1)
    within((draw["x"][:, 1:] - draw["x"][:, :-1]) * (draw["x"][:, :-1] - 1.0), 0.0)


def test_a_normal_gamma_pair_is_drawn_together():
    draw = P.simulate(regression, {"x": np.eye(2), "y": P.missing(2)}, seed=1, n=1000)
    within(draw["tau"], 3.0)
    within((draw["w"] - 1.0) ** 2 * draw["tau"][:, None], 0.5)
    within((draw["y"] - draw["w"]) ** 2 * draw["tau"][:, None], 1.0)


def test_posteriors_replace_priors():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 2))
    result = P.infer(regression, data={"x": x, "y": x @ [3.0, -1.0]})
    draw = P.simulate(regression, {"x": x, "y": P.missing(40)}, seed=3, n=500, posteriors=result.posteriors)
    within(draw["w"], result.posteriors["w"].mean())


def test_the_same_seed_gives_the_same_draw_and_another_another():
    data = {"y": P.missing(2, 3)}
    one, two, three = (P.simulate(level, data, seed=s)["y"] for s in (5, 5, 6))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


def test_two_opinions_on_one_variable_have_no_ancestral_draw():
    with pytest.raises(P.SpecError, match="something more about"):
        P.simulate(opinions, {"y": P.missing(2)}, seed=0)
    given = {"mu": P.Normal(0.5, 0.5)}
    assert P.simulate(opinions, {"y": P.missing(2)}, seed=0, posteriors=given)["y"].shape == (2,)
