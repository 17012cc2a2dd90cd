"""What is kept of a predictive: the scores of its task, and the numbers that figures are drawn from."""

import numpy as np
import pytest
from scipy import special, stats

from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.count import CountPredictive
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from corners.study.scoring import BINS, score_values

P = np.array([[0.9, 0.1, 0.0], [0.55, 0.25, 0.2], [0.3, 0.6, 0.1], [0.35, 0.35, 0.3]])
LABELS = np.array([0.0, 1.0, 1.0, 0.0])


def test_classes_have_their_scores_and_the_selective_risks_by_hand():
    values = score_values(CategoricalPredictive(P), LABELS)
    assert values["nll"] == pytest.approx(-np.log([0.9, 0.25, 0.6, 0.35]).mean(), rel=1e-12)
    assert values["accuracy"] == 0.75
    one_hot = np.eye(3)[LABELS.astype(int)]
    assert values["brier"] == pytest.approx(((P - one_hot) ** 2).sum(axis=1).mean(), rel=1e-12)
    # Confidence falls in the order of points 0, 2, 1, 3; point 1 alone is wrong.
    assert [values[f"selective_risk_{share:03d}"] for share in (30, 50, 70, 100)] == [0.0, 0.0, 1 / 3, 0.25]
    assert values["selective_area"] == pytest.approx((0.0 + 0.0 + 1 / 3 + 1 / 4) / 4, rel=1e-12)
    assert not {"rmse", "crps", "coverage"} & set(values)


def test_reliability_bins_hold_all_points_and_give_the_ece():
    values = score_values(CategoricalPredictive(P), LABELS)
    shares = np.array([values[f"reliability_share_{k}"] for k in range(BINS)])
    assert shares.sum() == pytest.approx(1.0)
    gaps = [
        shares[k] * abs(values[f"reliability_accuracy_{k}"] - values[f"reliability_confidence_{k}"])
        for k in np.flatnonzero(shares)
    ]
    assert values["ece"] == pytest.approx(sum(gaps), rel=1e-12)
    empty = np.flatnonzero(shares == 0.0)
    assert not any(f"reliability_accuracy_{k}" in values for k in empty)


def test_entropy_is_split_where_something_tells_the_parts_apart():
    predictive = CategoricalPredictive(P)
    alone = score_values(predictive, LABELS)
    assert alone["entropy"] == pytest.approx(special.entr(P).sum(axis=1).mean(), rel=1e-12)
    assert "epistemic_entropy" not in alone
    draws = np.stack([np.eye(3)[[0, 1, 2, 0]], np.eye(3)[[1, 1, 2, 0]]])
    split = score_values(predictive, LABELS, draws)
    assert split["aleatoric_entropy"] == 0.0
    assert split["epistemic_entropy"] == pytest.approx(np.log(2.0) / 4.0, rel=1e-12)
    members = CategoricalPredictive.from_draws(np.log(np.stack([P + 1e-9, P[::-1] + 1e-9]) / (1.0 + 3e-9)))
    own = score_values(members, LABELS)
    assert own["aleatoric_entropy"] + own["epistemic_entropy"] == pytest.approx(own["entropy"], rel=1e-12)


def test_counts_have_shares_of_the_randomised_pit_and_no_moment_matched_score():
    generator = np.random.default_rng(0)
    rates = generator.gamma(4.0, 2.0, 4000)
    counts = generator.poisson(rates).astype(float)
    right = CountPredictive(np.log(rates), np.zeros(4000), lambda k: stats.poisson.logpmf(k, rates))
    values = score_values(right, counts)
    shares = np.array([values[f"pit_{k}"] for k in range(BINS)])
    assert shares.sum() == pytest.approx(1.0)
    assert stats.chisquare(4000 * shares).pvalue > 1e-3
    assert values["coverage_50"] == pytest.approx(0.5, abs=4.0 * np.sqrt(0.25 / 4000))
    assert {"nll", "crps", "rmse", "calibration_error", "coverage"} <= set(values)
    assert not {"accuracy", "nll_moment_matched"} & set(values)


GENERATOR = np.random.default_rng(4)
TARGETS, MEAN, VARIANCE = GENERATOR.normal(size=7), GENERATOR.normal(size=7), GENERATOR.uniform(0.2, 2.0, size=7)


def test_coverage_at_nineteen_levels():
    values = score_values(GaussianPredictive(MEAN, VARIANCE), TARGETS)
    for percent in range(5, 100, 5):
        radius = stats.norm.ppf(0.5 + percent / 200.0)
        share = np.mean(np.abs(TARGETS - MEAN) / np.sqrt(VARIANCE) <= radius)
        assert values[f"coverage_{percent:02d}"] == share
    assert values["coverage"] == values["coverage_90"]
    misses = [abs(values[f"coverage_{percent:02d}"] - percent / 100) for percent in range(5, 100, 5)]
    assert values["calibration_error"] == pytest.approx(np.mean(misses), rel=1e-12)
    assert "nll_moment_matched" not in values


def test_a_mixture_has_both_likelihoods():
    means, variances = np.stack([MEAN, MEAN + 2.0]), np.stack([VARIANCE, 2.0 * VARIANCE])
    values = score_values(MixturePredictive(means, variances), TARGETS)
    density = 0.5 * stats.norm.pdf(TARGETS, means, np.sqrt(variances)).sum(axis=0)
    matched = 1.5 * VARIANCE + 1.0
    assert values["nll"] == pytest.approx(-np.log(density).mean(), rel=1e-12)
    terms = stats.norm.logpdf(TARGETS, MEAN + 1.0, np.sqrt(matched))
    assert values["nll_moment_matched"] == pytest.approx(-terms.mean(), rel=1e-12)
