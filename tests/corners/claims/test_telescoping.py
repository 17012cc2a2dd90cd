"""Blocks that telescope: what turns the verdict, and golden block terms."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import telescoping as module
from corners.claims._base import FAILS, HOLDS
from corners.claims._problems import Problem
from corners.exact import sequential_predictives
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_noise_turns_the_verdict(monkeypatch):
    """Blocks predicted with a noise that is one in a thousand too large do not telescope to the evidence."""

    def broken(features, targets, prior_precision, noise_scale, **options):
        return sequential_predictives(features, targets, prior_precision, 1.001 * noise_scale, **options)

    monkeypatch.setattr(module, "sequential_predictives", broken)
    claim = module.Telescoping.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_end_turns_the_verdict(monkeypatch):
    """A posterior of another prior precision is not where the last block ends."""

    class Broken(module.Evidence):
        def posterior(self, prior_precision, noise_scale):
            return super().posterior(1.001 * prior_precision, noise_scale)

    monkeypatch.setattr(module, "Evidence", Broken)
    claim = module.Telescoping.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("sequential"))
def test_golden_block_terms_by_conditioning(case):
    given, expected = case["inputs"], case["expected"]
    problem = Problem(case["id"], as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    sizes = [len(rows) for rows in np.array_split(np.arange(problem.rows), range(3, problem.rows, 3))]
    terms, _ = module._conditioned(problem, np.arange(problem.rows), sizes)
    assert expected["block_size"] == 3
    assert_golden("sequential", terms, expected["block_terms"])


def test_more_features_than_rows():
    """The identity knows no shape."""
    claim = module.Telescoping.example()
    problem = claim.problem()
    assert claim.check(replace(problem, features=problem.features[:5], targets=problem.targets[:5])).verdict == HOLDS
