"""MAP and Bethe at the free optimum: what turns the verdict, and an optimum that is a point."""

from dataclasses import replace

import numpy as np

from corners.claims import map_below_bethe_at_free_optimum as module
from corners.claims._base import FAILS
from corners.claims._problems import drawn_problem
from corners.exact import find_free_optimum
from corners.exact.covariance import MatrixCovariance


def test_broken_search_turns_the_verdict(monkeypatch):
    """A covariance a hundred times the prior's in place of the optimum puts Bethe above MAP."""

    def broken(features, targets, generator, **given):
        best = find_free_optimum(features, targets, generator, **given)
        return replace(best, covariance=MatrixCovariance(100.0 * np.eye(features.shape[1])))

    monkeypatch.setattr(module, "find_free_optimum", broken)
    claim = module.MapBelowBetheAtFreeOptimum.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_an_optimum_that_is_a_point_is_no_exception():
    """Both are equal there: MAP is not below Bethe."""
    problem = drawn_problem("20 rows, 2 features", rows=20, width=2, seed=1)
    finding = module.MapBelowBetheAtFreeOptimum.example().check(problem)
    assert finding.verdict == FAILS
    assert "0 of 2 variances" in finding.sentence
