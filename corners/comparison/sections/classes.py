"""How good are the class probabilities?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison import figures
from corners.comparison.document import Picture, Section
from corners.comparison.entropy import entropy_split, mean_parts
from corners.comparison.grid import Grid, number, words
from corners.comparison.palette import Style
from corners.comparison.reliability import Reliability, reliability
from corners.comparison.sections._wording import picture
from corners.comparison.selective import SelectiveCurve, selective_accuracy
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison

TITLE = "How good are the class probabilities?"
READING = (
    "A reliability diagram shows how often the predicted class is right, by how sure the method was. Below the "
    "diagonal it was too sure. Grey is where the accuracy of a bin lies with probability 95 % if its confidence is "
    "right; seeds are pooled, and their test parts overlap, so the range is somewhat too narrow.",
    "Selective prediction hands the least confident points to someone else: the curve is the error rate of those kept, "
    "by their share. The area under it is small where a method is right and knows when it is not; the excess is what "
    "the ranking alone costs, beside the best ranking of the same errors.",
    "The entropy of a prediction is split by draws of the belief, or by members where a method has them: what it is on "
    "average given a draw is aleatoric, what the draws disagree about is epistemic, and more data would remove it. A "
    "point belief has no epistemic part. Of one-versus-all the draws are normalised one by one, so that the parts do "
    "not add up exactly.",
)


@dataclass(frozen=True, eq=False)
class ClassQuality:
    """What the diagrams show of one method, its usable seeds pooled; a part of the entropy is NaN where unknown."""

    reliability: Reliability
    selective: SelectiveCurve
    entropy: float
    aleatoric: float
    epistemic: float


def section(comparison: "Comparison", look: dict[str, Style]) -> Section | None:
    """Reliability diagrams, selective curves with their areas, and the entropy with its parts."""
    if comparison.task != "classification":
        return None
    found = class_quality(comparison)
    if not found:
        return Section("classes", TITLE, ("No method has a seed that can predict.",))
    return Section("classes", TITLE, _answers(found), (_grid(found),), _pictures(found, look), READING)


def class_quality(comparison: "Comparison") -> dict[str, ClassQuality]:
    """By method, best NLL first."""
    replicates: dict[str, list[int]] = {}
    for method, k in comparison.usable():
        replicates.setdefault(method, []).append(k)
    order = [method for method in comparison.table().methods if method in replicates]
    return {method: _quality(comparison, method, replicates[method]) for method in order}


def _quality(comparison: "Comparison", method: str, replicates: list[int]) -> ClassQuality:
    fit, parts = comparison.fits[method], [comparison.splits[k].test for k in replicates]
    predictives = [fit.predict(part.inputs, replicate=k) for k, part in zip(replicates, parts, strict=True)]
    pooled = CategoricalPredictive(np.concatenate([each.probabilities for each in predictives]))  # pyright: ignore[reportAttributeAccessIssue]
    targets = np.concatenate([part.targets for part in parts])
    splits = [_entropy_parts(comparison, method, k, each) for k, each in zip(replicates, predictives, strict=True)]  # pyright: ignore[reportArgumentType]
    aleatoric, epistemic = (float(np.mean(each)) for each in zip(*splits, strict=True))
    return ClassQuality(
        reliability(pooled, targets),
        selective_accuracy(pooled, targets),
        float(pooled.entropy.mean()),
        aleatoric,
        epistemic,
    )


def _entropy_parts(
    comparison: "Comparison", method: str, replicate: int, predictive: CategoricalPredictive
) -> tuple[float, float]:
    """Means over the test points of one replicate."""
    if predictive.aleatoric_entropy is not None:
        own = float(predictive.aleatoric_entropy.mean())
        return own, max(float(predictive.entropy.mean()) - own, 0.0)
    draws: Array | None = None
    if comparison.class_draws is not None:
        draws = comparison.class_draws(comparison.fits[method], replicate, comparison.splits[replicate].test.inputs)
    if draws is None:
        return float("nan"), float("nan")
    return mean_parts(entropy_split(draws))


def _answers(found: dict[str, ClassQuality]) -> tuple[str, ...]:
    honest = min(found, key=lambda method: found[method].reliability.error)
    ranking = min(found, key=lambda method: found[method].selective.area)
    return (
        f"{honest} has the confidence nearest to its accuracy: ECE {found[honest].reliability.error:.3f}, seeds "
        "pooled.",
        f"{ranking} is best at knowing when it is right: area under the selective-prediction curve "
        f"{found[ranking].selective.area:.3f}.",
    )


def _grid(found: dict[str, ClassQuality]) -> Grid:
    rows = tuple(
        (
            words(method),
            number(each.reliability.error),
            number(each.selective.area),
            number(each.selective.excess_area),
            *(number(value) for value in (each.entropy, each.aleatoric, each.epistemic)),
        )
        for method, each in found.items()
    )
    headings = ("method", "ECE, pooled", "selective area", "excess area", "entropy", "aleatoric", "epistemic")
    units = ("", "fraction", "error rate", "error rate", "nats/point", "nats/point", "nats/point")
    caption = "Calibration, selective prediction and entropy of the class probabilities, usable seeds pooled"
    return Grid(caption, headings, rows, units)


def _pictures(found: dict[str, ClassQuality], look: dict[str, Style]) -> tuple[Picture, ...]:
    errors = "; ".join(f"{method} ECE {each.reliability.error:.3f}" for method, each in found.items())
    areas = "; ".join(f"{method} {each.selective.area:.3f}" for method, each in found.items())
    diagrams = figures.reliability_plot({method: each.reliability for method, each in found.items()}, look)
    curves = figures.selective_plot({method: each.selective for method, each in found.items()}, look, "error rate")
    return (
        picture(
            "reliability",
            "Reliability: accuracy against confidence in ten bins, seeds pooled, with the range of a right confidence "
            "in grey. The pale bars are the shares of the points.",
            f"Reliability diagrams. {errors}.",
            diagrams,
        ),
        picture(
            "selective",
            "Selective prediction: error rate of the most confident points against their share, seeds pooled.",
            f"Areas under the selective-prediction curves: {areas}.",
            curves,
        ),
    )
