"""Figures of class predictions: drawn with awkward names and empty bins, and showing what they are given."""

import io
import re

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from corners.comparison import figures
from corners.comparison.figures.classification import reliability_plot, selective_plot
from corners.comparison.palette import styles
from corners.comparison.reliability import reliability
from corners.comparison.selective import selective_accuracy
from corners.errors import DataError
from tests.support.laws.score_laws import class_forecast

FORECASTS = {
    "SCROLL, dense": class_forecast(400, 1, sureness=1.0),
    "from $1_ to $2_": class_forecast(400, 1, sureness=3.0),
    "sure": class_forecast(400, 1, sureness=1e4),
}
LOOK = styles(list(FORECASTS))


def drawings():
    yield "reliability", reliability_plot({name: reliability(*one) for name, one in FORECASTS.items()}, LOOK)
    yield "one", reliability_plot({"sure": reliability(*FORECASTS["sure"])}, LOOK)
    yield "selective", selective_plot({name: selective_accuracy(*one) for name, one in FORECASTS.items()}, LOOK)


@pytest.mark.parametrize(("name", "figure"), [pytest.param(n, f, id=n) for n, f in drawings()])
def test_every_figure_is_drawn(name, figure):
    png = figures.render(figure)
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    assert picture.shape[1] == round(figures.WIDTH * figures.DOTS_PER_INCH)
    assert (picture < 128).mean() > 0.002 and picture[0, 0] == 255
    assert not any(re.search(r"(?<!\\)\$", text.get_text()) for text in figure.findobj(Text))
    assert figures.render(figure) == png


def test_a_panel_shows_the_bins_that_hold_points():
    diagram = reliability(*FORECASTS["SCROLL, dense"])
    (axis,) = reliability_plot({"SCROLL, dense": diagram}, LOOK).axes
    held = diagram.count > 0
    drawn = [line for line in axis.lines if line.get_marker() == LOOK["SCROLL, dense"].marker]
    assert len(drawn) == 1
    np.testing.assert_array_equal(drawn[0].get_xdata(), diagram.confidence[held])
    np.testing.assert_array_equal(drawn[0].get_ydata(), diagram.accuracy[held])
    assert f"ECE {diagram.error:.3f}" in [text.get_text() for text in axis.texts]


def test_a_curve_is_a_line_and_its_area_stands_in_the_legend():
    curve = selective_accuracy(*FORECASTS["sure"])
    figure = selective_plot({"sure": curve}, LOOK, "error")
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), curve.risk)
    assert line.get_label() == f"sure  {curve.area:.3f}" and figure.axes[0].get_ylabel() == "error"


@pytest.mark.parametrize("plot", [reliability_plot, selective_plot])
def test_nothing_to_draw_is_refused(plot):
    with pytest.raises(DataError, match="at least one method"):
        plot({}, {})
