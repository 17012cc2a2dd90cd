"""Class probabilities over the plane: where they are taken, what counts as certain, and which tables have a plane."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scipy import special

from corners.comparison.palette import styles
from corners.comparison.plane import CELLS, MARGIN, is_plane, plane
from corners.comparison.sections import plane as plane_section
from corners.data.split import Part, Split
from corners.errors import DataError
from corners.method import Fit, FitStatus, Trace
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.gaussian import GaussianPredictive
from tests.corners.comparison.fakes import comparison as make_comparison


def classes_of_two(width=2, labels=("left", "right"), seed=3):
    generator = np.random.default_rng(seed)

    def part(rows):
        inputs = generator.normal(size=(rows, width))
        return Part(inputs, (inputs[:, 0] > 0).astype(float))

    names = ("across", "up", "third")[:width]
    return Split(
        part(30), part(10), part(10), name="two", task="classification", labels=labels, feature_names=names, seed=seed
    )


@dataclass(frozen=True)
class Slope(Fit):
    """``P(right) = sigmoid(a x₀ + b x₁)``."""

    a: float = 1.0
    b: float = 0.0
    method: str = "slope"
    seeds: tuple[int, ...] = (3,)
    statuses: tuple[FitStatus, ...] = (FitStatus("exact"),)
    trace: Trace = field(default_factory=lambda: Trace(np.zeros(0)))
    seconds: float = 0.0

    def predict(self, inputs, *, replicate=0):
        right = special.expit(inputs @ np.array([self.a, self.b]))
        return CategoricalPredictive(np.stack([1.0 - right, right], axis=1))

    def features(self, inputs, *, replicate=0):
        return inputs

    def last_layer(self, replicate, split):
        return None

    def learned(self, replicate):
        return {}


@dataclass(frozen=True)
class Numbers(Slope):
    """No classifier."""

    def predict(self, inputs, *, replicate=0):
        return GaussianPredictive(np.zeros(len(inputs)), np.ones(len(inputs)))


def test_every_probability_belongs_to_its_place():
    split = classes_of_two()
    found = plane(Slope(a=0.7, b=-0.4), 0, split)
    assert found.probability.shape == (CELLS, CELLS)
    for i, j in ((0, 0), (3, 50), (59, 7), (59, 59)):
        assert found.probability[i, j] == pytest.approx(special.expit(0.7 * found.across[j] - 0.4 * found.up[i]))
    low, high = split.train.inputs.min(axis=0), split.train.inputs.max(axis=0)
    width = high - low
    np.testing.assert_allclose([found.across[0], found.up[0]], low - MARGIN * width)
    np.testing.assert_allclose([found.across[-1], found.up[-1]], high + MARGIN * width)


def test_certain_is_counted_outside_the_training_inputs_alone():
    split, far = classes_of_two(), []
    low, high = split.train.inputs.min(axis=0), split.train.inputs.max(axis=0)
    found = plane(Slope(a=2.0), 0, split)
    for x in found.across:
        for y in found.up:
            if not (low[0] <= x <= high[0] and low[1] <= y <= high[1]):
                far.append(special.expit(2.0 * x) > 0.95 or special.expit(2.0 * x) < 0.05)
    assert found.certain_far == pytest.approx(np.mean(far)) and 0.0 < found.certain_far < 1.0
    assert plane(Slope(a=0.0), 0, split).certain_far == 0.0


@pytest.mark.parametrize("width, labels", [(1, ("a", "b")), (3, ("a", "b")), (2, ("a", "b", "c"))])
def test_other_tables_have_no_plane(width, labels):
    split = classes_of_two(width, labels)
    assert not is_plane((split,)) and is_plane((classes_of_two(),))
    with pytest.raises(DataError, match="two inputs and two classes"):
        plane(Slope(), 0, split)


def test_a_fit_without_class_probabilities_is_refused():
    with pytest.raises(DataError, match="no class probabilities"):
        plane(Numbers(), 0, classes_of_two())


def test_the_report_shows_it_best_first_and_says_who_is_least_sure():
    split = classes_of_two()
    fits = {"steep": Slope(a=9.0), "flat": Slope(a=0.1)}
    comparison = replace(make_comparison(), splits=(split,), seeds=(3,), fits=fits, unavailable={}, references={})
    section = plane_section.section(comparison, styles(list(fits)))
    assert section is not None
    assert section.answers[0].startswith("flat is least often sure")
    assert [row[0].text for row in section.grids[0].rows] == ["steep", "flat"]
    assert section.pictures[0].png.startswith(b"\x89PNG")
    assert plane_section.section(make_comparison(), {}) is None
