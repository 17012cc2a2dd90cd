"""probit_cv: the dense optimum, the penalty that validation chooses, one-versus-all and what is said of it."""

import numpy as np
import pytest
from scipy import optimize, special

from corners.backbones.mlp import MLP
from corners.baselines.probit_cv import GRID, ProbitCv
from corners.data.split import Part, Split
from corners.errors import SpecError
from corners.protocols import get_protocol
from tests.support.task_splits import tiny_classes

BINARY = [tiny_classes(seed, rows=(30, 12, 5), classes=2) for seed in (1, 2)]
SEEDS = [5, 6]


def standardised(split: Split, part: Part) -> np.ndarray:
    own = split.train.inputs
    return np.column_stack(((part.inputs - own.mean(0)) / own.std(0), np.ones(part.n)))


def dense(split: Split, penalty: float, code: int) -> np.ndarray:
    """The minimum of the penalised negative log likelihood of "class ``code`` or another"."""
    design, signs = standardised(split, split.train), np.where(split.train.targets == code, 1.0, -1.0)
    prior = np.array([penalty, penalty, 0.01])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        t = signs * (design @ weights)
        ratio = np.exp(-0.5 * t**2 - special.log_ndtr(t)) / np.sqrt(2.0 * np.pi)
        value = -special.log_ndtr(t).sum() + 0.5 * (prior * weights**2).sum()
        return value, prior * weights - design.T @ (signs * ratio)

    return optimize.minimize(loss, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10}).x


@pytest.mark.parametrize("penalty", [0.01, 1.0, 20.0])
def test_two_classes_are_the_exact_probit(penalty):
    fit = ProbitCv(penalty_grid=(penalty,)).fit(BINARY, SEEDS)
    for k, split in enumerate(BINARY):
        margin = standardised(split, split.test) @ dense(split, penalty, 1)
        found = fit.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.log_probabilities[:, 1], special.log_ndtr(margin), rtol=1e-5, atol=1e-7)
        assert fit.statuses[k].code == "converged" and "one-versus-all" not in fit.statuses[k].sentence


def test_more_classes_are_one_against_all_and_normalised():
    splits = [tiny_classes(seed, rows=(30, 12, 5)) for seed in (1, 2)]
    fit = ProbitCv(penalty_grid=(0.5,)).fit(splits, SEEDS)
    for k, split in enumerate(splits):
        design = standardised(split, split.test)
        ones = np.column_stack([special.ndtr(design @ dense(split, 0.5, code)) for code in range(3)])
        found = fit.predict(split.test.inputs, replicate=k).probabilities
        np.testing.assert_allclose(found, ones / ones.sum(1, keepdims=True), rtol=1e-5)
        assert "one-versus-all: 3 binary probits, their probabilities normalised" in fit.statuses[k].sentence


@pytest.mark.parametrize("classes", [2, 3])
def test_validation_chooses_from_the_grid(classes):
    splits = [tiny_classes(seed, rows=(30, 12, 5), classes=classes) for seed in (1, 2)]
    chosen = ProbitCv(penalty_grid=(0.01, 1.0, 100.0)).fit(splits, SEEDS)
    alone = [ProbitCv(penalty_grid=(each,)).fit(splits, SEEDS) for each in (0.01, 1.0, 100.0)]
    for k, split in enumerate(splits):
        part = split.validation
        nll = [-fit.predict(part.inputs, replicate=k).log_prob(part.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        learned = chosen.learned(k)
        assert learned["penalty"] == (0.01, 1.0, 100.0)[best]
        assert learned["validation_nll"] == pytest.approx(nll[best], rel=1e-10)
        assert ("penalty" in chosen.statuses[k].sentence and "edge" in chosen.statuses[k].sentence) == (best != 1)


def test_flat_choices_are_said():
    fit = ProbitCv(penalty_grid=(1e-9, 1e-8)).fit(BINARY, SEEDS)
    assert "hardly depends on penalty" in fit.statuses[0].sentence


@pytest.mark.parametrize("classes", [2, 3])
def test_a_training_part_of_one_label_is_fitted_and_said(classes):
    split = tiny_classes(1, classes=classes)
    same = Part(split.train.inputs, np.zeros(split.train.n))
    given = Split(same, split.validation, split.test, "same", task="classification", labels=split.labels)
    fit = ProbitCv().fit([given], [5])
    found = fit.predict(split.test.inputs).probabilities
    assert "no training row has class" in fit.statuses[0].sentence
    assert (found > 0.0).all() and (found[:, 0] > 0.8).all()


def test_it_has_inputs_as_features_and_no_belief():
    fit = ProbitCv().fit(BINARY, SEEDS)
    np.testing.assert_allclose(fit.features(BINARY[0].test.inputs), standardised(BINARY[0], BINARY[0].test)[:, :2])
    assert fit.last_layer(0, BINARY[0]) is None
    assert ProbitCv.from_protocol(get_protocol("paper_v1"), MLP(3)).penalty_grid == GRID


@pytest.mark.parametrize("grid", [(), (0.0,), (-1.0,)])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises(SpecError, match="penalty_grid"):
        ProbitCv(penalty_grid=grid)
