"""The score laws over every registered score and every family of predictives it takes."""

import numpy as np
import pytest

from corners.comparison.scores import SCORES, ScoreRule
from tests.support.laws import score_laws as laws

NAMES = SCORES.names()
PAIRS = [(name, kind) for name in NAMES for kind in laws.FORECASTS if laws.takes(SCORES.get(name).example(), kind)]
FIXED = [(name, kind) for name, kind in PAIRS if not laws.randomises(SCORES.get(name).example(), kind)]
CONTINUOUS = [(name, kind) for name, kind in PAIRS if laws.TASKS[kind] == "regression"]
TRUTHS = [(name, kind) for name, kind in PAIRS if kind != "mixture"]


@pytest.fixture
def rule(name) -> ScoreRule:
    return SCORES.get(name).example()


@pytest.fixture
def forecast(kind):
    return laws.FORECASTS[kind]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_promises(rule, name, forecast):
    laws.check_promises(rule, name, forecast)


@pytest.mark.parametrize(("name", "kind"), FIXED)
def test_permutation(rule, forecast):
    laws.check_permutation(rule, forecast)


@pytest.mark.parametrize(("name", "kind"), CONTINUOUS)
def test_units(rule, forecast):
    laws.check_units(rule, forecast)


@pytest.mark.parametrize(("name", "kind"), FIXED)
def test_standard_error_is_the_jackknifes(rule, forecast):
    laws.check_standard_error(rule, forecast)


@pytest.mark.parametrize(("name", "kind"), FIXED)
def test_standard_error_shrinks(rule, forecast):
    laws.check_standard_error_shrinks(rule, forecast)


@pytest.mark.parametrize("name", NAMES)
def test_the_default_rule_is_the_example(rule, name):
    assert SCORES.get(name)() == rule


@pytest.mark.parametrize(("name", "kind"), TRUTHS)
def test_nominal_value_is_the_truths(rule, kind):
    score = rule(*laws.true_forecast(forecast=kind))
    if score.nominal is not None:
        laws.check_nominal_is_the_truths_value(score)


@pytest.mark.parametrize(("name", "kind"), TRUTHS)
def test_the_truth_wins(rule, kind):
    if rule(*laws.true_forecast(10, forecast=kind)).direction == "lower" and type(rule).__name__ != "Sharpness":
        laws.check_the_truth_wins(rule, kind)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_one_point_has_no_standard_error(rule, forecast):
    score = rule(*forecast(1, 9))
    assert np.isfinite(score.mean) and np.isnan(score.se)
