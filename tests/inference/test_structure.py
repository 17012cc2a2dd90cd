"""Plates, variables and their views, known values, factors and graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.errors import SpecError
from inference.nodes.normal import Normal
from inference.structure import Factor, FactorGraph, Gather, Known, Plate, Variable

SCHOOL, YEAR, ROW = Plate("school", 4), Plate("year", 2), Plate("row", 6)
EFFECT = Variable("effect", "real", (SCHOOL, YEAR), (3,))


def test_a_plate_may_be_empty_but_not_less():
    assert Plate("row", 0).size == 0
    with pytest.raises(SpecError, match=r"'row' has size -1; sizes are 0 or more"):
        Plate("row", -1)


def test_a_variable_is_one_array():
    assert EFFECT.shape == (4, 2, 3) and EFFECT.size == 24 and EFFECT.root is EFFECT
    assert repr(EFFECT) == "Variable('effect', real, plates (school=4, year=2), event (3,))"


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([0, 3, 3], [0, 3, 3]),
        (np.array([1.0, 2.0]), [1, 2]),
        (np.array([True, False, True, False]), [0, 2]),
        (slice(1, None), [1, 2, 3]),
        (slice(None, -1), [0, 1, 2]),
        ([-1], [3]),
        (np.array([], dtype=float), []),
    ],
)
def test_a_view_runs_over_the_places_it_names(index, expected):
    view = EFFECT[index]
    assert view.gather is not None and view.gather.index.tolist() == expected and view.root is EFFECT
    assert view.plates == (Plate(f"school[{len(expected)}]", len(expected)), YEAR)


def test_one_place_takes_its_plate_away():
    view = EFFECT.at("year", 1)
    assert view.plates == (SCHOOL,) and view.gather is not None and view.gather.target is None
    assert EFFECT.at(YEAR, np.int64(1)).plates == (SCHOOL,)


def test_an_index_may_run_over_a_named_plate():
    view = EFFECT.at("school", [0, 1, 2, 3, 0, 1], onto=ROW)
    assert view.plates == (ROW, YEAR) and view.gather is not None and not view.gather.unnamed
    later = EFFECT[[0, 1, 2, 3, 0, 1]]
    assert later.gather is not None and later.gather.unnamed and later.along(ROW).plates == (ROW, YEAR)


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda x: x[4], "has 4 places along 'school': index 4 is out of bounds"),
        (lambda x: x[[0, 9]], "has 4 places along 'school': index 9 is out of bounds"),
        (lambda x: x[[0.5]], "whole numbers; its index holds fractions or gaps"),
        (lambda x: x[[0.0, np.nan]], "whole numbers; its index holds fractions or gaps"),
        (lambda x: x["a"], "indexed by integers, not by 'a'"),
        (lambda x: x[x], "indexed by integers, not by Variable"),
        (lambda x: x[["a"]], "has 4 places along 'school'"),
        (lambda x: x[[True, False]], "has 4 places along 'school'"),
        (lambda x: x[[[0, 1]]], r"a place or a list of places, not an index of shape \(1, 2\)"),
        (lambda x: x[0, 1], "takes one index along one plate, once"),
        (lambda x: x[...], "takes one index along one plate, once"),
        (lambda x: x[[0, 1]][0], "takes one index along one plate, once"),
        (lambda x: x.at("pupil", 0), r"has plates \['school', 'year'\], not 'pupil'"),
        (lambda x: x.at("school", [0, 1], onto=ROW), "has 2 places, not row=6"),
        (lambda x: x.at("school", [0, 1], onto=YEAR), "is over plate 'year' already"),
        (lambda _x: Variable("mu", "real", ())[0], "'mu' has no plate to index"),
    ],
)
def test_an_index_that_means_nothing_is_explained(take, said):
    with pytest.raises(SpecError, match=said):
        take(EFFECT)


@pytest.mark.parametrize("write", [lambda x: 2.0 * x, lambda x: np.ones(4) * x, lambda x: x + x, iter, len, np.exp])
def test_there_is_no_arithmetic_on_variables(write):
    with pytest.raises(TypeError):
        write(EFFECT)


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_scatter_is_the_transpose_of_take(places, axis, seed):
    """<take(a), b> = <a, scatter(b)> for all a and b."""
    rng = np.random.default_rng(seed)
    shape = [2, 3]
    shape.insert(axis, 4)
    gather = Gather(SCHOOL, Plate("row", len(places)), np.array(places, dtype=np.intp))
    a = rng.standard_normal(shape)
    taken = gather.take(a, axis)
    b = rng.standard_normal(taken.shape)
    assert taken.shape[axis] == len(places)
    np.testing.assert_allclose(np.sum(taken * b), np.sum(a * gather.scatter(b, axis)), rtol=1e-12, atol=1e-12)


def test_one_place_is_taken_and_put_back():
    gather, a = Gather(SCHOOL, None, np.asarray(2)), np.arange(8.0).reshape(4, 2)
    assert gather.take(a, 0).tolist() == [4.0, 5.0]
    assert gather.scatter(np.array([1.0, 2.0]), 0).tolist() == [[0, 0], [0, 0], [1, 2], [0, 0]]


def test_what_does_not_vary_is_taken_once():
    gather = Gather(SCHOOL, ROW, np.zeros(6, dtype=np.intp))
    assert gather.take(np.ones((1, 2)), 0).shape == (1, 2)
    assert Gather(SCHOOL, None, np.asarray(1)).take(np.ones((1, 2)), 0).shape == (2,)


def test_a_known_value_knows_what_is_missing():
    whole = Known("y", np.arange(3.0), (Plate("row", 3),))
    assert whole.present is None and whole.filled is whole.values
    holes = Known("y", np.array([1.0, np.nan, 2.0]), (Plate("row", 3),))
    assert holes.present is not None and holes.present.tolist() == [True, False, True]
    assert holes.filled.tolist() == [1.0, 0.0, 2.0]
    vectors = Known("y", np.array([[1.0, np.nan], [1.0, 2.0]]), (Plate("row", 2),), (2,))
    assert vectors.present is not None and vectors.present.tolist() == [False, True]
    one = Known("y", np.asarray(np.nan), ())
    assert one.present is not None and not one.present.any()


def test_a_graph_knows_who_touches_whom():
    mu, y = Variable("mu", "real", ()), Known("y", np.zeros(6), (ROW,))
    number = Known("n", np.asarray(1.0), (), (), "positive")
    prior = Factor("mu", Normal(), {"y": mu, "mean": Known("0", np.asarray(0.0), ()), "precision": number}, ())
    data = Factor("y", Normal(), {"y": y, "mean": mu, "precision": number}, (ROW,))
    graph = FactorGraph("level", {"row": ROW}, {"mu": mu}, (prior, data))
    assert graph.touching == {"mu": (prior, data)} and graph.maker("mu") is prior
    assert data.sizes == (6,) and data.holding("mu") == ["mean"] and data.variables == ["mu"]
    assert data.variables_in(frozenset({"mu", "x"})) == {"mu"}
    assert repr(data) == "y: normal(y=y, mean=mu, precision=n) over (row)"
    orphan = FactorGraph("level", {"row": ROW}, {"mu": mu}, (data,))
    with pytest.raises(SpecError, match="'mu' is the output of no factor"):
        orphan.maker("mu")
