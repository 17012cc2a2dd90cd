"""Inference in factor graphs by message passing, and the sampled ground truth it is judged by.

A model is a Python function; constraints say which marginals are joint; out come marginals, predictions and the Bethe
free energy. Importing this package costs nothing: its parts load when they are first used. It never imports
``corners`` or torch, so that it stays an independent oracle.

Example
-------
>>> import inference as P
>>> @P.model
... def level(m, y):
...     mu = m.normal("mu", mean=0.0, precision=1.0)
...     m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))
>>> P.infer(level, data=dict(y=[3.0])).posteriors["mu"]
Normal(mean=1.5, var=0.5)
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "building": ("missing", "model"),
    "callbacks": ("STOP", "AssertMonotone", "EarlyStop", "Event", "Progress", "Trace"),
    "checking": ("check_node",),
    "constraints": ("BeliefPropagation", "Fixed", "Form", "MeanField", "Structured"),
    "distributions": (
        "Bernoulli", "Beta", "Distribution", "Gamma", "LogGamma", "LogNormal", "Mixture", "MvNormal", "Normal",
        "NormalGamma", "PointMass", "StudentT",
    ),
    "errors": (
        "DataError", "Diverged", "DualProjection", "ImproperMarginal", "InferenceError", "LoopyBP", "NoRule",
        "SpecError", "Stalled",
    ),
    "introspection": ("graph",),
    "nodes._base": ("Node",),
    "registry": ("LETTERS",),
    "result": ("Result",),
    "runtime": ("infer",),
    "saving": ("load",),
    "simulation": ("simulate",),
    "streaming": ("StepResult", "Stream"),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_PARTS = ("truth", "words")

__all__ = ["__version__", *_PARTS, *_HOMES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
