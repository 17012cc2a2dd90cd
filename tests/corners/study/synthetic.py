"""A study whose numbers are drawn at random: nothing was trained, only the shape is that of a real one.

Its tables are always there; each borrows the column of another data set in the published tables.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from corners.data.loading import load
from corners.study.cells import fingerprint
from corners.study.plan import table_splits
from corners.study.spec import Cell, StudySpec, read_study
from corners.study.store import Store

PUBLISHED = Path(__file__).parents[3] / "reports" / "published"
LEVELS = np.arange(1, 20) / 20.0
SHIFTS = {"scroll_none": 0.05, "scroll_dense": 0.0, "map": 0.3, "deep_ensemble": 0.2}
LEVEL_OF = {"linear": 3.5, "diabetes": 2.8, "sine": 0.96}
STUDY = """
name = "{name}"
title = "A synthetic study"
question = "Does the report say what the numbers say?"
protocol = {{ base = "paper_v1", jitter = 1e-3 }}
datasets = ["linear", "diabetes", "sine"]
seeds = {seeds}
chunk = 4
[published]
nll = "regression_nll"
rmse = "regression_rmse"
[dataset.linear]
published_name = "yacht"
[dataset.diabetes]
published_name = "boston"
[dataset.sine]
published_name = "wine"
rows = ["scroll_none", "scroll_dense", "map"]
[[rows]]
name = "scroll_none"
label = "SCROLL none"
published = "Bethe-Obs"
[[rows]]
name = "scroll_dense"
label = "SCROLL dense"
published = "Bethe-FG"
[[rows]]
name = "map"
label = "MAP"
published = "MAP"
[[rows]]
name = "deep_ensemble"
label = "deep ensemble"
published = "Deep Ensemble"
[[rows]]
name = "scroll_dense_2l"
method = "scroll_dense"
label = "SCROLL dense, two layers"
hidden = [50, 50]
datasets = ["linear"]
seeds = 3
published = "Bethe-FG-2L"
published_tables = {{ nll = "regression_two_layer_nll" }}
[[rows]]
name = "leave_one_out"
[[contrasts]]
title = "Two layers minus one"
quantity = "nll"
published = "regression_two_minus_one_layer_nll"
pairs = [["scroll_dense_2l", "scroll_dense"]]
"""
ENVIRONMENT = {
    "versions": {"numpy": "2.4.0", "torch": "2.13.0"},
    "machine": {"system": "Linux", "processor": "unknown, 2 logical cores", "python": "3.11.9", "threads": "1"},
}


def make_study(folder: Path, *, name: str = "synthetic", seeds: int = 6) -> StudySpec:
    """The study file, with the published tables beside its folder."""
    home = folder / name
    home.mkdir(parents=True)
    (home / "study.toml").write_text(STUDY.format(name=name, seeds=seeds), encoding="utf-8")
    tables = folder / "published"
    tables.mkdir()
    for path in PUBLISHED.glob("*.csv"):
        (tables / path.name).write_bytes(path.read_bytes())
    return read_study(home)


def values_of(cell: Cell, seed: int, generator: np.random.Generator) -> dict[str, float]:
    """Numbers with the seed in common, so that differences between rows are surer than their means."""
    common = np.random.default_rng(seed).normal(scale=0.1)
    nll = LEVEL_OF[cell.dataset] + common + SHIFTS.get(cell.row, 0.1) + generator.normal(scale=0.02)
    values = {"nll": nll, "rmse": float(np.exp(nll - 1.4)), "crps": float(np.exp(nll - 2.0))}
    coverage = np.clip(LEVELS + 0.05 * generator.normal(), 0.0, 1.0)
    values |= {f"coverage_{round(100 * level):02d}": share for level, share in zip(LEVELS, coverage, strict=True)}
    values |= {"coverage": coverage[17], "calibration_error": float(np.abs(coverage - LEVELS).mean())}
    values |= {"fit_seconds": generator.uniform(0.5, 9.0), "predict_seconds": generator.uniform(1e-3, 0.1)}
    if cell.row == "deep_ensemble":
        values["nll_moment_matched"] = nll + 0.03 + generator.normal(scale=0.01)
    elif cell.row != "map":
        noise = generator.uniform(0.01, 0.06)
        values |= {"noise_share": noise, "covariance_share": 0.9 - noise, "prior_share": 0.1, "belief_share": 1 - noise}
        values |= {
            "prior_precision": float(np.exp(generator.normal(3.0, 2.0))),
            "oracle_gap": generator.uniform(0, 0.1),
        }
    return values


def write_cell(cell: Cell, generator: np.random.Generator, *, skip: Sequence[int] = (), **changes: object) -> None:
    """A result file as a run leaves it; seeds to ``skip`` failed."""
    records = []
    for seed in cell.seeds:
        fine = seed not in skip
        status = (
            "stopped early: validation NLL no longer improved; the best state was restored; noise collapsed: share 1%"
        )
        records.append(
            {
                "seed": seed,
                "code": "stopped_early" if fine else "failed",
                "status": status if fine else "failed before a finite state was reached; nothing can be predicted",
                "usable": fine,
                "n_test": 62,
                "values": {k: float(v) for k, v in values_of(cell, seed, generator).items()} if fine else {},
            }
        )
    data = load(cell.dataset)
    content: Mapping[str, object] = {
        "format": 1,
        "fingerprint": fingerprint(cell, data, table_splits(data, [5])[0].kind),
        "dataset": cell.dataset,
        "row": cell.row,
        "seeds": list(cell.seeds),
        "records": records,
        "seconds": 10.0,
        "provenance": {"date": f"2026-01-{len(cell.row):02d}T00:00:00+00:00", "commit": "abc123", **ENVIRONMENT},
    }
    Store(cell.study.runs).write(cell, {**content, **changes})


def run_all(study: StudySpec, seed: int = 1) -> None:
    """Every cell but the exact one, which fails; one seed of MAP on diabetes fails too."""
    generator = np.random.default_rng(seed)
    for cell in study.cells():
        if cell.row == "leave_one_out":
            Store(study.runs).write_failure(cell, "the peer is <b>missing</b>;\ninstall it", "no traceback")
        else:
            write_cell(cell, generator, skip=(6,) if (cell.dataset, cell.row) == ("diabetes", "map") else ())


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures as four bytes, for tests that are about text: drawing takes most of the time of a report."""
    for name in ("paired_difference", "critical_difference", "cost", "calibration_curves"):
        monkeypatch.setattr(f"corners.comparison.figures.studies.{name}_plot", lambda *_, **__: None)
    monkeypatch.setattr("corners.comparison.figures.studies.attribution_bars", lambda *_, **__: None)
    monkeypatch.setattr("corners.comparison.figures.render", lambda _: b"\x89PNG")
