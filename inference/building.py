"""The model language: a Python function that takes a builder, and the graph it writes.

``m.<letter>(name, ...)`` places a factor and returns its output. Types, plates and shapes are checked as the call is
made, and the error names the letter, the port, what it holds and what it takes.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from inference.distributions import Distribution
from inference.errors import DataError, SpecError
from inference.nodes._base import Node
from inference.placing import as_array, known, place_known, plates_of
from inference.registry import LETTERS
from inference.structure import Factor, FactorGraph, Held, Known, Plate, Variable
from inference.types import Array


class Builder:
    """What a model function writes to: every letter is a method, besides ``plate``, ``data`` and ``chain``.

    Example
    -------
    >>> m = Builder("coin", {})
    >>> m.beta("bias", a=1.0, b=1.0)
    Variable('bias', probability, plates ())
    """

    def __init__(self, name: str, data: Mapping[str, Any]) -> None:
        self._name, self._data = name, data
        self._plates: dict[str, Plate] = {}
        self._variables: dict[str, Variable] = {}
        self._factors: list[Factor] = []

    def plate(self, name: str, size: int) -> Plate:
        """A named plate; asking again for the same name and size returns the same plate.

        Raises
        ------
        SpecError : the name is taken by a plate of another size.
        """
        plate = self._plates.setdefault(name, Plate(name, int(size)))
        if plate.size != size:
            raise SpecError(f"plate {name!r} has size {plate.size}, not {size}; use another name")
        return plate

    def data(self, name: str, values: Any, plates: Plate | tuple[Plate, ...] = ()) -> Known:
        """A known array with its plates said: the way out where sizes alone do not tell which axis is which plate."""
        array, named = as_array(values, name), plates_of(plates)
        sizes = tuple(p.size for p in named)
        if array.shape[: len(sizes)] != sizes:
            raise SpecError(f"data {name!r} has shape {array.shape}; the plates {_names(named)} have sizes {sizes}")
        return known(name, array, named, array.ndim - len(named))

    def chain(
        self,
        name: str,
        *,
        start: Distribution,
        step: Callable[[Variable], Mapping[str, Any]],
        length: int | Plate,
        plates: Plate | tuple[Plate, ...] = (),
    ) -> Variable:
        """A Gaussian Markov chain: ``start`` at place 0, then one factor from each place to the next.

        ``step`` is given the previous state and returns the arguments of the factor: of ``normal`` (``mean``,
        ``precision``), ``mvnormal`` (``mean``, ``matrix``, ``cov``, ...) or ``softdot`` (``w``, ``phi``, ``tau``).
        The chain's plates are ``plates`` and then time.
        """
        time = length if isinstance(length, Plate) else self.plate(f"{name}.time", length)
        if time.size < 1:
            raise SpecError(f"chain {name!r} has length {time.size}; it needs at least its start")
        outer = plates_of(plates)
        chain = Variable(name, "real", (*outer, time), tuple(start.event_shape), chain=time)
        self._add_variable(chain)
        self._put(f"{name}.start", LETTERS.get("prior")(start), {"x": chain.at(time.name, 0)}, outer)  # pyright: ignore
        if time.size > 1:
            self._step(chain, time, outer, step)
        return chain

    def _step(self, chain: Variable, time: Plate, outer: tuple[Plate, ...], step: Callable[..., Any]) -> None:
        arrows = Plate(f"{time.name}[1:]", time.size - 1)
        previous = chain.at(time.name, slice(None, -1), onto=arrows)
        arguments = dict(step(previous))
        letter = arguments.pop("letter", None) or _letter_of(chain, arguments)
        following = chain.at(time.name, slice(1, None), onto=arrows)
        named = LETTERS.get(letter).arguments(**arguments)
        self.place(letter, f"{chain.name}.step", following, arguments=named, plates=(*outer, arrows))

    def __getattr__(self, letter: str) -> Callable[..., Any]:
        if letter.startswith("_"):
            raise AttributeError(letter)
        LETTERS.get(letter)
        return functools.partial(self._call, letter)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *LETTERS.names()]

    def _call(
        self,
        letter: str,
        name: str | Variable | tuple[str, ...],
        *args: Any,
        observed: Any = None,
        plates: Plate | tuple[Plate, ...] | None = None,
        **given: Any,
    ) -> Any:
        arguments = LETTERS.get(letter).arguments(*args, **given)
        label = name.name if isinstance(name, Variable) else name if isinstance(name, str) else name[0]
        return self.place(letter, label, name, arguments=arguments, observed=observed, plates=plates)

    def place(
        self,
        letter: str,
        label: str,
        output: str | Variable | tuple[str, ...],
        *,
        arguments: Mapping[str, Any],
        observed: Any = None,
        plates: Plate | tuple[Plate, ...] | None = None,
    ) -> Any:
        """Put one factor into the graph; what a letter's method does once its arguments have names."""
        cls = LETTERS.get(letter)
        node, given = _split(cls, letter, arguments)
        outer = self._factor_plates(letter, label, given, output, plates)
        held = {p: place_known(label, letter, p, v, node, given, outer, self._data) for p, v in given.items()}
        _check_types(node, label, held)
        _check_apart(letter, label, held)
        returned = self._outputs(node, label, output, observed, held, outer)
        self._put(self._unique(label), node, {p: held[p] for p in node.ports}, outer)
        return returned

    def _outputs(
        self, node: Node, label: str, output: Any, observed: Any, held: dict[str, Held], plates: tuple[Plate, ...]
    ) -> Any:
        names = (output,) if isinstance(output, str | Variable) else tuple(output)
        if len(names) != len(node.outputs):
            raise SpecError(f"{node.letter} makes {len(node.outputs)} variables {node.outputs}; got names {names}")
        made = []
        for port, name in zip(node.outputs, names, strict=True):
            event = node.output_event(port, held)
            if observed is not None:
                values = place_known(label, node.letter, port, observed, node, held, plates, self._data, event)
                held[port] = values
            elif isinstance(name, Variable):
                held[port] = name
            else:
                held[port] = self._add_variable(Variable(name, node.port_types()[port], plates, event))
            made.append(held[port])
        _check_types(node, label, {p: held[p] for p in node.outputs})
        return made[0] if len(made) == 1 else tuple(made)

    def _factor_plates(
        self, letter: str, label: str, given: Mapping[str, Any], output: Any, plates: Any
    ) -> tuple[Plate, ...]:
        held = [v for v in (*given.values(), output) if isinstance(v, Variable | Known)]
        union = {p.name: p for v in held for p in v.plates}
        if plates is None:
            return tuple(union.values())
        outer = plates_of(plates)
        lost = [name for name in union if name not in {p.name for p in outer}]
        if lost:
            raise SpecError(
                f"{letter} {label!r} is over plates {_names(outer)}, but what it holds has also {lost}; "
                "a factor is repeated over every plate of its ports: add them to plates="
            )
        return outer

    def _add_variable(self, variable: Variable) -> Variable:
        if variable.name in self._variables:
            raise SpecError(f"there are two variables {variable.name!r}; every name is used once")
        self._variables[variable.name] = variable
        return variable

    def _unique(self, label: str) -> str:
        taken = {f.name for f in self._factors}
        return next(n for k in range(len(taken) + 1) if (n := label if k == 0 else f"{label}#{k + 1}") not in taken)

    def _put(self, name: str, node: Node, ports: Mapping[str, Held], plates: tuple[Plate, ...]) -> None:
        self._factors.append(Factor(name, node, ports, plates))
        self._plates |= {p.name: p for p in plates}

    def graph(self) -> FactorGraph:
        """The graph written so far."""
        return FactorGraph(self._name, dict(self._plates), dict(self._variables), tuple(self._factors), self._data)


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
        self._signature = inspect.Signature(list(inspect.signature(function).parameters.values())[1:])

    @property
    def arguments(self) -> tuple[str, ...]:
        """The data it takes, by name."""
        return tuple(self._signature.parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Those without a default and not bound."""
        free = [p for p in self._signature.parameters.values() if p.default is inspect.Parameter.empty]
        return tuple(p.name for p in free if p.name not in self.bound)

    def bind(self, **data: Any) -> "Model":
        """The same model with these arguments fixed."""
        return Model(self.function, {**self.bound, **data})

    def build(self, data: Mapping[str, Any] | None = None) -> FactorGraph:
        """The factor graph of the model on this data.

        Raises
        ------
        DataError : an argument is missing or unknown, or its values cannot be used.
        SpecError : the model is not well formed.
        """
        given = {**self.bound, **(data or {})}
        unknown = [k for k in given if k not in self.arguments]
        missing = [k for k in self.required if k not in given]
        if unknown or missing:
            wrong = [f"does not take {unknown}"] * bool(unknown) + [f"lacks {missing}"] * bool(missing)
            raise DataError(f"model {self.name!r} {' and '.join(wrong)}; its data are {', '.join(self.arguments)}")
        arrays = {k: _converted(v, k) for k, v in given.items()}
        builder = Builder(self.name, arrays)
        self.function(builder, **arrays)
        return builder.graph()

    def __call__(self, builder: Builder, **data: Any) -> Any:
        """Write the model into a larger one: models are sub-models too."""
        return self.function(builder, **{**self.bound, **data})

    def __repr__(self) -> str:
        return f"Model({self.name}: {', '.join(self.arguments)})"


def model(function: Callable[..., None]) -> Model:
    """Make a function of a builder and data into a model.

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


def _converted(value: Any, name: str) -> Any:
    if isinstance(value, str | bytes | Distribution | Variable | Known | Mapping | bool) or callable(value):
        return value
    if np.ndim(value) == 0 and not np.ma.isMaskedArray(value):
        return value
    return as_array(value, name)


def _split(cls: type[Node], letter: str, arguments: Mapping[str, Any]) -> tuple[Node, dict[str, Any]]:
    """The node with its constants, and what its ports were given."""
    inputs = [p for p in cls.ports if p not in cls.outputs]
    lacking = [p for p in inputs if p not in arguments]
    if lacking:
        raise SpecError(f"{letter} lacks {', '.join(lacking)}; it takes {', '.join(inputs)}")
    constants = {k: v for k, v in arguments.items() if k not in cls.ports}
    try:
        node = cls(**constants)
    except TypeError as error:
        fields = [k for k in getattr(cls, "__dataclass_fields__", {}) if k not in ("log_det",)]
        raise SpecError(
            f"{letter} cannot be made from {sorted(constants)} ({error}); its ports are {list(cls.ports)} and its "
            f"constants {fields}"
        ) from None
    return node, {p: arguments[p] for p in inputs}


def _check_types(node: Node, label: str, held: Mapping[str, Held]) -> None:
    types = node.port_types()
    for port, value in held.items():
        if isinstance(value, Variable) and value.type != types[port]:
            raise SpecError(
                f"{node.letter} {label!r}: port {port} takes a {types[port]} variable, but {value.name!r} is "
                f"{value.type}" + _bridge(value.type, types[port])
            )


def _check_apart(letter: str, label: str, held: Mapping[str, Held]) -> None:
    names = [v.name for v in held.values() if isinstance(v, Variable)]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise SpecError(
            f"{letter} {label!r} holds {sorted(twice)} at two ports; one variable at two ports of a factor is allowed in "
            "the step of a chain alone"
        )


def _bridge(given: str, wanted: str) -> str:
    return "; put m.exp between them" if (given, wanted) == ("real", "positive") else ""


def _names(plates: tuple[Plate, ...]) -> list[str]:
    return [p.name for p in plates]


def _letter_of(chain: Variable, arguments: Mapping[str, Any]) -> str:
    if {"w", "phi"} & set(arguments):
        return "softdot"
    return "mvnormal" if chain.event else "normal"
