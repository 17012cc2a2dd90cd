"""Choosing from a grid by validation NLL: the lowest finite score, and what is said where the choice means little."""

import numpy as np
import pytest

from corners.selection import FLAT, best_candidate, choice_remarks

THREE = [{"prior_precision": value} for value in (0.1, 1.0, 10.0)]


@pytest.mark.parametrize(
    ("scores", "best"),
    [([3.0, 1.0, 2.0], 1), ([np.nan, 5.0, 7.0], 1), ([np.inf, 5.0, -np.inf], 1), ([2.0, 2.0, 2.0], 0)],
)
def test_the_lowest_finite_score_is_chosen(scores, best):
    assert best_candidate(np.array(scores)) == best


@pytest.mark.parametrize("scores", [[np.nan] * 3, [np.inf] * 3, [np.inf, np.nan, -np.inf]])
def test_nothing_is_chosen_where_nothing_is_finite(scores):
    """Acceptance case 25."""
    assert best_candidate(np.array(scores)) is None


@pytest.mark.parametrize(("best", "at_edge"), [(0, True), (1, False), (2, True)])
def test_an_edge_is_said_by_name(best, at_edge):
    scores = np.where(np.arange(3) == best, 0.0, 1.0)
    said = choice_remarks(THREE, scores, best)
    value = THREE[best]["prior_precision"]
    assert said == ((f"prior precision {value:g} is at the edge of its grid",) if at_edge else ())


def test_edges_are_those_of_the_values_not_of_their_order():
    assert choice_remarks([THREE[1], THREE[0], THREE[2]], np.array([0.0, 1.0, 1.0]), 0) == ()


@pytest.mark.parametrize(("spread", "flat"), [(0.0, True), (0.9 * FLAT, True), (1.1 * FLAT, False)])
def test_a_flat_grid_is_said(spread, flat):
    said = choice_remarks(THREE, np.array([spread, 0.0, 0.0]), 1)
    assert said == (
        ("validation NLL hardly depends on prior precision (range below 0.001 nat over its grid)",) if flat else ()
    )


def test_a_score_that_is_not_finite_is_no_flat_grid():
    for bad in (np.inf, np.nan):
        assert choice_remarks(THREE, np.array([bad, 0.0, 0.0]), 1) == ()


def test_each_hyperparameter_is_judged_at_the_chosen_value_of_the_other():
    """Scores depend on the penalty alone, and on the rate only where the penalty is another."""
    candidates = [{"penalty": p, "rate": r} for p in (0.1, 1.0, 10.0) for r in (0.1, 0.2, 0.3)]
    scores = np.array([5.0, 6.0, 7.0, 0.0, 0.0, 0.0, 8.0, 9.0, 9.5])
    assert choice_remarks(candidates, scores, 4) == (
        "validation NLL hardly depends on rate (range below 0.001 nat over its grid)",
    )


def test_a_grid_of_one_has_no_edge():
    assert choice_remarks([{"penalty": 0.1}], np.array([1.0]), 0) == ()
