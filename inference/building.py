"""Models: a Python function of a builder and data, its arguments by name, and the graph it writes on given data."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from inference.builder import Builder
from inference.distributions import Distribution
from inference.errors import DataError, SpecError
from inference.naming import meant
from inference.placing import as_array
from inference.structure import FactorGraph, Known, Variable
from inference.types import Array

__all__ = ["Builder", "Model", "missing", "model"]


class Model:
    """A model function with some of its arguments bound; what ``@model`` makes.

    Example
    -------
    >>> @model
    ... def coin(m, y):
    ...     bias = m.beta("bias", a=1.0, b=1.0)
    ...     m.bernoulli("y", bias, observed=y, plates=m.plate("toss", len(y)))
    >>> coin.arguments
    ('y',)
    """

    def __init__(self, function: Callable[..., None], bound: Mapping[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.bound = function, dict(bound or {})
        self.name = function.__name__
        self._parameters = _parameters(function)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The data it takes, by name."""
        return tuple(self._parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Those without a default and not bound."""
        free = [p.name for p in self._parameters.values() if p.default is inspect.Parameter.empty]
        return tuple(name for name in free if name not in self.bound)

    def bind(self, **data: Any) -> "Model":
        """The same model with these arguments fixed.

        Raises
        ------
        DataError : it does not take one of them.
        """
        self._refuse(data, ())
        return Model(self.function, {**self.bound, **data})

    def build(self, data: Mapping[str, Any] | None = None) -> FactorGraph:
        """The factor graph of the model on this data.

        Raises
        ------
        DataError : an argument is missing or unknown, or its values cannot be used.
        SpecError : the model is not well formed, or writes no factor.
        """
        if not isinstance(data, Mapping | None):
            raise DataError(f"data are given by name, as in dict({self._example()}); got a {type(data).__name__}")
        given = {**self.bound, **(data or {})}
        self._refuse(given, self.required)
        arrays = {k: _converted(v, k) for k, v in given.items()}
        builder = Builder(self.name, arrays)
        self.function(builder, **arrays)
        graph = builder.graph()
        if not graph.factors:
            raise SpecError(f"model {self.name!r} writes no factor; call letters of its first argument, m.normal(...)")
        return graph

    def __call__(self, builder: Builder | None = None, **data: Any) -> Any:
        """Write the model into a larger one: models are sub-models too; what the function returns is returned.

        Raises
        ------
        DataError : an argument is missing or unknown.
        SpecError : it is called without the builder of another model.
        """
        if not isinstance(builder, Builder):
            raise SpecError(
                f"model {self.name!r} is called inside another model, {self.name}(m, ...); to run it: "
                f"infer({self.name}, data=dict({self._example()}))"
            )
        given = {**self.bound, **data}
        self._refuse(given, self.required)
        return self.function(builder, **given)

    def _example(self) -> str:
        return ", ".join(f"{name}=..." for name in self.arguments)

    def _refuse(self, given: Mapping[str, Any], required: tuple[str, ...]) -> None:
        unknown = [k for k in given if k not in self._parameters]
        lacking = [k for k in required if k not in given]
        wrong = [f"does not take {meant(unknown, self.arguments)}"] * bool(unknown)
        wrong += [f"lacks {', '.join(map(repr, lacking))}"] * bool(lacking)
        if wrong:
            raise DataError(
                f"model {self.name!r} {' and '.join(wrong)}; its data are {', '.join(self.arguments) or 'none'}"
            )

    def __repr__(self) -> str:
        return f"Model({self.name}: {', '.join(self.arguments)})"


def model(function: Callable[..., Any]) -> Model:
    """Make a function of a builder and data into a model.

    Raises
    ------
    SpecError : it takes no builder, or its data have no names.

    Example
    -------
    >>> @model
    ... def level(m, y):
    ...     mu = m.normal("mu", mean=0.0, precision=0.01)
    ...     m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))
    >>> len(level.build(dict(y=np.zeros(3))).factors)
    2
    """
    return Model(function)


def missing(*shape: int) -> Array:
    """An array of missing values, to be predicted: ``data=dict(y=missing(10), ...)``.

    Example
    -------
    >>> missing(2)
    array([nan, nan])
    """
    return np.full(shape, np.nan)


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a model function after its builder."""
    said = list(inspect.signature(function).parameters.values())
    nameless = [p.name for p in said if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not said or nameless:
        raise SpecError(
            f"a model is a function of a builder and named data, def {function.__name__}(m, x, y); got parameters "
            f"{inspect.signature(function)}"
        )
    return {p.name: p for p in said[1:]}


def _converted(value: Any, name: str) -> Any:
    """Arrays, frames and lists of numbers as float64; numbers and what is no data as they are."""
    if isinstance(value, str | bytes | Distribution | Variable | Known | Mapping | bool | None) or callable(value):
        return value
    if not isinstance(value, list | tuple) and np.ndim(value) == 0 and not np.ma.isMaskedArray(value):
        return value
    return as_array(value, name)
