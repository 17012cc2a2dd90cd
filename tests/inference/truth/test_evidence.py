from math import lgamma

import numpy as np
import pytest

from inference.errors import SpecError
from inference.truth import bridge_evidence
from inference.truth.evidence import mean_error


def test_a_skewed_density(generator):
    """x = log g with g ~ Gamma(a): exp(a x - e^x) integrates to Gamma(a). No Gaussian matches it; the bridge does."""
    for a in (0.7, 2.5, 9.0):
        draws = np.log(generator.gamma(a, size=(4, 1000, 1)))
        found = bridge_evidence(draws, lambda x, a=a: a * x[:, 0] - np.exp(x[:, 0]), rng=generator)
        assert abs(found.log_evidence - lgamma(a)) <= 5.0 * found.se
        assert found.se < 0.03


def test_a_product_of_skewed_densities_at_an_offset(generator):
    """A normaliser of e^-5000 must not overflow, and dimensions add."""
    draws = np.log(generator.gamma(3.0, size=(4, 1000, 4)))
    found = bridge_evidence(draws, lambda x: (3.0 * x - np.exp(x)).sum(axis=1) - 5000.0, rng=generator)
    assert abs(found.log_evidence - (4.0 * lgamma(3.0) - 5000.0)) <= 5.0 * found.se


def test_the_standard_error_is_honest(generator):
    """Over repetitions the errors are about as large as they claim: their mean square ratio is near one."""
    ratios = []
    for _ in range(60):
        draws = np.log(generator.gamma(2.0, size=(4, 250, 1)))
        found = bridge_evidence(draws, lambda x: 2.0 * x[:, 0] - np.exp(x[:, 0]), rng=generator)
        ratios.append((found.log_evidence / found.se) ** 2)
    assert 0.1 < np.mean(ratios) < 2.0  # conservative: the average of two halves is given the error of one


def test_correlated_draws_have_a_larger_error(generator):
    """AR(1) with coefficient r: the variance of the mean grows by (1 + r) / (1 - r)."""
    noise = generator.normal(size=(4, 5000))
    chain = np.zeros_like(noise)
    for t in range(1, 5000):
        chain[:, t] = 0.8 * chain[:, t - 1] + noise[:, t]
    expected = chain.std() * np.sqrt((1.8 / 0.2) / chain.size)
    assert 0.75 < mean_error(chain) / expected < 1.25


def test_too_few_draws_are_refused(generator):
    with pytest.raises(SpecError, match="10 coordinates needs at least 100 draws but got 80; sample more"):
        bridge_evidence(generator.normal(size=(4, 20, 10)), lambda x: -0.5 * (x**2).sum(axis=1), rng=generator)


def test_draws_that_do_not_move_are_refused(generator):
    with pytest.raises(SpecError, match="span no volume"):
        bridge_evidence(np.zeros((4, 50, 2)), lambda x: -0.5 * (x**2).sum(axis=1), rng=generator)
