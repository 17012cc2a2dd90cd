"""The joint Gaussian predictive of several outputs against scipy's multivariate normal distribution."""

import pickle

import numpy as np
import pytest
from scipy import stats

from corners.comparison.scores._base import evaluate
from corners.errors import DataError, SpecError
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.multi_output_gaussian import MultiOutputGaussianPredictive, require_joint_moments

GENERATOR = np.random.default_rng(3)
ROOTS = GENERATOR.normal(size=(4, 3, 3))
COVARIANCES = ROOTS @ ROOTS.transpose(0, 2, 1) + 0.1 * np.eye(3)
MEANS, TARGETS = GENERATOR.normal(size=(2, 4, 3))


@pytest.fixture
def joint() -> MultiOutputGaussianPredictive:
    return MultiOutputGaussianPredictive(MEANS, COVARIANCES)


def test_log_prob_is_scipys(joint):
    expected = [stats.multivariate_normal.logpdf(y, m, v) for y, m, v in zip(TARGETS, MEANS, COVARIANCES, strict=True)]
    np.testing.assert_allclose(joint.log_prob(TARGETS), expected, rtol=1e-12)


def test_marginals_are_those_of_the_joint(joint):
    assert joint.outputs == 3
    for p in range(3):
        own = joint.output(p)
        assert isinstance(own, GaussianPredictive)
        expected = stats.norm.cdf(TARGETS[:, p], MEANS[:, p], np.sqrt(COVARIANCES[:, p, p]))
        np.testing.assert_allclose(own.cdf(TARGETS[:, p]), expected, rtol=1e-12)
        np.testing.assert_array_equal(joint.variance[:, p], own.variance)
        np.testing.assert_array_equal(joint.mean[:, p], own.mean)


def test_variances_alone_are_independent_outputs():
    variances = COVARIANCES[:, [0, 1, 2], [0, 1, 2]]
    apart = MultiOutputGaussianPredictive(MEANS, variances)
    expected = sum(apart.output(p).log_prob(TARGETS[:, p]) for p in range(3))
    np.testing.assert_allclose(apart.log_prob(TARGETS), expected, rtol=1e-12)
    assert apart.covariance.shape == (4, 3, 3)


def test_samples_have_the_covariance(joint):
    draws = joint.sample(20_000, np.random.default_rng(1))
    assert draws.shape == (20_000, 4, 3)
    for n in range(4):
        whitened = np.linalg.solve(np.linalg.cholesky(COVARIANCES[n]), (draws[:, n] - MEANS[n]).T)
        assert np.abs(whitened.mean(axis=1)).max() < 4.5 / np.sqrt(20_000)
        assert np.abs(np.cov(whitened) - np.eye(3)).max() < 4.5 * np.sqrt(2.0 / 20_000)


def test_standardised_residuals_are_whitened(joint):
    whitened = joint.standardised(TARGETS)
    for n in range(4):
        residual = TARGETS[n] - MEANS[n]
        np.testing.assert_allclose((whitened[n] ** 2).sum(), residual @ np.linalg.solve(COVARIANCES[n], residual))


def test_other_units_move_the_density_by_their_jacobian(joint):
    mean, scale = np.array([3.0, -1.0, 0.0]), np.array([10.0, 0.5, 2.0])
    moved = joint.in_units(mean, scale)
    np.testing.assert_allclose(moved.log_prob(mean + scale * TARGETS), joint.log_prob(TARGETS) - np.log(scale).sum())
    np.testing.assert_allclose(
        joint.in_units(1.0, 2.0).log_prob(1.0 + 2.0 * TARGETS), joint.log_prob(TARGETS) - 3 * np.log(2)
    )


def test_every_output_takes_the_scores_of_one(joint):
    rmse = evaluate(joint.output(1), TARGETS[:, 1], ["rmse"])["rmse"].mean
    assert rmse == pytest.approx(np.sqrt(np.mean((TARGETS - MEANS)[:, 1] ** 2)))


def test_what_is_of_one_output_is_asked_of_the_marginals(joint):
    for name in ("cdf", "quantile", "crps"):
        with pytest.raises(
            AttributeError, match=rf"{name} is defined for one output: ask predictive.output\(p\).{name}"
        ):
            getattr(joint, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        joint.nonsense  # noqa: B018
    with pytest.raises(SpecError, match="counted from 0 to 2; got 3"):
        joint.output(3)


@pytest.mark.parametrize(
    ("means", "covariances", "message"),
    [
        (np.where(np.arange(4)[:, None] == 2, np.nan, MEANS), COVARIANCES, "1 of 4 are not .first at point 2"),
        (MEANS, COVARIANCES - 50.0 * np.eye(3), "positive definite; 4 of 4 are not .first at point 0"),
        (MEANS, COVARIANCES + np.triu(np.ones((3, 3)), 1), "symmetric"),
        (MEANS, np.zeros((4, 3)), "the fit diverged or its noise underflowed"),
    ],
)
def test_what_is_no_distribution_is_refused(means, covariances, message):
    with pytest.raises(DataError, match=message):
        MultiOutputGaussianPredictive(means, covariances)


@pytest.mark.parametrize(
    ("means", "covariances", "shapes"),
    [
        (MEANS, COVARIANCES[:, :2, :2], r"\(4, 3\) and \(4, 2, 2\)"),
        (MEANS[:, 0], COVARIANCES, r"\(4,\) and \(4, 3, 3\)"),
        (MEANS[:0], COVARIANCES[:0], r"\(0, 3\) and \(0, 3, 3\)"),
    ],
)
def test_moments_of_shapes_that_do_not_fit_are_refused(means, covariances, shapes):
    with pytest.raises(DataError, match=f"with at least one entry, and covariances .* got {shapes}"):
        require_joint_moments(means, covariances)


@pytest.mark.parametrize("shape", [(4, 2), (3, 4), (1, 3)])
def test_targets_of_another_shape_are_refused(joint, shape):
    with pytest.raises(DataError, match=r"targets must have shape \(4, 3\), a row a data point; got"):
        joint.log_prob(np.zeros(shape))


def test_it_can_be_pickled(joint):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(joint)).log_prob(TARGETS), joint.log_prob(TARGETS))
