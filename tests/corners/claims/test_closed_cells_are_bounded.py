"""Bounds of the closed cells: what turns the verdict, and both sides of the condition."""

from dataclasses import replace

import numpy as np

from corners.claims import closed_cells_are_bounded as module
from corners.claims._base import CONDITIONAL, FAILS
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence


def test_broken_floor_turns_the_verdict(monkeypatch):
    """All of the targets in the place of what lies outside the span is no floor."""
    monkeypatch.setattr(module, "_outside", lambda problem: float((problem.targets**2).sum()))
    claim = module.ClosedCellsAreBounded.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_search_turns_the_verdict(monkeypatch):
    """A least value that is only the least above a large noise is undercut by the scattered ones."""

    class Broken(Evidence):
        def maximise(self, **options):
            return super().maximise(noise_var_floor=5.0)

    monkeypatch.setattr(module, "Evidence", Broken)
    claim = module.ClosedCellsAreBounded.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_an_exact_linear_function_has_no_bound():
    """``ψ = 1, 2, 3`` and ``y = 2, 4, 6``: not constant, no row twice, and yet without a floor."""
    problem = Problem("a line", np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 4.0, 6.0]))
    finding = module.ClosedCellsAreBounded.example().check(problem)
    assert finding.verdict == FAILS
    np.testing.assert_allclose(module._slopes(problem, along_null=False), [1.0, 1.5], rtol=1e-3)  # (N - 1)/2, N/2


def test_pairs_that_the_features_do_not_reproduce_have_a_bound():
    """``ψ = 1, 1, 2, 2`` and ``y = 1, 1, 0, 0``: rows in pairs, and ``F_loo`` has a minimum."""
    problem = Problem("pairs", np.array([[1.0], [1.0], [2.0], [2.0]]), np.array([1.0, 1.0, 0.0, 0.0]))
    finding = module.ClosedCellsAreBounded.example().check(problem)
    assert finding.verdict == CONDITIONAL, "\n".join(map(str, finding.margins))
    assert finding.condition is not None
    assert finding.condition.here.met


def test_more_units_than_rows():
    """No row is spare: bounded although the features interpolate."""
    problem = drawn_problem("wide", rows=6, width=6, seed=3)
    finding = module.ClosedCellsAreBounded.example().check(problem)
    assert finding.verdict == CONDITIONAL, "\n".join(map(str, finding.margins))
    assert "no spare row" in finding.condition.here.name  # pyright: ignore[reportOptionalMemberAccess]


def test_zero_targets_are_not_bounded():
    claim = module.ClosedCellsAreBounded.example()
    problem = claim.problem()
    finding = claim.check(replace(problem, targets=np.zeros(problem.rows)))
    assert finding.verdict == FAILS
    assert not finding.condition.here.met  # pyright: ignore[reportOptionalMemberAccess]
