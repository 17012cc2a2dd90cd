"""Every figure; the only modules that import matplotlib, and only when a figure is drawn.

Figures are built with matplotlib's object interface: no pyplot, no global state, nothing to close. Those of one
comparison are named here, those of a study stand in ``figures.studies``.
"""

from corners.comparison.figures._style import DOTS_PER_INCH as DOTS_PER_INCH
from corners.comparison.figures._style import WIDTH as WIDTH
from corners.comparison.figures._style import render as render
from corners.comparison.figures.classification import reliability_plot as reliability_plot
from corners.comparison.figures.classification import selective_plot as selective_plot
from corners.comparison.figures.comparisons import Difference as Difference
from corners.comparison.figures.comparisons import band_plot as band_plot
from corners.comparison.figures.comparisons import calibration_plot as calibration_plot
from corners.comparison.figures.comparisons import difference_plot as difference_plot
from corners.comparison.figures.comparisons import gap_plot as gap_plot
from corners.comparison.figures.comparisons import marginal_plot as marginal_plot
from corners.comparison.figures.comparisons import share_plot as share_plot
from corners.comparison.figures.comparisons import trace_plot as trace_plot
from corners.comparison.figures.planes import plane_plot as plane_plot
