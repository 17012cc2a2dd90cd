"""Named cells as points on the axes; no torch here, so that listing them costs nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Registry names of the three axes, and one line that says what the cell is."""

    cavity: str
    routing: str
    covariance: str
    summary: str


CELLS: dict[str, Cell] = {
    "sequential": Cell("sequential", "closed", "dense", "exact evidence corner: each point scored by its predecessors"),
    "leave_one_out": Cell("leave_one_out", "closed", "dense", "exact corner: each point scored by all others"),
    "shared_closed": Cell("shared", "closed", "dense", "the conjugate posterior scores the data it was fitted to"),
    "scroll_none": Cell("shared", "free", "none", "SCROLL with a point belief (no covariance)"),
    "scroll_diagonal": Cell("shared", "free", "diagonal", "SCROLL with a free diagonal covariance"),
    "scroll_dense": Cell("shared", "free", "dense", "SCROLL with a free dense covariance"),
    "scroll_low_rank": Cell("shared", "free", "low_rank", "SCROLL with a free low-rank plus diagonal covariance"),
    "mean_closed_diagonal": Cell(
        "leave_one_out", "mean_closed", "diagonal", "ridge mean, leave-one-out residuals, free diagonal covariance"
    ),
    "mean_closed_dense": Cell(
        "leave_one_out", "mean_closed", "dense", "ridge mean, leave-one-out residuals, free dense covariance"
    ),
    "mean_closed_dense_shared": Cell(
        "shared", "mean_closed", "dense", "ridge mean, in-sample residuals, free dense covariance"
    ),
    "laplace_closed": Cell(
        "shared", "laplace", "dense", "approximate: the Laplace approximation scores the data it was fitted to"
    ),
}
