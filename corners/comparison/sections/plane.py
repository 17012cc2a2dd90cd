"""What do the methods say away from the data? Of tables with two inputs and two classes, where one can look."""

from typing import TYPE_CHECKING

from corners.comparison import figures
from corners.comparison.document import Picture, Section
from corners.comparison.grid import Grid, number, words
from corners.comparison.palette import Style
from corners.comparison.plane import MARGIN, Plane, is_plane, plane
from corners.comparison.sections._wording import picture

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison
    from corners.data.split import Split

TITLE = "What do the methods say away from the data?"
DRAWN = 8
READING = (
    "The pictures show the first seed on which every method can predict. Blue is the first class, red the second, "
    "pale is unsure, and the line is where both are equally probable.",
    "A point estimate is as sure of a direction it has never seen as its features allow. A belief that widens away "
    "from the data pulls the probability towards one half there; a free covariance need not widen, since it is fitted "
    "residual variance.",
)


def section(comparison: "Comparison", _: dict[str, Style]) -> Section | None:
    """A panel a method, best NLL first, and how sure each is beyond the training inputs."""
    if comparison.task != "classification" or not is_plane(comparison.splits):
        return None
    found = planes(comparison)
    if not found:
        return None
    split, drawn = _common(comparison)[1], dict(list(found.items())[:DRAWN])
    sure = min(found, key=lambda method: found[method].certain_far)
    answers = (
        f"{sure} is least often sure of what it has not seen: on {found[sure].certain_far:.0%} of the plane outside "
        "the training inputs one class has more than 95 %.",
    )
    return Section("plane", TITLE, answers, (_grid(found),), (_picture(drawn, split),), READING)


def planes(comparison: "Comparison") -> dict[str, Plane]:
    """By method, best NLL first; of the first seed on which all that can predict at all do."""
    replicate, split = _common(comparison)
    able = {method for method, k in comparison.usable() if k == replicate}
    order = [method for method in comparison.table().methods if method in able]
    return {method: plane(comparison.fits[method], replicate, split) for method in order}


def _common(comparison: "Comparison") -> "tuple[int, Split]":
    able = [{method for method, k in comparison.usable() if k == each} for each in range(len(comparison.seeds))]
    most = max(range(len(able)), key=lambda k: (len(able[k]), -k))
    return most, comparison.splits[most]


def _grid(found: dict[str, Plane]) -> Grid:
    rows = tuple((words(method), number(each.certain_far)) for method, each in found.items())
    headings, units = ("method", "certain beyond the data"), ("", "fraction of the plane")
    caption = (
        f"Share of the plane outside the box of the training inputs, up to {MARGIN:g} of its width beyond, where one "
        "class has more than 95 %"
    )
    return Grid(caption, headings, rows, units)


def _picture(found: dict[str, Plane], split: "Split") -> Picture:
    assert split.labels is not None
    first, second = split.labels
    drawn = figures.plane_plot(
        found,
        split.train.inputs,
        split.train.targets,
        (split.feature_names[0], split.feature_names[1]),
        (first, second),
    )
    shares = "; ".join(f"{method} {each.certain_far:.0%}" for method, each in found.items())
    caption = f"Probability of {second} over both inputs, with the training points."
    return picture("plane", caption, f"Panels of class probabilities. Certain beyond the data: {shares}.", drawn)
