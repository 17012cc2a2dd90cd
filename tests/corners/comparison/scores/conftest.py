"""The golden regression forecast, and the score of it by name."""

from collections.abc import Callable
from typing import Any

import pytest

from corners.comparison.scores import SCORES
from corners.comparison.scores._base import Score
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
