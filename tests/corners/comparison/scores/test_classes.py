"""Bins of probabilities and the codes of labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.comparison.scores._classes import (
    equal_mass_bins,
    equal_width_bins,
    gap_influence,
    label_codes,
    predicted_class,
)
from corners.errors import DataError
from corners.predictive.categorical import CategoricalPredictive


def test_every_edge_belongs_to_the_bin_below_it_and_zero_to_the_first():
    edges = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert equal_width_bins(edges, 10).tolist() == list(range(10))
    assert equal_width_bins(np.nextafter(edges[:-1], 1.0), 10).tolist() == list(range(1, 10))
    assert equal_width_bins(np.array([0.0, 1e-300, 1.0 + 1e-7]), 10).tolist() == [0, 0, 9]


@given(st.integers(1, 200), st.integers(1, 40))
def test_bins_of_equal_mass_differ_by_one_point_at_most(count, bins):
    values = np.random.default_rng(count).permutation(count) / count
    of_bin = equal_mass_bins(values, bins)
    sizes = np.bincount(of_bin, minlength=bins)
    assert sizes.max() - sizes.min() <= 1 and len(sizes) == bins
    assert (np.diff(of_bin[np.argsort(values)]) >= 0).all()


def test_gaps_average_to_the_weighted_sizes_of_the_bins_means():
    errors, bins = np.array([0.5, -0.25, -1.0, 0.5]), np.array([0, 0, 3, 3])
    assert gap_influence(errors, bins).mean() == 0.5 * abs(0.125) + 0.5 * abs(-0.25)


def test_labels_become_whole_numbers():
    codes = label_codes(CategoricalPredictive(np.full((2, 2), 0.5)), np.array([0.0, 1.0]))
    assert codes.tolist() == [0, 1] and codes.dtype == np.int64


@pytest.mark.parametrize(("targets", "words"), [([0.0, 2.0], "0 to 1"), ([0.0], r"shape \(2,\)")])
def test_labels_that_do_not_fit_are_refused(targets, words):
    with pytest.raises(DataError, match=words):
        label_codes(CategoricalPredictive(np.full((2, 2), 0.5)), np.array(targets))


def test_two_classes_are_cut_at_one_half():
    p = np.array([0.5, np.nextafter(0.5, 0.0), 0.9])
    assert predicted_class(CategoricalPredictive(np.column_stack([1.0 - p, p]))).tolist() == [1, 0, 1]
