"""What a report says of rows that pass, fail, or are not there."""

import numpy as np
import pytest

from inference.checking.report import CheckReport, CheckRow, Judge
from inference.errors import SpecError
from inference.nodes.normal import Normal


def judged(by_rule, wanted, coarse=None, tolerance=1e-6):
    judge = Judge(tolerance)
    judge.compare(
        "rule", "toward x", "y known", by_rule, lambda c: np.asarray(wanted if not c or coarse is None else coarse)
    )
    return judge.report("mine")


def test_the_worst_number_is_kept_relative_to_one_plus_their_size():
    report = judged(lambda: np.array([1.0, 7.0]), [1.0, 9.0])
    (row,) = report.rows
    assert (row.by_rule, row.by_quadrature, row.error, row.passed) == (7.0, 9.0, 0.2, False)


def test_nan_is_a_failure():
    (row,) = judged(lambda: np.array([np.nan, 1.0]), [0.0, 1.0]).rows
    assert not row.passed and row.error == np.inf


def test_what_raises_fails_and_says_what_it_raised():
    (row,) = judged(lambda: next(iter([])), [0.0]).failures
    assert row.note == "raised StopIteration: "


def test_a_shape_that_is_not_due_fails():
    (row,) = judged(lambda: np.zeros(3), [0.0]).failures
    assert row.note == "has shape (3,) where (1,) is due"


def test_no_rule_is_no_failure_and_is_listed_once():
    def refuses():
        raise Normal().no_rule("x", "nothing")

    judge = Judge(1e-6)
    for _ in range(2):
        judge.compare("forward", "toward x", "nothing", refuses, lambda _: np.zeros(1))
    assert judge.report("mine").absent == ("forward toward x",) and not judge.rows


def test_a_quadrature_that_is_not_sharp_is_said():
    (row,) = judged(lambda: np.array([1.0]), [1.1], coarse=[1.3]).failures
    assert "cannot be judged" in row.note and "rule 1, quadrature 1.1" in row.note
    (row,) = judged(lambda: np.array([1.0]), [1.1], coarse=[1.1]).failures
    assert not row.note


def test_the_table_has_a_line_a_rule_and_counts():
    rows = (
        CheckRow("message", "toward x", "a", 1e-9, True),
        CheckRow("message", "toward x", "b", 0.5, False, 1.0, 2.0),
    )
    text = str(CheckReport("mine", rows, ("sample",))).splitlines()
    assert text[0] == "mine: 1 of 2 checks FAILED"
    assert text[2].split() == ["message", "toward", "x", "2", "5.0e-01", "FAILED"]
    assert text[3].strip() == "message toward x given b: 1 by the rule, 2 by quadrature"
    assert text[-1].strip() == "no rule: sample"


def test_a_long_list_of_failures_is_cut():
    rows = tuple(CheckRow("message", f"toward x{k}", "a", 1.0, False) for k in range(20))
    assert "and 8 more in report.failures" in str(CheckReport("mine", rows))


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0])
def test_tolerances_that_are_none(tolerance):
    with pytest.raises(SpecError, match="between 0 and 1"):
        Judge(tolerance)
