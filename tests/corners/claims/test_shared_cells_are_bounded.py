"""Unbounded shared cells: what turns the verdict, and the golden witness of the closed one."""

import numpy as np
import pytest

from corners.claims import shared_cells_are_bounded as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from corners.exact import LowRankCovariance
from tests.support.golden import assert_golden, golden_cases


def test_broken_by_a_jitter_that_nobody_asked_for(monkeypatch):
    """A jitter in the dense family stops its fall: that cell is then bounded."""

    def broken(diagonal, factor):
        return LowRankCovariance(diagonal, factor, jitter=1e-4)

    monkeypatch.setattr(module, "LowRankCovariance", broken)
    claim = module.SharedCellsAreBounded.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", golden_cases("unbounded", "shared_closed"))
def test_closed_cell_has_the_golden_values(case):
    given = case["inputs"]
    problem = Problem("golden", np.array(given["Psi"]), np.array(given["y"]), 1.0, given["sigma2"] ** 0.5)
    for value in (module._value, module._dense_value):
        found = [value(problem, "shared closed", alpha) for alpha in given["alpha_grid"]]
        assert_golden("unbounded", found, case["expected"]["objective"])


def test_one_unit_has_no_direction_to_spare():
    """With one weight the dense witness is left out, and the claim still fails."""
    claim = module.SharedCellsAreBounded.example()
    problem = claim.problem()
    finding = claim.check(Problem("one unit", problem.features[:, :1], problem.targets))
    assert finding.verdict == claim.expected
    assert "μμᵀ" not in finding.sentence
