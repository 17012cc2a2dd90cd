"""Bayesian linear regression: the evidence by the dense density is maximal, the predictive is the posterior's."""

import numpy as np
import pytest
from scipy import optimize, stats

from corners.backbones.mlp import MLP
from corners.baselines.ridge_cv import RidgeCv
from corners.baselines.ridge_eb import RidgeEb
from corners.data.split import Part, Split
from corners.protocols import Protocol
from tests.support.problems import tiny_split

SPLITS, SEEDS = [tiny_split(1, rows=(20, 6, 5)), tiny_split(2, rows=(30, 8, 5), columns=3)], [5, 6]


def problem(split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Standardised training and test inputs, centred targets and their mean."""
    centre, spread = split.train.inputs.mean(0), split.train.inputs.std(0)
    x, new = ((part.inputs - centre) / spread for part in (split.train, split.test))
    return x, new, split.train.targets - split.train.targets.mean(), float(split.train.targets.mean())


@pytest.mark.parametrize("k", [0, 1])
def test_the_evidence_is_maximal_by_the_dense_density(k):
    """No pair that a derivative-free search on ``log N(y; 0, σ²I + XXᵀ/α)`` finds from four starts is higher."""
    fit = RidgeEb(scale_targets=False).fit(SPLITS, SEEDS)
    x, _, y, _ = problem(SPLITS[k])

    def total(logs: np.ndarray) -> float:
        cov = np.exp(logs[1]) * np.eye(len(y)) + x @ x.T / np.exp(logs[0])
        return -float(stats.multivariate_normal.logpdf(y, cov=cov))

    learned = fit.learned(k)
    own = np.log([learned["prior_precision"], learned["noise_scale"] ** 2])
    starts = [(0.0, 0.0), (-4.0, 3.0), (3.0, 1.0), (-2.0, -2.0)]
    found = min((optimize.minimize(total, start, method="Nelder-Mead") for start in starts), key=lambda each: each.fun)
    assert total(own) <= found.fun + 1e-9
    np.testing.assert_allclose(own, found.x, atol=1e-3)


@pytest.mark.parametrize("scale_targets", [True, False])
def test_the_predictive_is_the_posteriors(scale_targets):
    fit = RidgeEb(scale_targets=scale_targets).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        x, new, y, centre = problem(split)
        learned, unit = fit.learned(k), split.train.targets.std() if scale_targets else 1.0
        precision, noise_var = learned["prior_precision"] / unit**2, learned["noise_scale"] ** 2
        covariance = np.linalg.inv(x.T @ x / noise_var + precision * np.eye(x.shape[1]))
        predictive = fit.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(predictive.mean, centre + new @ covariance @ x.T @ y / noise_var, rtol=1e-9)
        spread = np.einsum("nd,de,ne->n", new, covariance, new)
        np.testing.assert_allclose(predictive.variance, noise_var + spread, rtol=1e-9)
        trace = x.shape[1] - precision * np.trace(covariance)
        assert learned["effective_dimension"] == pytest.approx(trace, rel=1e-9)
        words = "converged (the hyperparameters are a stationary point of the evidence)"
        assert fit.statuses[k].sentence == words


def test_its_mean_is_ridge_at_what_it_calls_penalty():
    fit = RidgeEb().fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        ridge = RidgeCv(penalty_grid=(fit.learned(k)["penalty"],)).fit([split], [5])
        found, expected = fit.predict(split.test.inputs, replicate=k), ridge.predict(split.test.inputs)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10)


def test_the_units_of_the_targets_decide_nothing():
    one, other = (RidgeEb(scale_targets=each).fit(SPLITS, SEEDS) for each in (True, False))
    for k, split in enumerate(SPLITS):
        found, expected = (fit.predict(split.test.inputs, replicate=k) for fit in (one, other))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-7)


def test_inputs_that_say_nothing_leave_the_noise_alone():
    """Targets orthogonal to the inputs: the null model, said, without a prior precision to report."""
    part = Part([[-1.0], [1.0], [-1.0], [1.0]], [1.0, 1.0, 3.0, 3.0])
    fit = RidgeEb().fit([Split(part, part, part, "null")], [5])
    assert "null model" in fit.statuses[0].sentence and fit.statuses[0].code == "converged"
    assert set(fit.learned(0)) == {"noise_scale", "effective_dimension"}
    predictive = fit.predict(part.inputs)
    np.testing.assert_allclose(predictive.mean, 2.0)
    np.testing.assert_allclose(predictive.variance, 1.0)


def test_validation_plays_no_part():
    split = SPLITS[0]
    other = Split(split.train, tiny_split(9).validation, split.test, "other")
    one, two = (RidgeEb().fit([each], [5]).predict(split.test.inputs) for each in (split, other))
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.variance, two.variance)


def test_the_protocol_says_how_targets_are_scaled_and_no_more():
    assert RidgeEb.from_protocol(Protocol("mine", scale_targets=False), MLP(3)) == RidgeEb(scale_targets=False)
