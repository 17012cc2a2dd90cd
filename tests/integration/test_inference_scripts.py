"""The pages of ``docs/inference`` run as they stand, and everything they assert holds."""

import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

PAGES = sorted((ROOT / "docs" / "inference").glob("*.py"))


def test_the_pages_are_there():
    assert {"gated_experts_calibrated", "local_level_with_gaps", "regression_as_an_oracle"} <= {
        page.stem for page in PAGES
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_and_its_statements_hold(page, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(page)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all statements of this page hold\n")
    assert list(tmp_path.iterdir()) == [], "a page leaves nothing behind"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_cells_of_text_and_code(page):
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert text.count("\n# %%\n") >= 3
    assert "matplotlib" not in text
