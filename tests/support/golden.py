"""Golden files: inputs and expected values with the tolerance each file states."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "golden"


@cache
def golden(name: str) -> dict[str, Any]:
    """One golden file, with numbers and non-finite strings turned into arrays."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def golden_cases(name: str, prefix: str = "") -> list[Any]:
    """Its cases whose id begins with ``prefix``, as pytest parameters."""
    import pytest

    return [pytest.param(case, id=case["id"]) for case in golden(name)["cases"] if case["id"].startswith(prefix)]


def as_array(value: Any) -> np.ndarray:
    """A (nested) list, number or non-finite string such as "inf" as a float64 array."""
    return np.asarray(value, dtype=np.float64)


def assert_golden(name: str, actual: Any, expected: Any, *, label: str = "") -> None:
    """Pass iff |actual - expected| <= abs + rel |expected| with the tolerance of file ``name``."""
    tolerance = golden(name)["tolerance"]
    np.testing.assert_allclose(
        np.asarray(actual, dtype=np.float64),
        as_array(expected),
        rtol=tolerance["rel"],
        atol=tolerance["abs"],
        err_msg=f"{name} {label}",
    )
