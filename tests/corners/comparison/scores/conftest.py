"""The golden forecasts: of regression with the score of it by name, and of classes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from corners.comparison.scores import SCORES
from corners.comparison.scores._base import Score
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.gaussian import GaussianPredictive
from tests.support.golden import as_array, golden_cases


@pytest.fixture(params=golden_cases("metrics", "regression"))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture
def forecast(case: dict[str, Any]) -> tuple[GaussianPredictive, Any]:
    mean, variance, targets = (as_array(case["inputs"][key]) for key in ("mean", "var", "y"))
    return GaussianPredictive(mean, variance), targets


@pytest.fixture
def golden_score(forecast: tuple[GaussianPredictive, Any]) -> Callable[[str], Score]:
    return lambda name: SCORES.get(name)()(*forecast)


@pytest.fixture(params=golden_cases("metrics", "classification"))
def golden_labels(request: pytest.FixtureRequest) -> tuple[CategoricalPredictive, np.ndarray, dict[str, Any]]:
    """Predictive, labels and expected values of several classes, and of two."""
    inputs = request.param["inputs"]
    if "probs" in inputs:
        return CategoricalPredictive(as_array(inputs["probs"])), as_array(inputs["y"]), request.param["expected"]
    second = as_array(inputs["p1"])
    predictive = CategoricalPredictive(np.column_stack([1.0 - second, second]))
    return predictive, as_array(inputs["y01"]), request.param["expected"]
