"""One cell from its specification to the numbers that are kept: load, split, fit, score, diagnose."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison.provenance import Provenance
from corners.comparison.records import json_ready
from corners.errors import CornersError, DataError
from corners.method import Fit
from corners.study.cells import FORMAT, Cell, Recipe, fingerprint
from corners.study.fitting import WIDE, fit_method, quadrature_heard
from corners.study.inspection import class_draws, latent_facts
from corners.study.plan import table_splits
from corners.study.scoring import score_values

if TYPE_CHECKING:
    from corners.data.split import Split

Watch = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Job:
    """A cell to be run, what its numbers must be determined by, and what its provenance cannot find out itself."""

    cell: Cell
    fingerprint: str
    date: str
    command: str


@dataclass(frozen=True)
class Failure:
    """Why a cell has no result."""

    reason: str
    traceback: str = ""


def run_cell(job: Job, watch: Watch | None = None) -> dict[str, Any] | Failure:
    """The content of the cell's file, or why there is none; the failure of one cell never reaches another.

    Raises
    ------
    KeyboardInterrupt : an interrupt, also one that a method caught itself; half-trained replicates are no result.
    """
    started = time.perf_counter()
    try:
        return _result(job, watch, started)
    except Exception as error:  # whatever library it comes from, the other cells go on
        reason = str(error) if isinstance(error, CornersError) else f"{type(error).__name__}: {error}"
        return Failure(reason, traceback.format_exc())


def _result(job: Job, watch: Watch | None, started: float) -> dict[str, Any]:
    from corners.data.loading import load

    cell = job.cell
    data = load(cell.dataset)
    splits = table_splits(data, cell.seeds)
    here = fingerprint(cell, data, splits[0].kind)
    if here != job.fingerprint:
        raise DataError(
            f"the table {cell.dataset!r} or this version of the project differs from that of the process that planned "
            "the study; give every worker the same ones"
        )
    recipe = cell.recipe(data)
    fit = _fit(recipe, cell.seeds, splits, watch)
    if any(status.interrupted for status in fit.statuses):
        raise KeyboardInterrupt
    records = [replicate_record(fit, k, split) for k, split in enumerate(splits)]
    content = {
        "format": FORMAT,
        "fingerprint": here,
        "dataset": cell.dataset,
        "row": cell.row,
        "seeds": list(cell.seeds),
        "records": records,
        "seconds": time.perf_counter() - started,
    }
    return json_ready(
        content | {"provenance": _provenance(job, recipe, data.fingerprint, splits[0].kind, content["seconds"])}
    )


def _fit(recipe: Recipe, seeds: tuple[int, ...], splits: "tuple[Split, ...]", watch: Watch | None) -> Fit:
    host = None
    if recipe.host is not None:
        host = fit_method(recipe.host, splits, seeds, progress=watch)
        if any(status.interrupted for status in host.statuses):
            raise KeyboardInterrupt
    return fit_method(recipe.method, splits, seeds, host=host, progress=watch)


def replicate_record(fit: Fit, replicate: int, split: "Split") -> dict[str, Any]:
    """How one replicate ended, and its numbers; a replicate that cannot predict has none.

    A replicate whose predictive or diagnostics break keeps what it has, and its status says so.
    """
    from corners.comparison.failure_modes import diagnose

    status = fit.statuses[replicate]
    usable, said, values = status.usable, [status.sentence], {}
    if usable:
        values |= {"fit_seconds": fit.seconds / len(fit.seeds), **latent_facts(fit, replicate)}
        try:
            with quadrature_heard() as heard:
                values |= predicted_values(fit, replicate, split)
            said += [f"scored: {WIDE}"] if heard and WIDE not in status.remarks else []
        except (CornersError, ArithmeticError, np.linalg.LinAlgError) as error:
            usable = False
            said.append(f"its predictions cannot be scored: {error}")
        try:
            values |= diagnose(fit, replicate, split)
        except (CornersError, ArithmeticError, np.linalg.LinAlgError) as error:
            said.append(f"it cannot be diagnosed: {error}")
    record = {"seed": fit.seeds[replicate], "code": status.code, "status": "; ".join(said), "usable": usable}
    return record | {"n_test": split.test.n, "values": values}


def predicted_values(fit: Fit, replicate: int, split: "Split") -> dict[str, float]:
    """Scores on the test part with what the figures need, and the seconds that predicting it took."""
    started = time.perf_counter()
    predictive = fit.predict(split.test.inputs, replicate=replicate)
    seconds = time.perf_counter() - started
    draws = class_draws(fit, replicate, split.test.inputs) if split.task == "classification" else None
    return score_values(predictive, split.test.targets, draws) | {"predict_seconds": seconds}


def _provenance(job: Job, recipe: Recipe, data_sha256: str, split_kind: str, seconds: float) -> dict[str, Any]:
    cell = job.cell
    settings = {"method": repr(recipe.method), "backbone": repr(recipe.backbone), "data_sha256": data_sha256}
    drawn = "" if split_kind == "predefined" else "the split and "
    return Provenance.gather(
        date=job.date,
        command=job.command,
        wall_seconds=seconds,
        protocol=recipe.protocol.to_dict(),
        settings=settings | {"study": cell.study.name, "split": split_kind},
        seed_info=f"each seed sets {drawn}the initial weights",
    ).to_dict()
