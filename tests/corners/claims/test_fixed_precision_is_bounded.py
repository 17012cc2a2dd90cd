"""Free cells at a fixed prior precision: what turns the verdict, and the golden rate."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import fixed_precision_is_bounded as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from corners.exact import LowRankCovariance
from tests.support.golden import golden_cases


def test_broken_by_a_jitter_that_nobody_asked_for(monkeypatch):
    """A jitter gives the interpolated rows a variance, and the dense cell a floor."""

    def broken(diagonal, factor):
        return LowRankCovariance(diagonal, factor, jitter=1e-4)

    monkeypatch.setattr(module, "LowRankCovariance", broken)
    claim = module.FixedPrecisionIsBounded.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", golden_cases("unbounded", "full_sigma2"))
def test_dense_cell_falls_at_the_golden_rate(case):
    given = case["inputs"]
    problem = Problem("golden", np.array(given["Psi"]), np.array(given["y"]), given["alpha"])
    rows = np.arange(given["exact_plates"])
    low, high = (module._one_direction(problem, rows, noise_var)[0] for noise_var in (1e-12, 1e-8))
    np.testing.assert_allclose((high - low) / np.log(1e4), case["expected"]["slope_per_log_sigma2"], atol=1e-3)


def test_more_units_than_rows():
    """Every row can be interpolated: all three families fall with half a nat a row."""
    claim = module.FixedPrecisionIsBounded.example()
    problem = claim.problem()
    wide = replace(problem, features=problem.features[:3], targets=problem.targets[:3])
    finding = claim.check(wide)
    assert finding.verdict == claim.expected
    assert "3 rows" in finding.sentence
