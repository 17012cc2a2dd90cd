"""poisson_glm: scikit-learn's regressor called directly, the optimum of scipy, the penalty that validation chooses."""

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.linear_model import PoissonRegressor

from corners.backbones.mlp import MLP
from corners.baselines.poisson_glm import GRID, PoissonGlm
from corners.data.split import Part, Split
from corners.errors import SpecError
from corners.protocols import get_protocol
from tests.support.task_splits import tiny_counts

SPLITS, SEEDS = [tiny_counts(1), tiny_counts(2)], [5, 6]


def scaled(split: Split, part: Part) -> np.ndarray:
    return (part.inputs - split.train.inputs.mean(0)) / split.train.inputs.std(0)


@pytest.mark.parametrize("penalty", [0.1, 5.0, 300.0])
def test_it_is_scikit_learns_regressor(penalty):
    fit = PoissonGlm(penalty_grid=(penalty,)).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        theirs = PoissonRegressor(alpha=penalty / 12, solver="newton-cholesky", tol=1e-10, max_iter=500)
        theirs.fit(scaled(split, split.train), split.train.targets)
        rate = theirs.predict(scaled(split, split.test))
        found = fit.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.mean, rate, rtol=1e-8)
        np.testing.assert_allclose(found.variance, rate, rtol=1e-8)
        np.testing.assert_allclose(
            found.log_prob(split.test.targets), stats.poisson(rate).logpmf(split.test.targets), rtol=1e-7
        )


def test_the_penalty_is_the_precision_beside_a_log_likelihood():
    """``Σ (e^f - y f) + ½ λ ‖w‖²`` with a free intercept, minimised by scipy."""
    fit, split = PoissonGlm(penalty_grid=(5.0,)).fit(SPLITS, SEEDS), SPLITS[0]
    x, y = scaled(split, split.train), split.train.targets

    def loss(theta: np.ndarray) -> float:
        latent = x @ theta[:2] + theta[2]
        return (np.exp(latent) - y * latent).sum() + 2.5 * theta[:2] @ theta[:2]

    theirs = optimize.minimize(loss, np.array([0.0, 0.0, 3.0]), method="BFGS", options={"gtol": 1e-8})
    line = fit.lines[0]
    assert line is not None
    np.testing.assert_allclose([*line.weights, line.intercept], theirs.x, atol=1e-5)


def test_validation_chooses_from_the_grid():
    grid = (0.1, 30.0, 1e5)
    chosen = PoissonGlm(penalty_grid=grid).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        part = split.validation
        alone = [PoissonGlm(penalty_grid=(each,)).fit([split], [5]).predict(part.inputs) for each in grid]
        nll = [-predictive.log_prob(part.targets).mean() for predictive in alone]
        best = int(np.argmin(nll))
        assert chosen.learned(k)["penalty"] == grid[best]
        assert chosen.learned(k)["validation_nll"] == pytest.approx(nll[best])
        assert ("edge of its grid" in chosen.statuses[k].sentence) == (best != 1)
        assert chosen.statuses[k].code == "converged"


def test_no_count_at_all_is_a_failure_that_says_why():
    split = tiny_counts(1)
    none = Split(Part(split.train.inputs, np.zeros(12)), split.validation, split.test, "none", task="count")
    fit = PoissonGlm().fit([none, SPLITS[1]], SEEDS)
    assert "all training counts are zero" in fit.statuses[0].sentence and fit.statuses[1].usable
    assert fit.learned(0) == {}
    with pytest.raises(SpecError, match="poisson_glm, seed 5: failed"):
        fit.predict(split.test.inputs)


def test_it_has_no_belief_and_no_network():
    fit = PoissonGlm.example().fit(SPLITS, SEEDS)
    np.testing.assert_allclose(fit.features(SPLITS[0].test.inputs), scaled(SPLITS[0], SPLITS[0].test))
    assert fit.last_layer(0, SPLITS[0]) is None
    assert PoissonGlm.from_protocol(get_protocol("paper_v1"), MLP(3)).penalty_grid == GRID


@pytest.mark.parametrize("grid", [(), (-1.0,)])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises(SpecError, match="penalty_grid"):
        PoissonGlm(penalty_grid=grid)
