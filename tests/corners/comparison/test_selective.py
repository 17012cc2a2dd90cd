"""Risk-coverage curves."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.comparison.scores.accuracy import Accuracy
from corners.comparison.selective import require_points, selective_accuracy, selective_curve
from corners.errors import DataError
from tests.support.laws.score_laws import true_forecast

points = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=6)


def arrays(rows):
    confidence, losses = np.array(rows, float).T
    return confidence, losses


@given(points)
def test_it_is_the_mean_over_all_orders_that_the_confidence_allows(rows):
    """Every order of the points that never puts a less confident one first, each with its running mean."""
    allowed = [order for order in permutations(rows) if all(a[0] >= b[0] for a, b in pairwise(order))]
    counts = np.arange(1, len(rows) + 1)
    expected = np.mean([np.cumsum([loss for _, loss in order]) / counts for order in allowed], axis=0)
    curve = selective_curve(*arrays(rows))
    np.testing.assert_allclose(curve.risk, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(curve.coverage, counts / len(rows), rtol=1e-15)
    np.testing.assert_allclose(curve.area, expected.mean(), rtol=1e-12, atol=1e-14)


@given(points)
def test_no_order_beats_the_best_curve_and_all_end_in_the_mean_loss(rows):
    confidence, losses = arrays(rows)
    curve = selective_curve(confidence, losses)
    assert (curve.best_risk <= curve.risk + 1e-14).all() and curve.excess_area >= -1e-14
    np.testing.assert_allclose([curve.risk[-1], curve.best_risk[-1]], losses.mean(), rtol=1e-12, atol=1e-14)
    assert selective_curve(-losses, losses).excess_area == pytest.approx(0.0, abs=1e-14)


@given(points, st.randoms())
def test_only_the_ranking_counts(rows, random):
    confidence, losses = arrays(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    expected = selective_curve(confidence, losses).risk
    np.testing.assert_allclose(selective_curve(*arrays(shuffled)).risk, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(selective_curve(np.exp(confidence), losses).risk, expected, rtol=1e-12, atol=1e-14)


def test_of_classes_it_ends_in_the_error_rate_and_a_right_confidence_pays():
    forecast = true_forecast(2000, forecast="classes")
    curve = selective_accuracy(*forecast)
    assert curve.risk[-1] == pytest.approx(1.0 - Accuracy()(*forecast).mean)
    # The most confident half of a calibrated predictive errs as often as its own confidences say.
    top = np.sort(forecast[0].probabilities.max(axis=1))[1000:]
    assert abs(curve.risk_at(0.5) - (1.0 - top).mean()) < 5.0 * np.sqrt((top * (1.0 - top)).mean() / 1000)
    assert curve.risk_at(0.5) < curve.risk[-1]


def test_risk_at_takes_at_least_the_share_asked_for():
    curve = selective_curve(np.array([4.0, 3.0, 2.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert [curve.risk_at(share) for share in (0.1, 0.5, 0.51, 1.0)] == [0.0, 0.0, 1.0 / 3.0, 0.5]
    with pytest.raises(DataError, match=r"\(0, 1\]; got 0"):
        curve.risk_at(0.0)


@pytest.mark.parametrize(
    ("confidence", "losses", "words"),
    [
        ([], [], "N at least 1"),
        ([1.0, 2.0], [1.0], "one shape"),
        ([np.nan], [1.0], "finite"),
        ([1.0], [np.inf], "finite"),
    ],
)
def test_what_has_no_curve_is_refused(confidence, losses, words):
    with pytest.raises(DataError, match=words):
        require_points(np.array(confidence, float), np.array(losses, float))
