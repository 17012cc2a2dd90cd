"""The evidence as a sum of sequential predictives: what turns the verdict."""

from dataclasses import replace

import pytest

from corners.claims import evidence_is_sequential as module
from corners.claims._base import FAILS
from corners.exact import sequential_predictives


def test_broken_update_turns_the_verdict(monkeypatch):
    """Predicting every point from a noise that is one in a thousand too large is no longer the evidence."""

    def broken(features, targets, prior_precision, noise_scale, **options):
        return sequential_predictives(features, targets, prior_precision, 1.001 * noise_scale, **options)

    monkeypatch.setattr(module, "sequential_predictives", broken)
    claim = module.EvidenceIsSequential.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_order_turns_the_verdict(monkeypatch):
    """One order five times shows nothing, and the claim says so."""

    def broken(features, targets, prior_precision, noise_scale, *, order):
        return sequential_predictives(features, targets, prior_precision, noise_scale, order=sorted(order))

    monkeypatch.setattr(module, "sequential_predictives", broken)
    claim = module.EvidenceIsSequential.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("rows", [1, 5])
def test_more_features_than_rows(rows):
    """The identity knows no shape; of one row there is one order."""
    claim = module.EvidenceIsSequential.example()
    problem = claim.problem()
    wide = replace(problem, features=problem.features[:rows], targets=problem.targets[:rows])
    assert claim.check(wide).verdict == claim.expected
