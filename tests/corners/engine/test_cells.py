"""The named cells are those of the design, known without torch."""

import subprocess
import sys

from corners.engine.cells import CELLS

DESIGN = [
    "sequential",
    "leave_one_out",
    "shared_closed",
    "scroll_none",
    "scroll_diagonal",
    "scroll_dense",
    "scroll_low_rank",
    "mean_closed_diagonal",
    "mean_closed_dense",
    "mean_closed_dense_shared",
    "laplace_closed",  # the closed route of heads that have no conjugate posterior
]


def test_the_names_are_the_designs():
    assert list(CELLS) == DESIGN


def test_the_axes_are_in_the_name():
    for name, cell in CELLS.items():
        routing = {"scroll": "free", "mean": "mean_closed", "laplace": "laplace"}.get(name.split("_")[0], "closed")
        assert cell.routing == routing
        if routing in ("free", "mean_closed"):
            assert cell.covariance in name
    assert CELLS["sequential"].cavity == "sequential" and CELLS["leave_one_out"].cavity == "leave_one_out"
    assert CELLS["mean_closed_dense"].cavity == "leave_one_out" and CELLS["mean_closed_dense_shared"].cavity == "shared"


def test_listing_them_loads_no_torch():
    code = "import sys, corners.engine.cells; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
