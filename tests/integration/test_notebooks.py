"""The notebooks: committed as run, from the scripts beside them, and their statements hold when they are run again."""

import resource
from pathlib import Path

import nbformat
import pytest

from notebooks.build import FOLDER, execute, read, scripts, settled
from tests.architecture.sources import ROOT

SCRIPTS = scripts()
LARGEST = 300_000
"""Bytes of one executed notebook."""
SECONDS = 60.0
"""Processor time of one notebook, start of the kernel and imports included."""

each_notebook = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def executed(script: Path) -> nbformat.NotebookNode:
    return nbformat.read(script.with_suffix(".ipynb"), as_version=nbformat.NO_CONVERT)


def cells(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_every_script_has_its_notebook_and_every_notebook_its_script():
    assert SCRIPTS, f"there are no notebooks in {FOLDER}"
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {script.stem for script in SCRIPTS}


@each_notebook
def test_the_notebook_is_the_script(script):
    assert cells(executed(script)) == cells(read(script)), "run `make notebooks`"


@each_notebook
def test_it_was_run_from_top_to_bottom_without_an_error(script):
    notebook = executed(script)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert {output.output_type for output in outputs(notebook)} <= {"stream", "display_data"}
    assert all(output.name == "stdout" for output in outputs(notebook) if output.output_type == "stream")


@each_notebook
def test_it_is_small_and_holds_nothing_that_changes_from_run_to_run(script):
    path = script.with_suffix(".ipynb")
    assert path.stat().st_size < LARGEST
    notebook = executed(script)
    text = nbformat.writes(settled(notebook)) + "\n"
    assert text == path.read_text(encoding="utf-8"), "run `make notebooks`"
    assert str(ROOT) not in text


@each_notebook
def test_a_page_asks_shows_and_asserts(script):
    found = read(script).cells
    assert script.read_text(encoding="utf-8").startswith("# %% [markdown]\n# # ")
    assert "**Question.**" in found[0].source
    assert any(cell.source.startswith("## Answer") or "\n## Answer\n" in cell.source for cell in found)
    assert found[-1].cell_type == "code"
    assert found[-1].source.splitlines()[-1].lstrip().startswith("assert ")
    assert any("image/png" in output.get("data", {}) for output in outputs(executed(script)))


@each_notebook
def test_the_index_names_it(script):
    assert f"({script.stem}.ipynb)" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@each_notebook
def test_its_statements_hold_when_it_is_run_again(script, tmp_path):
    before = processor_seconds()
    again = execute(script, tmp_path)
    assert processor_seconds() - before < SECONDS
    assert cells(again) == cells(executed(script))
    assert list(tmp_path.iterdir()) == [], "a page leaves nothing behind"


def processor_seconds() -> float:
    """Processor time of all children that have ended: a busy machine makes nothing slower by this clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
