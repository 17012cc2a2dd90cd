"""``Score`` and ``evaluate``."""

import numpy as np
import pytest

from corners.comparison.scores import SCORES, Score, evaluate
from corners.comparison.scores._base import DEFAULT_SCORES
from corners.comparison.scores.coverage import Coverage
from corners.comparison.scores.rmse import Rmse
from corners.errors import DataError, SpecError, UnknownNameError
from corners.predictive.gaussian import GaussianPredictive
from tests.support.laws.score_laws import FORECASTS, TASKS, gaussian_forecast


def test_every_public_file_is_a_score_and_has_a_summary():
    for name in SCORES.names():
        assert SCORES.summary(name).endswith(".") and set(SCORES.get(name).tasks) <= set(DEFAULT_SCORES)
    for task, names in DEFAULT_SCORES.items():
        assert all(task in SCORES.get(name).tasks for name in names)


def test_evaluate_takes_names_and_rules():
    scores = evaluate(*gaussian_forecast(30, 1), ["nll", Coverage(level=0.5)])
    assert list(scores) == ["nll", "coverage"] and scores["coverage"].nominal == 0.5


@pytest.mark.parametrize("kind", ["gaussian", "two classes", "classes", "counts"])
def test_evaluate_takes_the_scores_of_the_task_by_default(kind):
    assert tuple(evaluate(*FORECASTS[kind](30, 1))) == DEFAULT_SCORES[TASKS[kind]]


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        (
            "accuracy",
            "gaussian",
            r"Accuracy .* of classification; got a GaussianPredictive, .* regression; .* crps, ",
        ),
        ("pit", "counts", r"Pit .* of regression; got a PoissonPredictive, .* of count; .*randomised_pit"),
        (Rmse(), "classes", r"Rmse .* of regression or count; got a CategoricalPredictive, .*: accuracy, adaptive_ece"),
    ],
)
def test_evaluate_refuses_a_predictive_of_another_task(asked, kind, words):
    with pytest.raises(SpecError, match=words):
        evaluate(*FORECASTS[kind](5, 1), [asked])


def test_evaluate_refuses_a_name_twice_and_an_unknown_one():
    with pytest.raises(SpecError, match="'coverage' is asked for twice"):
        evaluate(*gaussian_forecast(5, 1), ["coverage", Coverage(level=0.5)])
    with pytest.raises(UnknownNameError, match="Did you mean 'crps'"):
        evaluate(*gaussian_forecast(5, 1), ["crsp"])


def test_evaluate_refuses_a_target_that_is_not_finite():
    with pytest.raises(DataError, match=r"1 of 2 are not \(first at row 1\)"):
        evaluate(GaussianPredictive(np.zeros(2), np.ones(2)), np.array([0.0, np.nan]))


def test_an_infinite_value_has_an_infinite_mean_and_no_error():
    score = Score("nll", np.array([1.0, np.inf]), float("inf"), "nats per observation", "lower")
    assert score.mean == np.inf and np.isnan(score.se)
