"""``Score`` and ``evaluate``."""

import numpy as np
import pytest

from corners.comparison.scores import SCORES, Score, evaluate
from corners.comparison.scores._base import DEFAULT_SCORES
from corners.comparison.scores.coverage import Coverage
from corners.errors import DataError, SpecError, UnknownNameError
from corners.predictive.gaussian import GaussianPredictive
from tests.support.laws.score_laws import gaussian_forecast


def test_every_public_file_is_a_score_and_has_a_summary():
    assert set(DEFAULT_SCORES) <= set(SCORES.names())
    for name in SCORES.names():
        assert SCORES.summary(name).endswith(".")


def test_evaluate_takes_names_and_rules():
    scores = evaluate(*gaussian_forecast(30, 1), ["nll", Coverage(level=0.5)])
    assert list(scores) == ["nll", "coverage"] and scores["coverage"].nominal == 0.5


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
