"""From the result files of a run to what is committed: scores, failures and provenance in the study's folder."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corners.errors import DataError
from corners.study.committed import (
    Gathering,
    Key,
    number_text,
    read_committed,
    write_failures,
    write_json,
    write_scores,
)
from corners.study.results import FAILURES, FORMAT, OUTDATED, PROVENANCE, RENDERED_WITH, SCORES, Failure, read_json
from corners.study.store import Store, read_cell

if TYPE_CHECKING:
    from corners.study.spec import StudySpec


@dataclass(frozen=True)
class Collected:
    """What collecting did: cell files read, lines from them, committed lines dropped, lines now there; and doubts.

    ``stale`` cell files were left out: they were run under other choices than the study has now. ``outdated`` lines
    are committed and are of other choices too. ``unchecked`` says why neither could be looked at.
    """

    cells: int
    run: int
    dropped: int
    lines: int
    stale: int
    outdated: int
    unchecked: str = ""

    def __str__(self) -> str:
        parts = [f"{self.run} lines from {self.cells} cell files, {self.lines} in all"]
        parts += [f"{self.dropped} dropped (no longer in the study)"] if self.dropped else []
        parts += [f"{self.stale} stale cell files left out (run the study again)"] if self.stale else []
        parts += [f"{self.outdated} lines of an earlier state of the study"] if self.outdated else []
        parts += [f"not looked at whether they are stale: {self.unchecked}"] if self.unchecked else []
        return "; ".join(parts)


@dataclass(frozen=True)
class Wanted:
    """Fingerprints of the cells as the study stands, by cell and by line; ``unchecked`` says why there are none."""

    cells: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[Key, str] = field(default_factory=dict)
    unchecked: str = ""


def collect(study: "StudySpec") -> Collected:
    """Merge the cell files of a study with what its folder holds, and write the three files anew.

    Lines of a run cell replace those of the same (data set, row, seed); lines that the study no longer plans are
    dropped; a cell that failed leaves what was committed before and is listed as a failure. Equal results give equal
    files.

    Raises
    ------
    DataError : a file has a newer format, or there is nothing at all.  OutputError : a file cannot be written.
    """
    plan = _planned_lines(study)
    committed, wanted = read_committed(study.folder), _wanted(study)
    fresh, stale = _read_cells(study, wanted)
    run = {key: line for key, line in fresh.lines.items() if key in plan}
    both = {key: line for key, line in committed.lines.items() if key in plan} | run
    lines = {key: both[key] for key in plan if key in both}
    failures = _merged_failures(committed, fresh, plan)
    if not lines and not failures:
        raise DataError(f"{study.folder} has no results, nor has {study.runs}; first: corners run {study.folder}")
    outdated = [key for key, line in lines.items() if wanted.lines.get(key, line["fingerprint"]) != line["fingerprint"]]
    previous = read_json(study.folder / PROVENANCE)
    kept = {
        OUTDATED: previous.get(OUTDATED, {}) if wanted.unchecked else _counts(outdated),
        RENDERED_WITH: previous.get(RENDERED_WITH, {}),
    }
    write_scores(study.folder / SCORES, lines)
    write_failures(study.folder / FAILURES, failures)
    cells = _kept_cells(committed.cells, fresh.cells, set(lines))
    write_json(study.folder / PROVENANCE, _provenance(study.name, cells, lines) | kept)
    dropped = len(committed.lines.keys() - plan.keys())
    return Collected(len(fresh.cells), len(run), dropped, len(lines), stale, len(outdated), wanted.unchecked)


def _planned_lines(study: "StudySpec") -> dict[Key, None]:
    """Every (data set, row, seed) of the study, in the order of its file."""
    return {
        (dataset, row.name, seed): None
        for dataset in study.datasets
        for row in study.rows_of(dataset)
        for seed in study.seeds_of(dataset, row.name)
    }


def _wanted(study: "StudySpec") -> Wanted:
    """What the numbers must be determined by; only where something was run, since the tables are needed for it."""
    from corners.study.outstanding import plan_study

    if not study.runs.is_dir():
        return Wanted(unchecked="nothing was run here")
    try:
        planned = [each for each in plan_study(study) if each.fingerprint is not None]
    except DataError as error:
        return Wanted(unchecked=str(error))
    cells = {each.cell.name: str(each.fingerprint) for each in planned}
    lines = {
        (each.cell.dataset, each.cell.row, seed): str(each.fingerprint) for each in planned for seed in each.cell.seeds
    }
    return Wanted(cells, lines)


def _merged_failures(committed: Gathering, fresh: Gathering, plan: Mapping[Key, None]) -> list[Failure]:
    """Failures in the order of the study; what was run here says what failed of it."""
    touched = {(cell["dataset"], cell["row"]) for cell in fresh.cells.values()} | set(fresh.failures)
    both = {place: said for place, said in committed.failures.items() if place not in touched} | fresh.failures
    places = dict.fromkeys((dataset, row) for dataset, row, _ in plan)
    return [failure for place in places for failure in both.get(place, ())]


def _counts(keys: Iterable[Key]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for dataset, row, _ in keys:
        counts.setdefault(dataset, {})[row] = counts.get(dataset, {}).get(row, 0) + 1
    return counts


def _read_cells(study: "StudySpec", wanted: Wanted) -> tuple[Gathering, int]:
    """Every cell of the study that was run here, whether it succeeded or failed, and how many stale ones there are."""
    gathering, store, stale = Gathering(), Store(study.runs), 0
    for cell in study.cells():
        if store.path(cell).is_file():
            content = read_cell(store.path(cell))
            if content["fingerprint"] == wanted.cells.get(cell.name, content["fingerprint"]):
                _add_cell(gathering, cell.name, content)
            else:
                stale += 1
        reason = store.failure(cell)
        if reason is not None:
            failure = Failure(cell.dataset, cell.row, " ".join(reason.split()))
            listed = gathering.failures.setdefault((cell.dataset, cell.row), [])
            if failure not in listed:
                listed.append(failure)
    return gathering, stale


def _add_cell(gathering: Gathering, name: str, content: Mapping[str, Any]) -> None:
    provenance = content["provenance"]
    gathering.cells[name] = {
        "dataset": content["dataset"],
        "row": content["row"],
        "seeds": content["seeds"],
        "seconds": round(float(content["seconds"]), 3),
        "date": provenance.get("date", ""),
        "commit": provenance.get("commit") or "",
        "data": provenance.get("settings", {}).get("data_sha256", ""),
        "environment": {key: provenance.get(key, {}) for key in ("versions", "machine")},
    }
    for record in content["records"]:
        key = (content["dataset"], content["row"], int(record["seed"]))
        facts = {"code": record["code"], "status": record["status"], "n_test": str(record["n_test"])}
        values = {quantity: number_text(value) for quantity, value in record["values"].items()}
        texts = {"dataset": key[0], "row": key[1], "seed": str(key[2]), "fingerprint": content["fingerprint"]}
        gathering.lines[key] = texts | facts | values


def _kept_cells(
    known: Mapping[str, dict[str, Any]], fresh: Mapping[str, dict[str, Any]], lines: set[Key]
) -> dict[str, dict[str, Any]]:
    """Cells that some line comes from: a committed one stands while a run one does not hold all of its seeds."""
    run = {(cell["dataset"], cell["row"], seed) for cell in fresh.values() for seed in cell["seeds"]}
    kept = {}
    for name, cell in (*known.items(), *fresh.items()):
        own = {(cell["dataset"], cell["row"], seed) for seed in cell["seeds"]} & lines
        if name in fresh or own - run:
            kept[name] = fresh.get(name, cell)
    return {name: kept[name] for name in sorted(kept)}


def _provenance(name: str, cells: Mapping[str, Mapping[str, Any]], lines: Iterable[Key]) -> dict[str, Any]:
    """Where every line comes from; environments that several cells share are written once."""
    texts = sorted({json.dumps(cell["environment"], sort_keys=True) for cell in cells.values()})
    dates = sorted(cell["date"] for cell in cells.values() if cell["date"])
    seconds: dict[str, dict[str, float]] = {}
    for cell in cells.values():
        row = seconds.setdefault(cell["dataset"], {})
        row[cell["row"]] = round(row.get(cell["row"], 0.0) + cell["seconds"], 3)
    places = {text: place for place, text in enumerate(texts)}
    return {
        "format": FORMAT,
        "study": name,
        "seeds": sorted({seed for _, _, seed in lines}),
        "dates": {"first": dates[0], "last": dates[-1]} if dates else {},
        "commits": sorted({cell["commit"] for cell in cells.values()} - {""}),
        "environments": [json.loads(text) for text in texts],
        "wall_seconds": seconds,
        "cells": {
            name: {**cell, "environment": places[json.dumps(cell["environment"], sort_keys=True)]}
            for name, cell in cells.items()
        },
    }
