"""Gaussian clusters of every shape against one dense solve: posterior and evidence to 1e-10."""

import numpy as np
import pytest

import inference as P
from tests.support.linear_gaussian import Exact, dot, link, prior, seen, solved

NAN = np.nan
GROUP = np.array([0, 2, 1, 1, 2, 0, 2])
OTHER = np.array([1, 0, 2, 0, 1, 2, 2])
Y = np.array([1.0, -0.5, NAN, 2.0, 0.3, NAN, -1.2])
ROWS, GROUPS = len(Y), 3
RNG = np.random.default_rng(3)
PHI, PSI = RNG.standard_normal((2, ROWS, 2))


def observed(places, precision):
    return [seen(p, y, precision) for p, y in zip(places, Y, strict=True) if not np.isnan(y)]


@P.model
def tree(m, y, group):
    """A grand mean, group effects around it, a latent row around the effect of its group."""
    grand = m.normal("grand", mean=0.5, precision=0.4)
    row = m.plate("row", len(y))
    effect = m.normal("effect", mean=grand, precision=2.0, plates=m.plate("group", 3))
    x = m.normal("x", mean=effect[group], precision=3.0, plates=row)
    m.normal("y", mean=x, precision=5.0, observed=y)


def exact_tree():
    effects, rows = [1 + g for g in GROUP], range(4, 4 + ROWS)
    factors = [prior(0, 0.5, 0.4), *(link(1 + g, 0, 2.0) for g in range(GROUPS))]
    factors += [link(r, e, 3.0) for r, e in zip(rows, effects, strict=True)]
    return solved(4 + ROWS, factors + observed(rows, 5.0)), {"grand": 0, "effect": slice(1, 4), "x": slice(4, None)}


@P.model
def two_memberships(m, y, group, other):
    """A latent row is tied to the effects of two groups: loops through gathers."""
    row = m.plate("row", len(y))
    effect = m.normal("effect", mean=0.2, precision=0.5, plates=m.plate("group", 3))
    x = m.normal("x", mean=effect[group], precision=3.0, plates=row)
    m.normal(x, mean=effect[other], precision=0.7, plates=row)
    m.normal("y", mean=x, precision=5.0, observed=y)


def exact_two_memberships():
    rows = range(3, 3 + ROWS)
    factors = [prior(g, 0.2, 0.5) for g in range(GROUPS)]
    factors += [link(r, g, 3.0) for r, g in zip(rows, GROUP, strict=True)]
    factors += [link(r, g, 0.7) for r, g in zip(rows, OTHER, strict=True)]
    return solved(3 + ROWS, factors + observed(rows, 5.0)), {"effect": slice(0, 3), "x": slice(3, None)}


@P.model
def double_edges(m, y):
    """Two factors between the same two variables, row by row."""
    row = m.plate("row", len(y))
    x = m.normal("x", mean=0.0, precision=0.5, plates=row)
    z = m.normal("z", mean=x, precision=2.0)
    m.normal(z, mean=x, precision=0.3)
    m.normal("y", mean=z, precision=5.0, observed=y)


def exact_double_edges():
    x, z = range(ROWS), range(ROWS, 2 * ROWS)
    factors = [prior(p, 0.0, 0.5) for p in x] + [link(c, p, t) for t in (2.0, 0.3) for c, p in zip(z, x, strict=True)]
    return solved(2 * ROWS, factors + observed(z, 5.0)), {"x": slice(0, ROWS), "z": slice(ROWS, None)}


@P.model
def two_readings(m, y, phi, psi):
    """Two inner products with one weight vector, tied to each other: a loop with a vector in it."""
    row = m.plate("row", len(y))
    w = m.mvnormal("w", mean=0.0, precision=0.5, dim=2)
    z = m.softdot("z", w, phi, 2.0, plates=row)
    u = m.softdot("u", w, psi, 4.0, plates=row)
    m.normal(u, mean=z, precision=0.6)
    m.normal("y", mean=u, precision=5.0, observed=y)


def exact_two_readings():
    z, u = range(2, 2 + ROWS), range(2 + ROWS, 2 + 2 * ROWS)
    factors = [prior(0, 0.0, 0.5), prior(1, 0.0, 0.5)]
    factors += [dot(p, (0, 1), c, 2.0) for p, c in zip(z, PHI, strict=True)]
    factors += [dot(p, (0, 1), c, 4.0) for p, c in zip(u, PSI, strict=True)]
    factors += [link(c, p, 0.6) for c, p in zip(u, z, strict=True)]
    found = solved(2 + 2 * ROWS, factors + observed(u, 5.0))
    return found, {"w": slice(0, 2), "z": slice(2, 2 + ROWS), "u": slice(2 + ROWS, None)}


@P.model
def tied_chain(m, y):
    """A random walk every place of which is drawn to one level."""
    level = m.normal("level", mean=1.0, precision=0.3)
    x = m.chain("x", start=P.Normal(0.0, 2.0), step=lambda a: {"mean": a, "precision": 3.0}, length=len(y))
    m.normal(x, mean=level, precision=0.4)
    m.normal("y", mean=x, precision=5.0, observed=y)


def exact_tied_chain():
    x = range(1, 1 + ROWS)
    factors = [prior(0, 1.0, 0.3), prior(1, 0.0, 0.5), *(link(p + 1, p, 3.0) for p in x[:-1])]
    factors += [link(p, 0, 0.4) for p in x]
    return solved(1 + ROWS, factors + observed(x, 5.0)), {"level": 0, "x": slice(1, None)}


DATA = {"y": Y, "group": GROUP, "other": OTHER, "phi": PHI, "psi": PSI}
CASES = [(tree, exact_tree, False), (two_memberships, exact_two_memberships, True)]
CASES += [(double_edges, exact_double_edges, True), (two_readings, exact_two_readings, True)]
CASES += [(tied_chain, exact_tied_chain, True)]


def infer(model, **options):
    return P.infer(model, data={name: DATA[name] for name in model.arguments}, **options)


@pytest.mark.parametrize(("model", "oracle", "loops"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_one_sweep_is_exact(model, oracle, loops):
    expected, places = oracle()
    assert isinstance(expected, Exact)
    found = infer(model)
    assert found.plan.exact and found.n_iter == 1 and len(found.plan.blocks) == 1
    assert any("has loops and is solved exactly" in note for note in found.plan.notes) == loops
    assert found.free_energy is not None
    np.testing.assert_allclose(-found.free_energy[-1], expected.log_evidence, rtol=1e-10, atol=1e-10)
    variances = np.diag(expected.cov)
    for name, place in places.items():
        q = found.posteriors[name]
        np.testing.assert_allclose(q.mean(), expected.mean[place], rtol=1e-10, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(q.var(), variances[place], rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(("model", "oracle", "loops"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_mean_field_is_a_bound(model, oracle, loops):
    constraints = [P.MeanField()]
    found = infer(model, constraints=constraints, callbacks=[P.AssertMonotone()], iterations=200)
    assert found.free_energy is not None and found.free_energy[-1] > -oracle()[0].log_evidence + 1e-3


@pytest.mark.parametrize(("model", "oracle", "loops"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_belief_propagation_is_for_trees(model, oracle, loops):
    if not loops:
        found = infer(model, constraints=[P.BeliefPropagation()])
        np.testing.assert_allclose(-found.free_energy[-1], oracle()[0].log_evidence, rtol=1e-10)
        return
    with pytest.raises(P.NoRule, match=r"make loops.*leave it out to have them solved as one dense.*MeanField\(\)"):
        infer(model, constraints=[P.BeliefPropagation()])


def test_the_covariance_of_a_vector_in_a_loop_is_exact():
    expected, places = exact_two_readings()
    q = infer(two_readings).posteriors["w"]
    np.testing.assert_allclose(q.covariance, expected.cov[places["w"], places["w"]], rtol=1e-10, atol=1e-12)


def test_a_cluster_that_finds_no_step_says_so(monkeypatch):
    """Whatever the sites propose counts as higher: the marginals stay and the user is told."""
    from inference.blocks import gaussian

    @P.model
    def gated(m, phi, y):
        w = m.mvnormal("w", mean=0.0, precision=1.0, dim=2)
        z = m.softdot("z", w, phi, 2.0, plates=m.plate("row", len(y)))
        m.normal("y", mean=0.0, precision=m.exp("gamma", z), observed=y)

    rising = iter(range(10_000))
    monkeypatch.setattr(gaussian, "local", lambda *_: float(next(rising)))
    with pytest.warns(P.Stalled, match="kept its marginals"):
        P.infer(gated, data={"phi": np.ones((3, 2)), "y": np.array([0.5, 1.0, -2.0])}, iterations=2)
