"""Figures of a study at the size of a real one: twenty rows, twelve data sets, labels that do not meet."""

import io
import math
import re
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.lines import Line2D
from matplotlib.text import Text
from PIL import Image
from scipy import stats

from corners.comparison.figure_data import LEVELS
from corners.comparison.figures import Difference, render, studies
from corners.errors import DataError

pytestmark = pytest.mark.unchecked

ROWS = [f"a method of $some_ length, {k}" for k in range(20)]
SETS = [f"data set $_{k}" for k in range(12)]
LARGEST = 150_000


def differences():
    generator = np.random.default_rng(0)
    panels = {}
    for k, name in enumerate(SETS):
        means = np.append(0.0, generator.exponential(0.2, 19))
        means[7] = 14.0 if k % 2 else math.nan
        panels[name] = [Difference(row, m, m - 0.1, m + 0.1) for row, m in zip(ROWS, means, strict=True)]
    panels[SETS[-1]] = panels[SETS[-1]][:9]
    return panels


def costs():
    generator = np.random.default_rng(1)
    points = {row: (float(10 ** generator.normal(0, 0.7)), float(generator.normal(2.6, 0.1))) for row in ROWS}
    return points | {ROWS[0]: (200.0, 9.3)} | {row: (1.0 + 0.01 * k, 2.6) for k, row in enumerate(ROWS[1:5])}


def curves():
    generator = np.random.default_rng(2)
    bend = 4.0 * LEVELS * (1.0 - LEVELS)
    return {name: {row: np.clip(LEVELS + generator.normal(0, 0.06) * bend, 0, 1) for row in ROWS} for name in SETS}


def shares():
    generator = np.random.default_rng(3)
    return {
        name: {row: dict(zip(studies.SHARES, generator.dirichlet([2, 1, 1]), strict=True)) for row in ROWS}
        for name in SETS
    }


DRAWINGS = {
    "difference": lambda: studies.paired_difference_plot(differences()),
    "critical difference": lambda: studies.critical_difference_plot(
        {row: 1.0 + 0.95 * k for k, row in enumerate(ROWS)}, 4.3
    ),
    "cost": lambda: studies.cost_plot(costs()),
    "calibration": lambda: studies.calibration_curves_plot(curves(), dict.fromkeys(SETS, 60)),
    "attribution": lambda: studies.attribution_bars(shares()),
}


def boxes(texts):
    return [text.get_window_extent() for text in texts if text.get_text().strip() and text.get_visible()]


def meet(first, second):
    return (
        min(first.x1, second.x1) > max(first.x0, second.x0) + 0.5
        and min(first.y1, second.y1) > max(first.y0, second.y0) + 0.5
    )


@cache
def drawn(name):
    """The figure and its PNG; drawing one of full size takes seconds."""
    figure = DRAWINGS[name]()
    return figure, render(figure)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_study_of_full_size_is_drawn_small_in_bytes_and_whole(name):
    figure, png = drawn(name)
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    assert len(png) < LARGEST and (picture < 128).mean() > 0.002
    assert picture[:, [0, -1]].min() > 200  # nothing is cut at the left or right edge
    assert not any(re.search(r"(?<!\\)\$", text.get_text()) for text in figure.findobj(Text))


@pytest.mark.parametrize("name", ["critical difference", "cost"])
def test_drawn_again_it_is_the_same(name):
    figure, png = drawn(name)
    assert render(figure) == png and render(DRAWINGS[name]()) == png


@pytest.mark.parametrize("name", ["difference", "attribution"])
def test_row_names_stand_at_the_left_alone_and_do_not_meet(name):
    figure, _ = drawn(name)
    shown = [[text for text in axis.get_yticklabels() if text.get_visible()] for axis in figure.axes]
    assert [len(texts) for texts in shown[:4]] == [20, 0, 0, 0]
    first = sorted(boxes(shown[0]), key=lambda box: -box.y0)
    assert all(upper.y0 >= lower.y1 - 1.5 for upper, lower in pairwise(first))
    for axis in figure.axes:
        ticks = sorted(boxes(axis.get_xticklabels()), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(ticks))


def test_labels_of_points_do_not_meet_one_another_or_the_edge():
    axis = drawn("cost")[0].axes[0]
    labels = [text for text in axis.texts if text.get_text()]
    assert len(labels) == 20 and any(text.get_text().endswith("(9.30)") for text in labels)
    assert not any(meet(a, b) for a, b in combinations(boxes(labels), 2))
    inside = axis.get_window_extent()
    assert all(box.x0 >= inside.x0 - 1 and box.x1 <= inside.x1 + 1 for box in boxes(labels))


def test_a_row_far_out_is_clipped_with_its_number_and_a_missing_mean_is_a_dash():
    figure, _ = drawn("difference")
    first, second = figure.axes[:2]
    assert [text.get_text() for text in first.texts] == ["–"]
    assert [text.get_text() for text in second.texts] == ["+14"] and second.get_xlim()[1] < 3.0
    better = [Difference("a", 0.0, 0.0, 0.0), *(Difference(n, -0.1, -0.2, -0.05) for n in "bcd")]
    axis = studies.paired_difference_plot({"s": [*better, Difference("e", -50.0, -60.0, -40.0)]}).axes[0]
    assert [text.get_text() for text in axis.texts] == ["-50"] and axis.get_xlim()[0] > -2.0
    marks = [line.get_marker() for line in axis.get_lines() if len(line.get_xdata()) == 1]
    assert marks == ["o", "s", "s", "s", "<"]


def test_bars_of_the_critical_difference_join_what_does_not_differ():
    figure = studies.critical_difference_plot({"a": 1.2, "b": 2.0, "c": 3.6, "d": 3.9}, 1.0)
    bars = [line for line in figure.axes[0].get_lines() if line.get_linewidth() == 3.5]
    ends = [tuple(np.round(line.get_xdata(), 1)) for line in bars]
    assert ends == [(1.2, 2.0), (3.6, 3.9)]
    whole = next(line for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 6)
    assert np.ptp(whole.get_xdata()) == pytest.approx(1.0)
    with pytest.raises(DataError, match="each finite and at least 1"):
        studies.critical_difference_plot({"a": 0.5, "b": 2.0}, 1.0)


@given(st.lists(st.tuples(st.floats(0.01, 99), st.floats(-5, 5)), min_size=1, max_size=9))
def test_the_front_is_what_nothing_beats(numbers):
    points = {str(k): pair for k, pair in enumerate(numbers)}
    front = studies.pareto_front(points)
    for name, (cost, score) in points.items():
        beaten = any(c <= cost and s <= score and (c, s) != (cost, score) for c, s in numbers)
        assert (points[name] in [points[each] for each in front]) == (not beaten)


def test_six_curves_keep_their_colour_and_the_band_is_binomial():
    figure, _ = drawn("calibration")
    axis = figure.axes[0]
    lines = [line for line in axis.get_lines() if len(line.get_xdata()) == LEVELS.size]
    coloured = [line.get_ydata() for line in lines if line.get_color() != studies.PALE]
    distance = sorted((np.abs(row - LEVELS).mean() for row in curves()[SETS[0]].values()), reverse=True)
    assert len(lines) == 20 and len(coloured) == 6
    found = sorted((np.abs(row - LEVELS).mean() for row in coloured), reverse=True)
    np.testing.assert_allclose(found, distance[:6])
    band = axis.collections[0].get_paths()[0].vertices
    low, high = stats.binom.interval(0.95, 60, 0.5)
    middle = band[np.isclose(band[:, 0], 0.5), 1]
    assert (middle.min(), middle.max()) == pytest.approx((low / 60, high / 60))
    some = {name: curves()[name] for name in SETS[:2]}
    chosen = studies.calibration_curves_plot(some, highlight=[ROWS[3]]).axes[1]
    assert sum(isinstance(line, Line2D) and line.get_color() == "#0072B2" for line in chosen.get_lines()) == 1
    with pytest.raises(DataError, match="one value at each of 19 levels"):
        studies.calibration_curves_plot({"s": {"a": np.ones(3)}})


def test_attribution_bars_are_the_shares_in_their_row():
    panels = {
        "s": {"a": {"noise": 1.0}, "b": {"noise": 0.2, "covariance": 0.5, "prior": 0.3}},
        "t": {"b": {"noise": 0.25}},
    }
    figure = studies.attribution_bars(panels)
    bars = [patch for patch in figure.axes[0].patches if patch.get_height() == pytest.approx(0.8)]
    widths = {(round(bar.get_y() + 0.4), round(bar.get_x(), 3)): bar.get_width() for bar in bars if bar.get_width()}
    assert widths == pytest.approx({(0, 0.0): 1.0, (1, 0.0): 0.2, (1, 0.2): 0.5, (1, 0.7): 0.3})
    assert [text.get_text() for text in figure.axes[0].texts] == ["100", "50", "30"]
    alone = next(patch for patch in figure.axes[1].patches if patch.get_height() == pytest.approx(0.8))
    assert (alone.get_y() + 0.4, alone.get_width()) == pytest.approx((1.0, 0.25))  # its own row, not the first
    assert not figure.axes[1].texts  # too narrow for a number


def test_nothing_to_draw_is_refused():
    for draw in (studies.paired_difference_plot, studies.calibration_curves_plot, studies.attribution_bars):
        with pytest.raises(DataError, match="nothing to draw"):
            draw({})
    with pytest.raises(DataError, match="got no point"):
        studies.cost_plot({})
    with pytest.raises(DataError, match=r"got \{'a': \(0.0, 1.0\)\}"):
        studies.cost_plot({"a": (0.0, 1.0)})
