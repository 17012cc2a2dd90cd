"""Jensen's inequality on plates: what turns the verdict, and the other integral against golden values."""

import pytest

from corners.claims import jensen_per_plate as module
from corners.claims._base import FAILS
from corners.exact import jensen_gap
from tests.support.golden import as_array, assert_golden, golden_cases

GOLDEN = {
    "probit_y1_m0.3_v0.5": "probit",
    "logistic_y1_m0.3_v0.5": "logistic",
    "poisson_y3_m1.0_v0.5": "poisson",
    "student_y5.0_m0.0_v0.1": "student_t",
    "negbin_y12_m1.0_v0.7": "negative_binomial",
}
OPTIONS = {"nu": "df", "s": "scale", "r": "size"}


def test_broken_bound_turns_the_verdict(monkeypatch):
    """An ELBO loss that is really the loss at the mean is no upper bound."""
    losses = module._losses

    def broken(head, options, targets, means, variances):
        found = losses(head, options, targets, means, variances)
        return module.Losses(found.bethe, losses(head, options, targets, means, 0.0 * variances).bethe)

    monkeypatch.setattr(module, "_losses", broken)
    claim = module.JensenPerPlate.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_gap_turns_the_verdict(monkeypatch):
    """A closed Gaussian gap without its residuals is not the difference of the two losses."""
    monkeypatch.setattr(module, "jensen_gap", lambda residuals, *given: jensen_gap(0.0 * residuals, *given))
    claim = module.JensenPerPlate.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", [case for case in golden_cases("head_terms") if case.id in GOLDEN])
def test_golden_plates_by_the_other_integral(case):
    head, given = GOLDEN[case["id"]], case["inputs"]
    options = {OPTIONS[name]: value for name, value in given["head_params"].items() if name in OPTIONS}
    label = 0.5 * (given["y"] + 1.0) if head in {"probit", "logistic"} else given["y"]
    plate = [as_array([value]) for value in (label, given["mean"], given["var"])]
    found = module._by_grid(head, options, *plate)
    assert_golden("head_terms", found.bethe, [case["expected"]["nlz"]])
    assert found.elbo >= found.bethe
