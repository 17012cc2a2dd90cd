"""Execute the notebooks: a percent script ``NN_name.py`` gives ``NN_name.ipynb`` beside it, pictures included.

``python notebooks/build.py`` builds all of them, ``python notebooks/build.py 02 04`` those whose names begin so. What
varies from run to run without meaning (times, random cell ids, versions) is not kept: an unchanged script gives an
unchanged file on the same machine and libraries.
"""

import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
PATIENCE = 600
"""Seconds after which a notebook is given up, however busy the machine."""
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def scripts() -> list[Path]:
    """The percent scripts in their order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(script: Path) -> nbformat.NotebookNode:
    """The cells of a percent script, without outputs."""
    return jupytext.read(script, fmt="py:percent")


def execute(script: Path, folder: Path) -> nbformat.NotebookNode:
    """Run a script's cells in a new kernel whose working folder is ``folder``; given up after :data:`PATIENCE`.

    Raises
    ------
    CellExecutionError : a cell raised, an assertion that does not hold among others. CellTimeoutError : too slow.
    """
    deadline = time.monotonic() + PATIENCE
    client = NotebookClient(
        read(script),
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": str(folder)}},
        timeout_func=lambda _: max(1, round(deadline - time.monotonic())),
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # the kernel warns of its local socket
    )
    return settled(client.execute(env=environment()))


def environment() -> dict[str, str]:
    """One thread, pictures inside the notebook, this project's packages, and no tables but those that come with it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "CORNERS_DATA")}
    return kept | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(FOLDER.parent)}


def settled(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what changes from run to run."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def main(wanted: list[str]) -> None:
    """Build every notebook, or those whose names begin with one of the words."""
    for script in scripts():
        if wanted and not script.stem.startswith(tuple(wanted)):
            continue
        started = time.monotonic()
        text = nbformat.writes(execute(script, FOLDER)) + "\n"
        script.with_suffix(".ipynb").write_text(text, encoding="utf-8")
        print(f"{script.stem}: {len(text) / 1e3:.0f} kB, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
