"""Small studies for tests: their files, and work that stands in for training."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from corners.study.cells import Cell
from corners.study.execute import Job
from corners.study.spec import StudySpec, read_study

HEAD = """
name = "small"
title = "Small"
question = "Does it run?"
protocol = { base = "default", max_steps = 4, patience = 4 }
datasets = ["linear", "sine"]
seeds = 3
chunk = 2
hidden = [3]
"""
ROWS = """
[[rows]]
name = "scroll_none"
[[rows]]
name = "linear_model"
method = "scroll_dense"
hidden = []
"""


def written(folder: Path, text: str = HEAD + ROWS) -> Path:
    """The study file in a folder that bears the study's name."""
    place = folder / "small"
    place.mkdir(exist_ok=True, parents=True)
    (place / "study.toml").write_text(text, encoding="utf-8")
    return place


def small_study(folder: Path, text: str = HEAD + ROWS) -> StudySpec:
    return read_study(written(folder, text))


def result_of(job: Job, seconds: float = 1.0) -> dict[str, Any]:
    """A cell file's content without training."""
    cell = job.cell
    content = {"format": 1, "fingerprint": job.fingerprint, "dataset": cell.dataset, "row": cell.row}
    return content | {"seeds": list(cell.seeds), "records": [], "seconds": seconds, "provenance": {}}


def finished_names(study: StudySpec) -> list[str]:
    return sorted(path.stem for path in study.runs.glob("*.json") if not path.stem.endswith(".failed"))


def log_start(folder: Path, name: str) -> None:
    """One line a start, whole whichever process writes it."""
    handle = os.open(folder / "starts", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{name}\n".encode())
    os.close(handle)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text(encoding="utf-8").split()


def wait_for(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def die_once(marker: Path) -> None:
    """End this process as the kernel does where memory is short, the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def deadly_cell(job: Job) -> dict[str, Any]:
    """Work for a cluster: the cell ``linear / scroll_none, seed 7`` kills its worker once half of the rest is kept."""
    cell: Cell = job.cell
    folder = cell.study.folder
    log_start(folder, cell.name)
    if cell.name == "linear--scroll_none--7-7":
        wait_for(lambda: len(finished_names(cell.study)) >= (len(cell.study.cells()) - 1) // 2)
        kept = finished_names(cell.study)
        if not (folder / "killed").exists():
            (folder / "kept").write_text("\n".join(kept), encoding="utf-8")
        die_once(folder / "killed")
    return result_of(job)
