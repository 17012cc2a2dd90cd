"""The spread of class precisions: its likelihood ratio from the definition, its level by simulation, its power."""

import numpy as np
import pytest
from scipy import stats

from corners.comparison.failure_modes import raised
from corners.comparison.precision_spread import precision_spread
from corners.errors import DataError


def test_it_is_twice_the_log_likelihood_ratio():
    """Gaussian log densities at the two maxima, written out."""
    means = np.random.default_rng(0).normal(size=(4, 7)) * np.array([[1.0], [2.0], [0.5], [1.5]])

    def log_likelihood(variances):
        return stats.norm.logpdf(means, scale=np.sqrt(variances)[:, None]).sum()

    own, one = (means**2).mean(axis=1), np.full(4, (means**2).mean())
    found = precision_spread(means)
    assert found.statistic == pytest.approx(2.0 * (log_likelihood(own) - log_likelihood(one)), rel=1e-12)
    assert found.p == pytest.approx(stats.chi2(3).sf(found.statistic), rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_equal_precisions_are_called_different_as_often_as_the_level_says(classes):
    generator = np.random.default_rng(classes)
    levels = [precision_spread(generator.normal(size=(classes, 50))).p for _ in range(2000)]
    # 4.5 binomial standard errors, and half a per cent for the law being one of many weights.
    assert abs(np.mean(np.array(levels) < 0.05) - 0.05) < 4.5 * np.sqrt(0.05 * 0.95 / 2000) + 0.005


def test_precisions_ten_times_apart_are_called_different():
    generator = np.random.default_rng(1)
    scales = np.sqrt(np.array([[1.0], [10.0], [1.0]]))
    assert all(precision_spread(scales * generator.normal(size=(3, 50))).p < 1e-6 for _ in range(50))


@pytest.mark.parametrize("means", [np.ones((1, 3)), np.ones((2, 0)), [[0.0, 0.0], [1.0, 1.0]]])
def test_what_has_no_spread_is_refused(means):
    with pytest.raises(DataError):
        precision_spread(np.asarray(means, float))


def test_noise_in_the_precisions_is_a_failure_mode():
    assert "one-versus-all precisions" in raised({"precision_spread_p": 0.4})
    assert raised({"precision_spread_p": 0.01}) == {} and raised({"precision_spread_p": float("nan")}) == {}
