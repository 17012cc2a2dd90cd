"""Case 16: every printed number says per what, in what unit: scores are means per observation, objectives totals."""

import pytest

from corners.study import compare
from tests.support.problems import TINY_PROTOCOL, tiny_split


@pytest.fixture(scope="module")
def comparison():
    from corners.backbones.identity import Identity

    return compare(tiny_split(1), ["sequential", "map"], backbone=Identity(), seeds=[5, 6], protocol=TINY_PROTOCOL)


def test_the_table_says_the_unit_of_every_column(comparison):
    text = str(comparison.table())
    assert "nats per observation" in text and "target units" in text
    assert "per observation" in text and "standard error" in text


def test_every_record_has_its_unit(comparison):
    units = {record["score"]: record["unit"] for record in comparison.records()}
    assert units["nll"] == "nats per observation" and units["rmse"] == units["crps"] == "target units"
    assert all(units.values())


def test_a_score_is_a_mean_over_points_in_original_units(comparison):
    """Twice the test points of the same kind would not double it: it is the plain mean of the pointwise values."""
    score = comparison.score("nll", "sequential", 0)
    assert score.mean == pytest.approx(score.pointwise.mean()) and score.n == 5
    predictive = comparison.fits["sequential"].predict(comparison.splits[0].test.inputs)
    assert score.mean == pytest.approx(-predictive.log_prob(comparison.splits[0].test.targets).mean())
