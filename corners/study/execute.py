"""One cell from its specification to the numbers that are kept: load, split, fit, score, diagnose."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison.provenance import Provenance
from corners.comparison.records import json_ready
from corners.comparison.scores._base import evaluate
from corners.comparison.scores._central import LEVELS, inside_central
from corners.errors import CornersError, DataError
from corners.method import Fit
from corners.predictive._base import Predictive
from corners.predictive.mixture import MixturePredictive
from corners.study.cells import FORMAT, Cell, fingerprint
from corners.study.plan import regression_splits
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Split

RULES = ("nll", "rmse", "crps", "calibration_error", "coverage")
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
    splits = regression_splits(data, cell.seeds)
    here = fingerprint(cell, data, splits[0].kind)
    if here != job.fingerprint:
        raise DataError(
            f"the table {cell.dataset!r} or this version of the project differs from that of the process that planned "
            "the study; give every worker the same ones"
        )
    fit = _fit(cell, splits, watch)
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
    return json_ready(content | {"provenance": _provenance(job, data.fingerprint, splits[0].kind, content["seconds"])})


def _fit(cell: Cell, splits: "tuple[Split, ...]", watch: Watch | None) -> Fit:
    recipe = cell.recipe
    host = None
    if recipe.host is not None:
        host = recipe.host.fit(splits, cell.seeds, progress=watch)
        if any(status.interrupted for status in host.statuses):
            raise KeyboardInterrupt
    return recipe.method.fit(splits, cell.seeds, host=host, progress=watch)


def replicate_record(fit: Fit, replicate: int, split: "Split") -> dict[str, Any]:
    """How one replicate ended, and its numbers; a replicate that cannot predict has none.

    A replicate whose predictive or diagnostics break keeps what it has, and its status says so.
    """
    from corners.comparison.failure_modes import diagnose

    status = fit.statuses[replicate]
    usable, said, values = status.usable, [status.sentence], {}
    if usable:
        values["fit_seconds"] = fit.seconds / len(fit.seeds)
        try:
            values |= predicted_values(fit, replicate, split)
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
    """Scores on the test part, coverage at 19 levels (theory 11), and the seconds that predicting it took."""
    started = time.perf_counter()
    predictive = fit.predict(split.test.inputs, replicate=replicate)
    seconds = time.perf_counter() - started
    return score_values(predictive, split.test.targets) | {"predict_seconds": seconds}


def score_values(predictive: Predictive, targets: Float[Array, " N"]) -> dict[str, float]:
    """Every score by name; a mixture also has the NLL of the Gaussian of its moments.

    Example
    -------
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> values = score_values(GaussianPredictive(np.zeros(2), np.ones(2)), np.array([0.0, 1.0]))
    >>> values["coverage_65"], values["coverage_70"]
    (0.5, 1.0)
    """
    scores = evaluate(predictive, targets, RULES)
    values = {name: score.mean for name, score in scores.items()} | {"nll_se": scores["nll"].se}
    shares = inside_central(predictive, targets, LEVELS).mean(axis=1)
    values |= {f"coverage_{round(100 * level):02d}": float(share) for level, share in zip(LEVELS, shares, strict=True)}
    if isinstance(predictive, MixturePredictive):
        values["nll_moment_matched"] = evaluate(predictive.moment_matched, targets, ("nll",))["nll"].mean
    return values


def _provenance(job: Job, data_sha256: str, split_kind: str, seconds: float) -> dict[str, Any]:
    cell, recipe = job.cell, job.cell.recipe
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
