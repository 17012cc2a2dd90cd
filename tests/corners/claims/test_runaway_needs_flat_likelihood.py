"""Runaway of the prior precision: what turns the verdict, and what a flat likelihood looks like."""

import math
from dataclasses import replace

import numpy as np
import pytest

from corners.claims import runaway_needs_flat_likelihood as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from corners.exact import shared_closed_terms
from tests.support.golden import golden_cases


def test_broken_normaliser_turns_the_verdict(monkeypatch):
    """Ridge regression, the prior without its ``-½H log α``, has a minimum: nothing runs away."""

    def broken(features, targets, prior_precision, noise_scale, **options):
        cell = shared_closed_terms(features, targets, prior_precision, noise_scale, **options)
        return replace(cell, prior_term=cell.prior_term + 0.5 * features.shape[1] * math.log(prior_precision))

    monkeypatch.setattr(module, "shared_closed_terms", broken)
    claim = module.RunawayNeedsFlatLikelihood.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", golden_cases("eb_fixed_point", "eb_runaway"))
def test_flat_likelihood_is_said_to_be_flat(case):
    scale = case["expected"]["null_sigma2"] ** 0.5
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]), 1.0, scale)
    finding = module.RunawayNeedsFlatLikelihood.example().check(problem)
    assert finding.verdict == HOLDS
    assert "flat here" in finding.sentence
