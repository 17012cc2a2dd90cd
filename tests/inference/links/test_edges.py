"""What is refused, and with which words; what counts as degenerate."""

import numpy as np
import pytest

from inference.errors import ImproperMarginal, SpecError
from inference.links import solve_gamma, solve_gaussian
from inference.links._edges import FLAT, bracket, equation, read_edges
from tests.support.link_edges import random_edges

SOLVERS = (solve_gaussian, solve_gamma)


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize(("s", "c"), [(0.5, 0.0), (0.0, 1.0), (-0.5, 1.0)])
def test_a_flat_edge_needs_both_coefficients(solve, s, c):
    with pytest.raises(ImproperMarginal, match=r"1 of 2 exp links .* flat index 1: precision 0, .*give it a prior"):
        solve(np.array([1.0, 0.0]), 0.0, s, c)


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("position", range(4))
def test_numbers_that_are_not_finite_are_refused(solve, position):
    edge = [1.0, 0.0, 0.5, 1.0]
    edge[position] = np.nan
    name = ("precision", "center", "log_coefficient", "rate")[position]
    with pytest.raises(SpecError, match=f"{name} holds NaN or infinity in 1 edges"):
        solve(*edge)


@pytest.mark.parametrize("solve", SOLVERS)
def test_negative_precisions_and_rates_are_refused(solve):
    with pytest.raises(SpecError, match="precision is negative"):
        solve(-1.0, 0.0, 0.5, 1.0)
    with pytest.raises(SpecError, match="rate is negative"):
        solve(1.0, 0.0, 0.5, -1.0)


@pytest.mark.parametrize("solve", SOLVERS)
def test_what_leaves_float64_is_refused(solve):
    with pytest.raises(SpecError, match="beyond 1e290"):
        solve(1e-139, 0.0, 1e160, 1.0)


def test_flat_linear_and_regular_edges_are_told_apart():
    p = np.array([0.0, 0.1 * FLAT, 1.0, 1.0, 1.0])
    edges, shape = read_edges(
        (p, np.array([0.0, 0.0, 0.0, -800.0, 0.0]), 0.5, np.array([1.0, 1.0, 0.0, 1.0, 1.0])), 0.5
    )
    assert shape == (5,)
    assert edges.flat.tolist() == [True, True, False, False, False]
    assert edges.linear.tolist() == [False, False, True, True, False]
    assert edges.regular.tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("slack", [0.5, 1.0])
def test_the_bracket_holds_the_equation_with_any_admissible_term(slack):
    """At its lower end the left side is at most 0, at its upper end at least ``slack / p``."""
    e = equation(read_edges(random_edges(2000, c=(-8, 8)), slack)[0])
    low, high, start = bracket(e, slack)
    assert (e.left(low, np.exp(low)) <= 0.0).all()
    assert (e.left(high, np.exp(high)) >= slack / e.p).all()
    assert ((low <= start) & (start <= high)).all()
