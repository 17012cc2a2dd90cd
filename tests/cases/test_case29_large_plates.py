"""Case 29: 100,000 edges run without recursion and without a Python object an edge."""

import gc
import sys
import time

import numpy as np
import pytest

import inference as P

pytestmark = pytest.mark.unchecked

RNG = np.random.default_rng(29)
GENEROUS_SECONDS = 60.0
"""Not a benchmark: these runs take a second or so, and a loop over edges in Python takes minutes."""


@P.model
def experts(m, phi, yhat, y):
    """Precision-gated experts."""
    row, each = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=0.1, dim=phi.shape[1], plates=each)
    z = m.softdot("z", w, phi, m.gamma("tau", 1.0, 1.0, plates=each), plates=(row, each))
    m.normal("yhat", mean=y, precision=m.exp("gamma", z), observed=yhat, plates=(row, each))


@P.model
def level(m, y):
    """A random walk under noise, both unknown."""
    q, r = m.gamma("q", 1.0, 1.0), m.gamma("r", 1.0, 1.0)
    x = m.chain("x", start=P.Normal(0.0, 1.0), step=lambda a: {"mean": a, "precision": q}, length=len(y))
    m.normal("y", mean=x, precision=r, observed=y)


@P.model
def effects(m, y, group):
    """Rows around the effects of many groups."""
    grand = m.normal("grand", mean=0.0, precision=1.0)
    effect = m.normal("effect", mean=grand, precision=1.0, plates=m.plate("group", int(group.max()) + 1))
    m.normal("y", mean=effect[group], precision=m.gamma("r", 1.0, 1.0), observed=y, plates=m.plate("row", len(y)))


def data(model, size):
    y = RNG.standard_normal(size)
    if model is experts:
        rows = size // 5
        phi, yhat = RNG.standard_normal((rows, 3)), RNG.standard_normal((rows, 5))
        return {"phi": phi, "yhat": yhat, "y": y[:rows]}
    return {"y": y, "group": np.arange(size) % (size // 10)} if model is effects else {"y": y}


def objects_of(model, size) -> tuple[int, int]:
    """How many Python objects a run leaves, and how many factors it has."""
    given = data(model, size)
    gc.collect()
    before = len(gc.get_objects())
    result = P.infer(model, data=given, iterations=2)
    made = len(gc.get_objects()) - before
    return made, len(result.graph.factors)


@pytest.mark.parametrize("model", [experts, level, effects], ids=lambda model: model.name)
def test_objects_do_not_grow_with_the_edges(model):
    objects_of(model, 100)
    small, factors = objects_of(model, 100)
    large, same = objects_of(model, 100_000)
    assert factors == same and large < small + 500


@pytest.mark.parametrize("model", [experts, level, effects], ids=lambda model: model.name)
@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["default", "apart"])
def test_a_hundred_thousand_edges_need_no_depth_and_little_time(model, constraints):
    given, limit = data(model, 100_000), sys.getrecursionlimit()
    began = time.perf_counter()
    sys.setrecursionlimit(len_of_stack() + 300)
    try:
        result = P.infer(model, data=given, constraints=constraints, iterations=3)
        text = f"{result}\n{result.plan!r}\n{result.plan.explain()}"
    finally:
        sys.setrecursionlimit(limit)
    assert time.perf_counter() - began < GENEROUS_SECONDS
    assert np.isfinite(result.free_energy).all() and len(text) < 4000
    assert np.all(np.diff(result.free_energy) <= 1e-9 * np.abs(result.free_energy[1:]))


def len_of_stack() -> int:
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
