"""The committed files of a study: scores packed so that equal numbers give equal files, failures, provenance."""

import csv
import gzip
import io
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corners.errors import OutputError
from corners.study.results import FACTS, FAILURES, KEYS, PROVENANCE, SCORES, Failure, read_failures, read_json

DIGITS = 9
Line = dict[str, str]
Key = tuple[str, str, int]


@dataclass
class Gathering:
    """What is there while it is put together: lines by key, cells by name, failures by data set and row."""

    lines: dict[Key, Line] = field(default_factory=dict)
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[tuple[str, str], list[Failure]] = field(default_factory=dict)

    def holds(self, dataset: str, row: str, seeds: Iterable[int], fingerprint: str) -> bool:
        """Whether there is a line of that fingerprint for each of the seeds."""
        lines = (self.lines.get((dataset, row, seed)) for seed in seeds)
        return all(line is not None and line["fingerprint"] == fingerprint for line in lines)

    def seconds(self, cell: str) -> float | None:
        """What a cell took, where that is known."""
        return float(self.cells[cell]["seconds"]) if cell in self.cells else None


def read_committed(folder: Path) -> Gathering:
    """Lines, cells and failures as they are committed; empty where there is nothing yet."""
    gathering = Gathering()
    provenance = read_json(folder / PROVENANCE)
    environments = provenance.get("environments", [])
    for name, cell in provenance.get("cells", {}).items():
        gathering.cells[name] = cell | {"environment": environments[cell["environment"]]}
    if (folder / SCORES).is_file():
        with gzip.open(folder / SCORES, "rt", encoding="utf-8", newline="") as stream:
            for line in csv.DictReader(stream):
                gathering.lines[line["dataset"], line["row"], int(line["seed"])] = line
    for failure in read_failures(folder / FAILURES):
        gathering.failures.setdefault((failure.dataset, failure.row), []).append(failure)
    return gathering


def number_text(value: float) -> str:
    """A number to nine significant digits, as Python writes it; nothing for an undefined one.

    Example
    -------
    >>> number_text(0.1 + 0.2), number_text(float("nan")), number_text(float("inf"))
    ('0.3', '', 'inf')
    """
    return "" if math.isnan(value) else repr(float(f"{value:.{DIGITS}g}"))


def write_scores(path: Path, lines: Mapping[Key, Line]) -> None:
    """Written only where the text differs, since another zlib may pack the same text into other bytes."""
    quantities = sorted({name for line in lines.values() for name in line} - {*KEYS, *FACTS})
    filled = [name for name in quantities if any(line.get(name) for line in lines.values())]
    text = csv_text((*KEYS, *FACTS, *filled), lines.values())
    if path.is_file() and gzip.decompress(path.read_bytes()) == text.encode():
        return
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
        stream.write(text.encode())
    write_whole(path, buffer.getvalue())


def write_failures(path: Path, failures: Iterable[Failure]) -> None:
    """One line a failure, with its reason."""
    lines = [{"dataset": each.dataset, "row": each.row, "reason": each.reason} for each in failures]
    write_whole(path, csv_text(("dataset", "row", "reason"), lines).encode())


def csv_text(columns: tuple[str, ...], lines: Iterable[Mapping[str, str]]) -> str:
    """Lines with a header; what a line does not have is empty."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Strict JSON, in one step."""
    write_whole(path, (json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, then rename; a reader never sees half a file.

    Raises
    ------
    OutputError : the file cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path} ({error.strerror or error}); make its folder writable") from error
