"""Area under the ROC curve (theory 9)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corners.comparison.ood import separation
from corners.errors import DataError
from tests.support.golden import as_array, assert_golden, golden_cases

SIDE = arrays(np.float64, st.integers(1, 12), elements=st.integers(-4, 4).map(float))


@pytest.mark.parametrize("case", golden_cases("metrics", "ood_auroc"))
def test_golden_with_ties(case):
    found = separation(as_array(case["inputs"]["score_in"]), as_array(case["inputs"]["score_out"]))
    assert_golden("metrics", found.auroc, case["expected"]["auroc"])


@pytest.mark.parametrize("case", golden_cases("ood"))
@pytest.mark.parametrize("routing", ["closed", "free"])
def test_golden_scores_of_both_routings(case, routing):
    inside, outside = (as_array(case["expected"][f"score_{routing}_{side}"]) for side in ("in", "out"))
    assert_golden("ood", separation(inside, outside).auroc, case["expected"][f"auroc_{routing}"])


@given(SIDE, SIDE)
def test_it_is_the_fraction_of_pairs_won(inside, outside):
    won = (outside[:, None] > inside).mean() + 0.5 * (outside[:, None] == inside).mean()
    np.testing.assert_allclose(separation(inside, outside).auroc, won, atol=1e-12)
    np.testing.assert_allclose(separation(outside, inside).auroc, 1.0 - won, atol=1e-12)
    np.testing.assert_allclose(separation(inside, outside).se, separation(outside, inside).se, atol=1e-12)


def test_standard_error_against_repeated_draws():
    generator = np.random.default_rng(3)
    found = [separation(generator.normal(size=60), generator.normal(0.8, 1.5, size=90)) for _ in range(600)]
    spread = np.std([f.auroc for f in found], ddof=1)
    np.testing.assert_allclose(np.sqrt(np.mean([f.se**2 for f in found])), spread, rtol=5.0 / np.sqrt(2 * 600))


def test_an_empty_or_infinite_side_is_refused():
    with pytest.raises(DataError, match="at least one value"):
        separation(np.zeros(0), np.zeros(2))
    with pytest.raises(DataError, match="outside holds nan"):
        separation(np.zeros(2), np.array([np.nan]))
