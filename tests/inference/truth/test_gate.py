import numpy as np
import pytest

from inference.errors import TruthError
from inference.truth.gate import Diagnostics, judge


def diagnostics(**changes):
    fine = {
        "names": ("weights[0]", "weights[1]"),
        "ess_bulk": np.array([900.0, 800.0]),
        "ess_tail": np.array([700.0, 600.0]),
        "ess_mean": np.array([900.0, 800.0]),
        "ess_sd": np.array([900.0, 800.0]),
        "rhat": np.array([1.001, 1.009]),
        "bfmi": np.array([0.9, 0.31]),
        "divergences": np.array([0, 0]),
    }
    return Diagnostics(**(fine | changes))


def test_a_run_inside_every_bound_passes():
    report = judge(diagnostics(), draws=4000, hyperpriors=False)
    assert report.passed and not report.failures
    report.require()
    assert str(report).count("ok") == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rhat": np.array([1.001, 1.0101])},
            r"R-hat of weights\[1\] is 1.01, required < 1.01: FAILED; the chains disag",
        ),
        ({"ess_bulk": np.array([400.0, 800.0])}, r"bulk ESS of weights\[0\] is 400, required > 400: FAILED; run more"),
        ({"ess_tail": np.array([700.0, 12.0])}, r"tail ESS of weights\[1\] is 12, required > 400: FAILED; run more"),
        (
            {"divergences": np.array([0, 1])},
            "divergent fraction of all draws is 0.00025, required <= 0: FAILED; the step",
        ),
        ({"bfmi": np.array([0.3, 0.9])}, "E-BFMI of chain 0 is 0.3, required > 0.3: FAILED; the energy"),
        ({"rhat": np.array([np.nan, 1.5])}, r"R-hat of weights\[0\] is nan, required < 1.01"),
        ({"bfmi": np.array([0.9, np.inf])}, "E-BFMI of chain 1 is inf, required > 0.3: FAILED"),
        ({"ess_tail": np.array([1.0, np.nan])}, r"tail ESS of weights\[1\] is nan"),
    ],
)
def test_each_bound_and_its_sentence(changes, message):
    report = judge(diagnostics(**changes), draws=4000, hyperpriors=False)
    assert not report.passed and len(report.failures) == 1
    with pytest.raises(TruthError, match="may not be used as ground truth: " + message):
        report.require()


def test_hyperpriors_allow_one_divergence_in_a_thousand():
    one, five = (diagnostics(divergences=np.array([0, count])) for count in (4, 5))
    assert judge(one, draws=4000, hyperpriors=True).passed
    assert not judge(five, draws=4000, hyperpriors=True).passed
    assert not judge(one, draws=4000, hyperpriors=False).passed


def test_every_failure_is_named():
    broken = diagnostics(rhat=np.array([2.0, 1.0]), bfmi=np.array([0.1, 0.9]))
    with pytest.raises(TruthError, match=r"R-hat.*; E-BFMI"):
        judge(broken, draws=4000, hyperpriors=False).require()


def test_rows_for_json_hold_no_value_that_json_lacks():
    rows = judge(diagnostics(rhat=np.array([np.nan, 1.0])), draws=10, hyperpriors=False).as_dicts()
    assert rows[0]["value"] == "nan" and rows[0]["passed"] is False and rows[1]["value"] == 800.0
