"""The figures and what they show: derived arrays, styles, and drawings that are there and leave nothing behind."""

import io
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image
from scipy import stats

from corners.comparison import figure_data, figures
from corners.comparison.figure_data import LEVELS, Marginal
from corners.comparison.figures import Difference
from corners.comparison.palette import styles
from corners.predictive.gaussian import GaussianPredictive
from tests.corners.comparison.fakes import SEEDS, fit, split

SPLITS = tuple(split(seed) for seed in SEEDS)


def test_slice_moves_the_most_correlated_input_through_the_median():
    where = figure_data.slice_inputs(SPLITS[0])
    train = SPLITS[0].train
    correlations = [np.corrcoef(column, train.targets)[0, 1] for column in train.inputs.T]
    assert where.column == int(np.argmax(np.abs(correlations))) == 1
    assert where.correlation == pytest.approx(correlations[1])
    np.testing.assert_array_equal(where.inputs[:, 0], np.median(train.inputs[:, 0]))
    assert where.grid.min() < train.inputs[:, 1].min() and where.grid.max() > train.inputs[:, 1].max()
    assert "x1" in where.sentence and "median" in where.sentence and not where.whole


def test_a_constant_input_is_never_chosen_and_one_input_needs_no_slice():
    flat = split(5)
    inputs = np.column_stack([np.ones(30), flat.train.inputs[:, 0]])
    part = type(flat.train)(inputs, flat.train.targets)
    constant = type(flat)(part, part, part, feature_names=["constant", "moving"])
    assert figure_data.slice_inputs(constant).label == "moving"
    single = figure_data.slice_inputs(split(5, width=1))
    assert single.whole and "one input" in single.sentence


def test_bands_are_the_central_intervals():
    bands = figure_data.predictive_bands(GaussianPredictive(np.array([1.0]), np.array([4.0])))
    half = 2.0 * stats.norm.ppf(0.975)
    np.testing.assert_allclose([bands.outer[0][0], bands.outer[1][0]], [1.0 - half, 1.0 + half], rtol=1e-12)
    np.testing.assert_allclose(bands.inner[1][0], 1.0 + 2.0 * stats.norm.ppf(0.75), rtol=1e-12)


def test_calibration_pools_seeds_and_bands_are_binomial():
    found = figure_data.calibration(fit("exact", SPLITS, SEEDS), SPLITS, [0, 2])
    assert found.pit.size == 40 and found.points == 20
    expected = [(np.abs(2 * found.pit - 1) <= level + 1e-12).mean() for level in LEVELS]
    np.testing.assert_allclose(found.coverage, expected, atol=1e-12)
    low, high = found.coverage_band()
    assert low[9] == stats.binom.ppf(0.025, 20, 0.5) / 20 and high[9] == stats.binom.ppf(0.975, 20, 0.5) / 20
    floor, ceiling = found.histogram_band(10)
    assert floor == 0.0 and ceiling == stats.binom.ppf(0.975, 20, 0.1) * 10 / 20


def test_marginals_take_the_weights_farthest_from_zero():
    draws = np.random.default_rng(0).normal(size=(500, 4)) + np.array([0.0, 5.0, 1.0, -9.0])
    chosen = figure_data.marginals(draws, np.arange(4.0), np.array([1.0, 4.0, 9.0, 16.0]), count=2)
    assert [each.weight for each in chosen] == [3, 1]
    assert (chosen[0].mean, chosen[0].scale) == (3.0, 4.0)


def test_training_curves_keep_the_lowest_step_and_skip_what_is_missing():
    one = fit("exact", SPLITS, SEEDS)
    one.trace.values["validation_nll"][1, 25:] = np.nan
    one.trace.values["validation_nll"][2] = np.nan
    curves = figure_data.training_curves(one)
    assert [curve.selected_step for curve in curves] == [20.0, 20.0]
    assert curves[1].steps.max() == 25.0 and np.isfinite(curves[1].values).all()
    del one.trace.values["validation_nll"]
    assert figure_data.training_curves(one) == []


def test_every_method_has_a_look_of_its_own():
    look = styles([f"method {k}" for k in range(17)])
    assert len({(style.colour, style.dash) for style in look.values()}) == 17
    assert "#F0E442" not in {style.colour for style in look.values()}  # yellow vanishes on white


def drawings():
    """Every kind of figure, with awkward names and values."""
    names = ["plain", "from $1_ to $2_"]
    look = styles(names)
    where = figure_data.slice_inputs(split(5, feature_names=["x", "cost, $a_ to $b_"]))
    fits = {name: fit("exact", SPLITS, SEEDS, shift=0.3 * k) for k, name in enumerate(names)}
    bands = {name: figure_data.predictive_bands(one.predict(where.inputs)) for name, one in fits.items()}
    rows = [Difference("plain", 0.0, 0.0, 0.0), Difference("from $1_ to $2_", 50.0, 40.0, 60.0)]
    draws = np.random.default_rng(0).normal(size=300)
    gaps = {"plain": (0.0, 1e-15, 0.0), "from $1_ to $2_": (-1e6, np.inf, 3.0)}
    yield "difference", figures.difference_plot(rows, look, "NLL minus best")
    yield "bands", figures.band_plot(where, bands, look, "a target, $c_ to $d_" * 9)
    rows_of = {name: figure_data.calibration(one, SPLITS, [0]) for name, one in fits.items()}
    yield "calibration", figures.calibration_plot(rows_of, look)
    point, wide = Marginal(0, draws, 0.1, 0.0), Marginal(1, draws, 0.0, 1e-3)
    yield "marginals", figures.marginal_plot({"plain": [point, wide], "from $1_ to $2_": [wide]}, look)
    yield "shares", figures.share_plot({"plain": (0.9, 0.1, 0.0), "from $1_ to $2_": (0.2, 0.3, 0.5)}, ("a", "b", "c"))
    yield "gaps", figures.gap_plot({"MAP": gaps, "Bethe": gaps})
    yield "traces", figures.trace_plot({name: figure_data.training_curves(one) for name, one in fits.items()}, look)


@pytest.mark.parametrize(("name", "figure"), [pytest.param(n, f, id=n) for n, f in drawings()])
def test_every_figure_is_drawn(name, figure):
    png = figures.render(figure)
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    assert picture.shape[1] == round(figures.WIDTH * figures.DOTS_PER_INCH)
    assert (picture < 128).mean() > 0.002 and picture[0, 0] == 255  # dark ink on white
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert not any(re.search(r"(?<!\\)\$", text) for text in texts)  # a dollar sign would start mathematics
    assert figures.render(figure) == png


def test_a_method_far_behind_is_clipped_and_its_number_kept():
    rows = [
        Difference("a", 0.0, 0.0, 0.0),
        *(Difference(n, 0.1, 0.05, 0.15) for n in "bcd"),
        Difference("e", 90.0, 80.0, 99.0),
    ]
    figure = figures.difference_plot(rows, styles("abcde"), "NLL minus best")
    axis = figure.axes[0]
    assert axis.get_xlim()[1] < 2.0
    assert [text.get_text() for text in axis.texts] == ["best", "+0.1", "+0.1", "+0.1", "+90"]


def test_labels_of_one_axis_do_not_meet():
    gaps = {"a": (1e-3, -40.0, 1e5), "b": (0.2, 30.0, -1e6)}
    figure = figures.gap_plot({"MAP": gaps})
    figures.render(figure)
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    boxes.sort(key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_importing_the_comparison_draws_nothing_and_drawing_leaves_no_global_state():
    program = (
        "import sys, corners.comparison.comparison, corners.comparison.figures\n"
        "assert 'matplotlib' not in sys.modules and 'pandas' not in sys.modules and 'torch' not in sys.modules\n"
        "from corners.comparison.figures import Difference, difference_plot, render\n"
        "from corners.comparison.palette import styles\n"
        "figure = difference_plot([Difference('a', 0, 0, 0), Difference('b', 1, 0, 2)], styles('ab'), 'x')\n"
        "render(figure)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
