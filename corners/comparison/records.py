"""Values that JSON can hold: plain numbers, text, lists and mappings; nothing that is not finite."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_number(value: float) -> float | str | None:
    """A number that JSON can hold: NaN as None, infinity as text.

    Example
    -------
    >>> json_number(1.5), json_number(float("nan")), json_number(float("-inf"))
    (1.5, None, '-inf')
    """
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def json_ready(value: Any) -> Any:
    """Mappings, sequences, arrays and numbers, down to what JSON can hold; anything else as its text.

    Example
    -------
    >>> json_ready({"a": (1, np.float64("inf")), 2: np.ones(1)})
    {'a': [1, 'inf'], '2': [1.0]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, Mapping):
        return {str(key): json_ready(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(each) for each in value]
    return value if value is None or isinstance(value, str | bool | int) else str(value)
