"""The claims of the theory as something to run: statement, check and verdict, one file each (theory 13).

Example
-------
>>> from corners.claims import verify
>>> str(verify(["evidence_is_sequential"]).rows[0].finding.verdict)
'holds'
"""

import importlib
from typing import Any

from corners.registry import Registry

CLAIMS = Registry("claim", "corners.claims")

_HOMES = {"verify": "_ledger", "Ledger": "_ledger", "Problem": "_problems", "problem_of": "_problems"}

__all__ = ["CLAIMS", "Ledger", "Problem", "problem_of", "verify"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
