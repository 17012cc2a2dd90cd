"""Oracle gap of theory 11."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corners.comparison.oracle import oracle_gap
from corners.errors import DataError
from corners.method import Trace
from tests.support.golden import as_array, assert_golden, golden_cases


def trace(validation, test, steps=None) -> Trace:
    validation, test = np.atleast_2d(validation), np.atleast_2d(test)
    steps = np.arange(validation.shape[1], dtype=float) if steps is None else steps
    return Trace(steps, {"validation_nll": validation, "test_nll": test})


@pytest.mark.parametrize("case", golden_cases("metrics", "oracle"))
def test_golden(case):
    found = oracle_gap(trace(as_array(case["inputs"]["val_nll"]), as_array(case["inputs"]["test_nll"])))
    for actual, key in (
        (found.selected_step, "selected_step"),
        (found.selected_test_nll, "test_at_selected"),
        (found.oracle_test_nll, "oracle_test"),
        (found.gap, "oracle_gap"),
    ):
        assert_golden("metrics", actual, case["expected"][key], label=key)
    assert found.large and "combined stopping" in found.sentence


@given(arrays(np.float64, (2, 7), elements=st.floats(-5, 5)))
def test_the_gap_is_never_negative_and_stopped_steps_do_not_count(values):
    whole = oracle_gap(trace(*values))
    assert whole.gap >= 0.0
    padded = np.concatenate([values, np.full((2, 3), np.nan)], axis=1)
    assert oracle_gap(trace(*padded)) == whole


def test_first_of_equal_minima_and_real_step_numbers():
    found = oracle_gap(trace([1.0, 0.5, 0.5], [3.0, 2.0, 1.0], steps=np.array([0.0, 25.0, 50.0])))
    assert (found.selected_step, found.oracle_step) == (25.0, 50.0)


def test_the_replicate_asked_for_is_read():
    both = trace([[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [5.0, 7.0]])
    assert oracle_gap(both, 0).gap == 0.0 and oracle_gap(both, 1).gap == 2.0


def test_what_is_missing_is_named():
    with pytest.raises(DataError, match=r"no test_nll; it recorded \['validation_nll'\]"):
        oracle_gap(Trace(np.zeros(1), {"validation_nll": np.zeros((1, 1))}))
    with pytest.raises(DataError, match="never recorded a finite"):
        oracle_gap(trace([np.nan, 1.0], [1.0, np.nan]))
