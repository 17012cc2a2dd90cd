"""Inference in factor graphs, and the sampled ground truth it is judged by.

Importing this package costs nothing: its parts load when they are first used. It never imports ``corners`` or torch, so
that it stays an independent oracle.

Example
-------
>>> import inference
>>> inference.truth.Gamma(shape=2.0, rate=1.0).log_density(1.0)
-1.0
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_PARTS = ("truth",)

__all__ = ["__version__", "truth"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
