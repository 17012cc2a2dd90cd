"""Shares of the predictive variance: the exact identity at the posterior, limits, and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corners.comparison.attribution import attribution, belief_covariance, prior_weights
from corners.errors import DataError
from tests.support.last_layers import layer, posterior_layer, random_problem

FEATURES, TARGETS = random_problem(40, 5, 3)


@pytest.mark.parametrize(("precision", "noise_var"), [(0.1, 0.5), (3.0, 0.02), (200.0, 5.0)])
def test_at_the_posterior_the_split_is_the_sandwich_identity(precision, noise_var):
    """``Σ* = αΣ*Σ* + Σ*ΨᵀΨΣ*/σ²``: prior variance and training noise, both propagated through the ridge estimator."""
    fitted = posterior_layer(FEATURES, TARGETS, precision, noise_var)
    posterior = fitted.covariance
    from_prior = precision * posterior @ posterior
    from_noise = posterior @ FEATURES.T @ FEATURES @ posterior / noise_var
    total = noise_var + np.einsum("nh,hk,nk->n", FEATURES, posterior, FEATURES)
    shares = attribution(fitted)
    for share, part in ((shares.prior_share, from_prior), (shares.covariance_share, from_noise)):
        expected = (np.einsum("nh,hk,nk->n", FEATURES, part, FEATURES) / total).mean()
        np.testing.assert_allclose(share, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shares.noise_share, (noise_var / total).mean(), rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31), log_precision=st.floats(-6, 6), log_noise=st.floats(-6, 3))
def test_shares_lie_in_the_unit_interval_and_sum_to_one(seed, log_precision, log_noise):
    root = np.random.default_rng(seed).normal(size=(5, 5))
    shares = attribution(layer(FEATURES, TARGETS, np.zeros(5), root @ root.T, np.exp(log_precision), np.exp(log_noise)))
    values = [shares.noise_share, shares.covariance_share, shares.prior_share]
    assert min(values) >= -1e-12 and max(values) <= 1.0 + 1e-12
    np.testing.assert_allclose(sum(values), 1.0, rtol=1e-12)


def test_at_the_prior_all_belief_variance_is_the_priors():
    shares = attribution(layer(FEATURES, TARGETS, np.zeros(5), np.eye(5) / 4.0, 4.0, 0.3))
    assert shares.covariance_share == pytest.approx(0.0, abs=1e-12) and shares.prior_fraction == pytest.approx(0.5)


def test_a_point_belief_is_all_noise():
    shares = attribution(layer(FEATURES, TARGETS, np.zeros(5), np.zeros((5, 5)), 4.0, 0.3, family="none"))
    assert (shares.noise_share, shares.covariance_share, shares.prior_share) == (1.0, 0.0, 0.0)


def test_narrow_and_wide_covariances_are_the_fits_own():
    np.testing.assert_allclose(prior_weights(np.array([1e-9, 1.0, 1e9]), 1.0), [1e-9, 1.0, 1e-9], rtol=1e-12)


def test_rescaled_features_change_nothing():
    """``Ψ → cΨ``, ``Σ → Σ/c²``, ``α → c²α`` leaves every share as it is."""
    first = attribution(layer(FEATURES, TARGETS, np.zeros(5), np.diag([0.1, 0.2, 0.5, 1.0, 9.0]), 2.0, 0.3))
    second = attribution(layer(3 * FEATURES, TARGETS, np.zeros(5), np.diag([0.1, 0.2, 0.5, 1.0, 9.0]) / 9, 18.0, 0.3))
    np.testing.assert_allclose(second.prior_share, first.prior_share, rtol=1e-12)
    np.testing.assert_allclose(second.covariance_share, first.covariance_share, rtol=1e-12)


def test_the_test_part_and_original_units():
    rest = {"test_features": np.ones((3, 5)), "test_targets": np.zeros(3), "target_scale": 10.0}
    fitted = layer(FEATURES, TARGETS, np.zeros(5), np.eye(5), 2.0, 0.25, **rest)
    shares = attribution(fitted, "test")
    assert shares.points == 3 and shares.noise_scale == pytest.approx(5.0)
    assert shares.belief_scale == pytest.approx(10.0 * np.sqrt(5.0))
    assert [row["source"] for row in shares.records()] == ["noise", "covariance", "prior"]


def test_an_asymmetric_or_nan_covariance_is_refused():
    for bad in (np.array([[1.0, 0.1], [0.2, 1.0]]), np.array([[1.0, np.nan], [np.nan, 1.0]])):
        with pytest.raises(DataError, match="must be symmetric and finite"):
            belief_covariance(layer(np.ones((2, 2)), np.ones(2), np.zeros(2), bad, 1.0, 1.0))
