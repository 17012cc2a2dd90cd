"""Files of finished cells: written whole or not at all, refused when newer, and told from stale ones."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corners.errors import DataError, OutputError
from corners.study.cells import FORMAT, Cell

DONE, MISSING, STALE, FAILED = "done", "missing", "stale", "failed"


@dataclass(frozen=True)
class Store:
    """The folder of a study's cell files.

    Example
    -------
    >>> Store(Path("runs")).folder.name
    'runs'
    """

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where the result of a cell is, or will be."""
        return self.folder / f"{cell.name}.json"

    def failure_path(self, cell: Cell) -> Path:
        """Where it is written why a cell could not run."""
        return self.folder / f"{cell.name}.failed.json"

    def state(self, cell: Cell, fingerprint: str) -> str:
        """``"done"``; ``"stale"``: the result is of another fingerprint; ``"failed"``: no result, but a reason why;
        ``"missing"``.

        Raises
        ------
        DataError : the file is of a newer format, or is no cell file.
        """
        if self.path(cell).is_file():
            return DONE if read_cell(self.path(cell))["fingerprint"] == fingerprint else STALE
        return FAILED if self.failure_path(cell).is_file() else MISSING

    def write(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Keep the result of a cell; it takes the place of an older one, and of an earlier failure."""
        _write_json(self.path(cell), result)
        self.failure_path(cell).unlink(missing_ok=True)

    def write_failure(self, cell: Cell, reason: str, traceback: str = "") -> None:
        """Keep why a cell could not run; a result of an earlier run stays."""
        content = {"format": FORMAT, "dataset": cell.dataset, "row": cell.row, "seeds": list(cell.seeds)}
        _write_json(self.failure_path(cell), content | {"reason": reason, "traceback": traceback})

    def failure(self, cell: Cell) -> str | None:
        """Why the last run of a cell failed, if it did."""
        path = self.failure_path(cell)
        return str(_read(path)["reason"]) if path.is_file() else None


def read_cell(path: Path) -> dict[str, Any]:
    """A cell file, with the ``values`` of its records as floats: null is NaN, "inf" is infinity.

    Raises
    ------
    DataError : the file was written by a newer version, or is no cell file.
    """
    content = _read(path)
    try:
        for record in content["records"]:
            record["values"] = {name: _float(value) for name, value in record["values"].items()}
        content["fingerprint"], content["seeds"] = str(content["fingerprint"]), list(content["seeds"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} is no cell file ({error!r}); move it away, and the cell is run again") from error
    return content


def write_whole(path: Path, content: bytes) -> None:
    """A file under its name in one step: a reader finds all of it or nothing, whatever ends the writer.

    Raises
    ------
    OutputError : the folder cannot be made or written to.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror or error}); make its folder writable") from error


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_whole(path, (json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode())


def _read(path: Path) -> dict[str, Any]:
    """JSON of a format that this version knows."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}); move it away, and the cell is run again") from error
    version = content.get("format") if isinstance(content, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"{path} has no format number; it is no cell file. Move it away, and the cell is run again")
    if version > FORMAT:
        raise DataError(
            f"{path} has format {version}, and this version of bethe-corners reads up to format {FORMAT}; upgrade it, "
            "or move the file away to run the cell again"
        )
    return content


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)
