"""The contract of a method: statuses are sentences, traces of several programs become one."""

import numpy as np
import pytest

from corners.method import STATUS_SENTENCES, Fit, FitStatus, Method, Trace, merge_traces


@pytest.mark.parametrize("code", STATUS_SENTENCES)
def test_every_code_is_a_sentence(code):
    sentence = FitStatus(code, "step 3 of 9", ("noise collapsed: 1 %",)).sentence
    assert sentence == f"{STATUS_SENTENCES[code]} (step 3 of 9); noise collapsed: 1 %"
    assert FitStatus(code).sentence == STATUS_SENTENCES[code]
    assert FitStatus(code).usable == (code not in ("failed", "not_started"))


def test_only_convergence_is_called_so():
    assert [code for code, words in STATUS_SENTENCES.items() if "converged" in words] == ["converged"]


def test_an_unknown_code_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"must be one of converged, .*; got 'fine'"):
        FitStatus("fine")


def test_method_and_fit_are_abstract():
    for contract in (Method, Fit):
        with pytest.raises(TypeError, match="abstract"):
            contract()


def test_merged_traces_keep_their_places_and_pad_with_nan():
    short = Trace(np.array([0.0, 10.0]), {"objective": np.array([[1.0, 2.0]])})
    long = Trace(np.array([0.0, 10.0, 20.0]), {"objective": np.array([[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])})
    merged = merge_traces([short, long], [[1], [0, 2]], 3)
    np.testing.assert_array_equal(merged.steps, [0.0, 10.0, 20.0])
    np.testing.assert_array_equal(merged.values["objective"], [[3.0, 4.0, 5.0], [1.0, 2.0, np.nan], [6.0, 7.0, 8.0]])


def test_traces_on_different_steps_are_not_mistaken_for_each_other():
    """Mini-batches of two table sizes: one epoch is 3 steps there and 5 here, so columns are not the same steps."""
    threes = Trace(np.array([0.0, 3.0, 6.0]), {"objective": np.array([[1.0, 2.0, 3.0]])})
    fives = Trace(np.array([0.0, 5.0]), {"objective": np.array([[4.0, 5.0]])})
    merged = merge_traces([threes, fives], [[0], [1]], 2)
    for k, trace in enumerate((threes, fives)):
        for step, value in zip(trace.steps, trace.values["objective"][0], strict=True):
            (column,) = np.flatnonzero(merged.steps == step)
            assert merged.values["objective"][k, column] == value


def test_merging_empty_traces():
    merged = merge_traces([Trace(np.zeros(0)), Trace(np.zeros(0))], [[0], [1]], 2)
    assert merged.steps.size == 0 and merged.values == {}
