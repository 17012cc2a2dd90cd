"""Temperature scaling: the optimum of its own NLL, nothing where nothing is to be gained, words at the edge."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from corners.backbones.mlp import MLP
from corners.baselines._temperature import BOUNDS, Temperature, fit_temperature
from corners.baselines.probit_cv import ProbitCv
from corners.baselines.softmax import Softmax
from corners.data.split import Part
from corners.predictive.categorical import CategoricalPredictive
from tests.support.problems import SHORT
from tests.support.task_splits import tiny_classes


def forecasts(seed: int, rows: int = 400, classes: int = 3, sharpness: float = 1.0):
    """Forecasts whose labels are drawn from them at temperature ``1 / sharpness``."""
    generator = np.random.default_rng(seed)
    logits = 2.0 * generator.normal(size=(rows, classes))
    labels = np.array([generator.choice(classes, p=special.softmax(sharpness * row)) for row in logits])
    return CategoricalPredictive.from_logarithms(special.log_softmax(logits, 1)), Part(np.zeros((rows, 1)), labels)


def nll(predictive, part) -> float:
    return -float(predictive.log_prob(part.targets).mean())


def test_calibrated_forecasts_keep_their_temperature():
    """T = 1 within four standard errors: the curvature of the NLL in log T says how many."""
    predictive, part = forecasts(1, rows=4000)
    logits = predictive.log_probabilities
    spread = (predictive.probabilities * logits**2).sum(1) - (predictive.probabilities * logits).sum(1) ** 2
    assert abs(np.log(fit_temperature(predictive, part).value)) < 4.0 / np.sqrt(spread.sum())


@pytest.mark.parametrize("sharpness", [0.4, 2.5])
def test_it_is_the_minimum_by_another_optimiser(sharpness):
    predictive, part = forecasts(2, sharpness=sharpness)
    labels = part.targets.astype(int)

    def slope(inverse: float) -> float:
        """Of the NLL in 1/T, which is convex."""
        logits = predictive.log_probabilities
        mean = (special.softmax(inverse * logits, 1) * logits).sum(1)
        return float((mean - logits[np.arange(labels.size), labels]).mean())

    expected = 1.0 / optimize.brentq(slope, 0.06, 15.0, xtol=1e-14)
    found = fit_temperature(predictive, part)
    assert found.value == pytest.approx(expected, rel=1e-6) and found.remarks == ()
    assert (found.value > 1.0) == (sharpness < 1.0)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 30), st.floats(0.01, 50.0))
def test_validation_nll_is_never_worse_and_labels_stay(seed, classes, rows, sharpness):
    predictive, part = forecasts(seed, rows=rows, classes=classes, sharpness=sharpness)
    found = fit_temperature(predictive, part)
    tempered = found.of(predictive)
    assert nll(tempered, part) <= nll(predictive, part) + 1e-12
    np.testing.assert_array_equal(tempered.label, predictive.label)
    assert BOUNDS[0] - 1e-12 <= found.value <= BOUNDS[1] + 1e-12


def test_the_edge_of_the_bounds_is_said():
    sure = CategoricalPredictive(np.array([[0.6, 0.4], [0.3, 0.7]]))
    right, wrong = (fit_temperature(sure, Part(np.zeros((2, 1)), labels)) for labels in ([0, 1], [1, 0]))
    assert right.value == pytest.approx(BOUNDS[0]) and wrong.value == pytest.approx(BOUNDS[1])
    assert right.remarks == ("temperature 0.05 is at the edge of its bounds 0.05 to 20",)
    assert wrong.remarks == ("temperature 20 is at the edge of its bounds 0.05 to 20",)


def test_a_label_without_probability_leaves_it_at_one():
    certain = CategoricalPredictive(np.array([[1.0, 0.0]]))
    found = fit_temperature(certain, Part(np.zeros((1, 1)), [1]))
    assert found.value == 1.0 and "infinite at every temperature" in found.remarks[0]
    assert found.of(certain) is certain


def test_draws_are_forgotten_unless_nothing_changes():
    drawn = CategoricalPredictive.from_draws(np.log(np.array([[[0.6, 0.4]], [[0.2, 0.8]]])))
    assert Temperature(1.0).of(drawn).aleatoric_entropy is not None
    assert Temperature(2.0).of(drawn).aleatoric_entropy is None


@pytest.mark.parametrize("method", [Softmax(MLP(3), schedule=SHORT), ProbitCv()])
def test_a_method_with_a_temperature_is_itself_tempered(method):
    splits, seeds = [tiny_classes(1), tiny_classes(2)], [5, 6]
    plain, tempered = method.fit(splits, seeds), replace(method, temperature=True).fit(splits, seeds)
    for k, split in enumerate(splits):
        value = tempered.learned(k)["temperature"]
        own = plain.predict(split.validation.inputs, replicate=k)
        assert value == fit_temperature(own, split.validation).value
        assert "temperature" not in plain.learned(k) and tempered.learned(k).items() >= plain.learned(k).items()
        expected = special.log_softmax(plain.predict(split.test.inputs, replicate=k).log_probabilities / value, 1)
        found = tempered.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.log_probabilities, expected, rtol=1e-12, atol=1e-12)
