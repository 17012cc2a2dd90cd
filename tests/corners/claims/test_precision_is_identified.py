"""Information on the prior precision: what turns the verdict, and golden shares."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import precision_is_identified as module
from corners.claims._base import HOLDS
from corners.exact import gradient_from_plates
from tests.support.golden import assert_golden, golden_cases

CASES = [case for case in golden_cases("identifiability") if "info_alpha" in case.values[0]["expected"]]


def test_broken_gradient_turns_the_verdict(monkeypatch):
    """The gradient without its one half is no score of the density."""

    def broken(*arguments):
        found = gradient_from_plates(*arguments)
        return replace(found, log_prior_precision=2.0 * found.log_prior_precision)

    monkeypatch.setattr(module, "gradient_from_plates", broken)
    claim = module.PrecisionIsIdentified.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", CASES)
def test_share_is_the_golden_one(case):
    found = module._share(np.array(case["inputs"]["s"]), case["inputs"]["alpha"])
    assert_golden("identifiability", found, case["expected"]["info_alpha"])
