"""Ridge: the normal equations, the noise of its residuals, the penalty that validation chooses; all by numpy."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from corners.backbones.mlp import MLP
from corners.baselines.ridge_cv import GRID, RidgeCv
from corners.data.split import Part, Split
from corners.errors import SpecError
from corners.protocols import Protocol
from tests.support.problems import tiny_split

SPLITS, SEEDS = [tiny_split(1), tiny_split(2, rows=(30, 8, 5), columns=3)], [5, 6]


def by_hand(split: Split, penalty: float, part: Part) -> tuple[np.ndarray, float, float]:
    """Means at a part, noise variance and mean NLL there, from ``(XᵀX + λI)⁻¹Xᵀy`` in original units of the target."""
    centre, spread = split.train.inputs.mean(0), split.train.inputs.std(0)
    x, y = (split.train.inputs - centre) / spread, split.train.targets - split.train.targets.mean()
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
    noise_var = float(np.mean((y - x @ weights) ** 2))
    means = split.train.targets.mean() + (part.inputs - centre) / spread @ weights
    return means, noise_var, float(-stats.norm.logpdf(part.targets, means, noise_var**0.5).mean())


@pytest.mark.parametrize("scale_targets", [True, False])
def test_a_fixed_penalty_is_ridge_regression_with_the_noise_of_its_residuals(scale_targets):
    """Whatever the targets are divided by: the penalty is beside squares, which all scale alike."""
    fit = RidgeCv(penalty_grid=(1.0,), scale_targets=scale_targets).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        means, noise_var, _ = by_hand(split, 1.0, split.test)
        predictive = fit.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(predictive.mean, means, rtol=1e-10)
        np.testing.assert_allclose(predictive.variance, noise_var, rtol=1e-10)
        assert fit.learned(k)["noise_scale"] == pytest.approx(noise_var**0.5, rel=1e-10)
        assert fit.statuses[k].sentence == "exact: no training was needed"


def test_the_penalty_is_scikit_learns_alpha():
    fit = RidgeCv(penalty_grid=(7.0,)).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        x, new = (fit.features(part.inputs, replicate=k) for part in (split.train, split.test))
        expected = Ridge(alpha=7.0).fit(x, split.train.targets).predict(new)
        np.testing.assert_allclose(fit.predict(split.test.inputs, replicate=k).mean, expected, rtol=1e-10)


@pytest.mark.parametrize("scale_targets", [True, False])
def test_penalty_is_prior_precision_times_noise_variance(scale_targets):
    """In the units trained in; the same point is the posterior mean under ``N(0, I/α)``."""
    fit = RidgeCv(penalty_grid=(2.0,), scale_targets=scale_targets).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        learned, unit = fit.learned(k), split.train.targets.std() if scale_targets else 1.0
        noise_var = (learned["noise_scale"] / unit) ** 2
        assert learned["prior_precision"] * noise_var == pytest.approx(2.0, rel=1e-10)
        x, y = fit.features(split.train.inputs, replicate=k), (split.train.targets - split.train.targets.mean()) / unit
        precision = x.T @ x / noise_var + learned["prior_precision"] * np.eye(x.shape[1])
        mean = np.linalg.solve(precision, x.T @ y / noise_var)
        np.testing.assert_allclose(fit.heads[k].mean.numpy(), mean, rtol=1e-9)


@pytest.mark.parametrize("grid", [GRID, (1e-6, 3.0, 1e6)])
def test_validation_chooses(grid):
    fit = RidgeCv(penalty_grid=grid).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        nll = [by_hand(split, penalty, split.validation)[2] for penalty in grid]
        best = int(np.argmin(nll))
        assert fit.learned(k)["penalty"] == grid[best]
        assert fit.learned(k)["validation_nll"] == pytest.approx(nll[best], rel=1e-10)
        assert ("edge of its grid" in fit.statuses[k].sentence) == (best in (0, len(grid) - 1))
        assert ("hardly depends on penalty" in fit.statuses[k].sentence) == (np.ptp(nll) < 1e-3)


def test_the_grid_is_ten_penalties_from_a_thousandth_to_a_thousand():
    np.testing.assert_allclose(RidgeCv().penalty_grid, np.logspace(-3, 3, 10), rtol=1e-11)


def test_a_flat_grid_is_said():
    (status,) = RidgeCv(penalty_grid=(1e-9, 1e-8)).fit(SPLITS[:1], SEEDS[:1]).statuses
    assert "validation NLL hardly depends on penalty" in status.sentence


def test_a_grid_without_a_finite_score_is_an_error():
    """Acceptance case 25: squares of the validation residuals beyond the largest number."""
    far = Split(SPLITS[0].train, Part(SPLITS[0].validation.inputs, np.full(6, 1e200)), SPLITS[0].test, "far")
    with np.errstate(over="ignore"):
        fit = RidgeCv().fit([far, SPLITS[1]], SEEDS)
    assert "finite nowhere on the grid" in fit.statuses[0].sentence and fit.statuses[1].usable
    with pytest.raises(SpecError, match="ridge_cv, seed 5: failed"):
        fit.predict(SPLITS[0].test.inputs)


def test_a_line_through_all_points_has_the_floor_as_noise_and_says_so():
    part = Part([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    (status,) = RidgeCv(penalty_grid=(1e-9,)).fit([Split(part, part, part, "line")], [5]).statuses
    assert "noise variance is at its floor" in status.sentence


def test_a_large_penalty_predicts_the_mean_of_the_training_targets():
    split = SPLITS[0]
    predictive = RidgeCv(penalty_grid=(1e12,)).fit([split], [5]).predict(split.test.inputs)
    np.testing.assert_allclose(predictive.mean, split.train.targets.mean(), rtol=1e-9)
    np.testing.assert_allclose(predictive.variance, split.train.targets.var(), rtol=1e-9)


def test_the_protocol_says_how_targets_are_scaled_and_no_more():
    made = RidgeCv.from_protocol(Protocol("mine", scale_targets=False, penalty_grid=(0.5,)), MLP(3))
    assert made == RidgeCv(scale_targets=False)


@pytest.mark.parametrize("grid", [(), (0.0, 1.0), (-1.0,), (float("nan"),)])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises(SpecError, match="penalty_grid must hold at least one number, each above 0"):
        RidgeCv(penalty_grid=grid)
