"""The scores of a comparison for other programs: flat rows and a labelled array."""

from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison.records import json_number

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison


def seed_records(comparison: "Comparison") -> list[dict[str, Any]]:
    """One row a method, seed and score of the default table; methods that could not run have the reason."""
    rows = []
    for method in comparison.fits:
        for k, seed in enumerate(comparison.seeds):
            head = {"dataset": comparison.dataset_name, "method": method, "seed": seed}
            status = comparison.statuses(method)[k].sentence
            rows += [head | _seed_record(comparison, rule, method, k, status) for rule in comparison.rules]
    for method, reason in comparison.unavailable.items():
        head = {"dataset": comparison.dataset_name, "method": method, "seed": None, "status": f"unavailable: {reason}"}
        rows += [head | {"score": rule, "mean": None, "se": None, "n": 0, "unit": None} for rule in comparison.rules]
    return rows


def _seed_record(comparison: "Comparison", rule: str, method: str, replicate: int, status: str) -> dict[str, Any]:
    score = comparison.score(rule, method, replicate)
    if score is None:
        return {"score": rule, "mean": None, "se": None, "n": 0, "unit": None, "status": status}
    numbers = {"mean": json_number(score.mean), "se": json_number(score.se), "n": score.n}
    return {"score": score.name, **numbers, "unit": score.unit, "status": status}


def to_xarray(comparison: "Comparison") -> Any:
    """``mean`` and ``se`` over (fit, seed, score), NaN where a replicate cannot predict."""
    import xarray

    rules = comparison.rules
    shape = (len(comparison.fits), len(comparison.seeds), len(rules))
    values = {"mean": np.full(shape, np.nan), "se": np.full(shape, np.nan)}
    units = {}
    for method, k in comparison.usable():
        for j, rule in enumerate(rules):
            score: Any = comparison.score(rule, method, k)
            place = (list(comparison.fits).index(method), k, j)
            values["mean"][place], values["se"][place] = score.mean, score.se
            units[rule] = score.unit
    dimensions = ("fit", "seed", "score")
    return xarray.Dataset(
        {name: (dimensions, array) for name, array in values.items()},
        coords={
            "fit": list(comparison.fits),
            "seed": list(comparison.seeds),
            "score": list(rules),
            "unit": ("score", [units.get(rule, "") for rule in rules]),
        },
        attrs={
            "dataset": comparison.dataset_name,
            "unavailable": "; ".join(map(": ".join, comparison.unavailable.items())),
        },
    )
