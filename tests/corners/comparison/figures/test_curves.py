"""Curves a data set: every line and panel is there, bins are bins, and nothing to draw is refused."""

import numpy as np
import pytest

from corners.comparison.figures import render
from corners.comparison.figures.curves import Curve, curves_plot
from corners.errors import DataError

LINE = Curve(np.array([0.1, 0.5, 1.0]), np.array([0.2, 0.4, 0.9]))


def test_a_panel_a_data_set_and_a_line_a_row():
    figure = curves_plot({"iris": {"a": LINE, "b": LINE}, "sonar": {"b": LINE}}, ("x", "y"), right="diagonal")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["iris", "sonar"]
    assert [len(axis.lines) for axis in figure.axes] == [3, 2]  # with the diagonal
    colours = [axis.lines[-1].get_color() for axis in figure.axes]
    assert colours[0] == colours[1]  # one look a row, whatever the panel
    np.testing.assert_array_equal(figure.axes[1].lines[-1].get_ydata(), LINE.y)
    assert render(figure).startswith(b"\x89PNG")


def test_histograms_are_outlines_of_equal_bins():
    bins = Curve(np.array([0.25, 0.75]), np.array([0.5, 1.5]))
    figure = curves_plot({"quine": {"a": bins}}, ("x", "y"), right="one", band={"quine": (0.5, 1.5)}, steps=True)
    stairs = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_data")]
    np.testing.assert_array_equal(stairs[0].get_data().edges, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(stairs[0].get_data().values, bins.y)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="nothing to draw"):
        curves_plot({}, ("x", "y"))
    with pytest.raises(DataError, match=r"\(2,\) and \(1,\)"):
        Curve(np.zeros(2), np.zeros(1))
