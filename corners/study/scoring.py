"""Numbers of one predictive at its targets: every score of its task, and what the figures of a report show."""

from collections.abc import Mapping

import numpy as np

from corners.comparison.entropy import entropy_split, mean_parts
from corners.comparison.reliability import reliability
from corners.comparison.scores._base import Task, evaluate, task_of
from corners.comparison.scores._central import LEVELS, inside_central, randomised_transform
from corners.comparison.selective import selective_accuracy
from corners.comparison.table import TABLE_SCORES
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.mixture import MixturePredictive
from corners.types import Array, Float

BINS = 10
SHARES = np.arange(1, 11) / 10.0
"""Shares of the test points, the most confident first, at which the risk of predicting is kept."""
RULES: Mapping[Task, tuple[str, ...]] = TABLE_SCORES


def score_values(
    predictive: Predictive | CategoricalPredictive,
    targets: Float[Array, " N"],
    class_draws: Float[Array, "S N K"] | None = None,
) -> dict[str, float]:
    """Every score by name, and what the figures need.

    Of numbers and counts the coverage at 19 levels (theory 11); of counts also the shares of the randomised PIT in ten
    bins; of classes the bins of the reliability diagram, the selective risks with their area, and the mean entropy. A
    Gaussian mixture also has the NLL of the Gaussian of its moments.

    Parameters
    ----------
    class_draws : probabilities given draws of the belief, from which the entropy is split.

    Example
    -------
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> values = score_values(GaussianPredictive(np.zeros(2), np.ones(2)), np.array([0.0, 1.0]))
    >>> values["coverage_65"], values["coverage_70"]
    (0.5, 1.0)
    """
    scores = evaluate(predictive, targets, RULES[task_of(predictive)])
    values = {name: score.mean for name, score in scores.items()} | {"nll_se": scores["nll"].se}
    if isinstance(predictive, CategoricalPredictive):
        return values | _of_classes(predictive, targets) | _entropies(predictive, class_draws)
    shares = inside_central(predictive, targets, LEVELS).mean(axis=1)
    values |= {f"coverage_{round(100 * level):02d}": float(share) for level, share in zip(LEVELS, shares, strict=True)}
    if predictive.task == "count":
        return values | _of_counts(predictive, targets)
    if isinstance(predictive, MixturePredictive):
        values["nll_moment_matched"] = evaluate(predictive.moment_matched, targets, ("nll",))["nll"].mean
    return values


def _of_classes(predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> dict[str, float]:
    """An empty bin has a share alone."""
    diagram, curve = reliability(predictive, targets, BINS), selective_accuracy(predictive, targets)
    values = {"selective_area": curve.area, "selective_excess_area": curve.excess_area}
    values |= {f"selective_risk_{round(100 * share):03d}": curve.risk_at(float(share)) for share in SHARES}
    for k, count in enumerate(diagram.count.tolist()):
        values[f"reliability_share_{k}"] = count / len(targets)
        if count:
            values[f"reliability_confidence_{k}"] = float(diagram.confidence[k])
            values[f"reliability_accuracy_{k}"] = float(diagram.accuracy[k])
    return values


def _entropies(predictive: CategoricalPredictive, class_draws: Array | None) -> dict[str, float]:
    """Means over the points; the parts where the predictive or the draws tell them apart."""
    total = float(predictive.entropy.mean())
    if predictive.aleatoric_entropy is not None:
        own = float(predictive.aleatoric_entropy.mean())
        return {"entropy": total, "aleatoric_entropy": own, "epistemic_entropy": max(total - own, 0.0)}
    if class_draws is None:
        return {"entropy": total}
    aleatoric, epistemic = mean_parts(entropy_split(class_draws))
    return {"entropy": total, "aleatoric_entropy": aleatoric, "epistemic_entropy": epistemic}


def _of_counts(predictive: Predictive, targets: Float[Array, " N"]) -> dict[str, float]:
    bins = np.minimum((randomised_transform(predictive, targets, seed=0) * BINS).astype(int), BINS - 1)
    shares = np.bincount(bins, minlength=BINS) / len(targets)
    return {f"pit_{k}": float(share) for k, share in enumerate(shares)}
