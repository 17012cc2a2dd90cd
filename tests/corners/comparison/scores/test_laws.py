"""The score laws over every registered score and both families of predictives."""

import numpy as np
import pytest

from corners.comparison.scores import SCORES, ScoreRule
from tests.support.laws import score_laws as laws

NAMES = SCORES.names()


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


@pytest.fixture(params=list(laws.FORECASTS))
def forecast(request):
    return laws.FORECASTS[request.param]


@pytest.fixture
def rule(name) -> ScoreRule:
    return SCORES.get(name).example()


def test_promises(rule, name, forecast):
    laws.check_promises(rule, name, forecast)


def test_permutation(rule, forecast):
    laws.check_permutation(rule, forecast)


def test_units(rule, forecast):
    laws.check_units(rule, forecast)


def test_standard_error_is_the_jackknifes(rule, forecast):
    laws.check_standard_error(rule, forecast)


def test_standard_error_shrinks(rule, forecast):
    laws.check_standard_error_shrinks(rule, forecast)


def test_the_default_rule_is_the_example(rule, name):
    assert SCORES.get(name)() == rule


def test_nominal_value_is_the_truths(rule):
    score = rule(*laws.true_forecast())
    if score.nominal is not None:
        laws.check_nominal_is_the_truths_value(score)


def test_the_truth_wins(rule):
    if rule(*laws.true_forecast(10)).direction == "lower" and type(rule).__name__ != "Sharpness":
        laws.check_the_truth_wins(rule)


def test_one_point_has_no_standard_error(rule):
    score = rule(*laws.gaussian_forecast(1, 9))
    assert np.isfinite(score.mean) and np.isnan(score.se)
