"""Choosing from a grid, and saying where the choice means little."""

import numpy as np

from corners.selection import choose, grid_remarks


def test_the_lowest_score_is_chosen_and_nan_never():
    scores = np.array([[1.0, np.nan, np.nan], [0.5, 2.0, np.nan], [0.7, np.inf, np.nan]])
    assert choose(scores).tolist() == [1, 1, 0]


def test_an_edge_and_a_flat_grid_are_said():
    inside = np.array([2.0, 1.0, 3.0])
    assert grid_remarks("penalty", (0.1, 1.0, 10.0), inside, 1) == ()
    assert grid_remarks("penalty", (0.1, 1.0, 10.0), inside[::-1].cumsum(), 0) == (
        "penalty 0.1 is at the edge of its grid",
    )
    flat = grid_remarks("penalty", (0.1, 1.0, 10.0), 1.0 + 1e-4 * inside, 1)
    assert flat == ("the grid of penalty is flat: its validation NLLs differ by 0.0002 nats",)


def test_a_single_candidate_and_failed_ones_say_nothing_of_flatness():
    assert grid_remarks("penalty", (1.0,), np.zeros(1), 0) == ()
    assert grid_remarks("penalty", (0.1, 1.0, 10.0), np.array([1.0, 1.0, np.inf]), 1) == ()
