"""What may be joined to what: the arguments of a letter, and the types and shapes that meet in one factor.

A graph is proper when every variable sits at ports of its own type and every half-edge is closed (message_passing 1).
These checks are made as a letter is called, for letters of any author, from what the node declares.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from inference.distributions import Distribution
from inference.errors import DataError, InferenceError, SpecError
from inference.naming import meant
from inference.nodes._base import Node
from inference.nodes.exp_link import ExpLink
from inference.nodes.priors import Prior
from inference.placing import check_values, sizes_said
from inference.structure import Factor, Held, Known, Plate, Variable

_INSIDE = {"real": 0.5, "positive": 1.0, "probability": 0.5, "binary": 1.0}


def make_node(cls: type[Node], args: tuple[Any, ...], given: Mapping[str, Any]) -> tuple[Node, dict[str, Any]]:
    """The node of a call with its constants, and what its input ports were given.

    Raises
    ------
    SpecError : an argument is unknown, missing, given twice or out of range; the text names it and what there is.

    Example
    -------
    >>> from inference.nodes.gamma import Gamma
    >>> make_node(Gamma, (2.0,), {"rate": 3.0})
    (Gamma(shape=2.0), {'rate': 3.0})
    """
    inputs = [p for p in cls.ports if p not in cls.outputs]
    constants = _constants(cls)
    unknown = [k for k in given if k not in inputs and k not in constants]
    try:
        named = cls.arguments(*args, **given)
    except SpecError as error:
        raise SpecError(f"{error}{_hint(unknown, [*inputs, *constants])}") from None
    strange = [k for k in named if k not in inputs and k not in constants]
    if strange:
        raise SpecError(
            f"{cls.letter} does not take {meant(strange, [*inputs, *constants])}; it takes "
            f"{_signature(inputs, constants)}"
        )
    lacking = [k for k in (*inputs, *(c for c, needed in constants.items() if needed)) if k not in named]
    if lacking:
        raise SpecError(f"{cls.letter} lacks {', '.join(lacking)}; it takes {_signature(inputs, constants)}")
    return _made(cls, {k: v for k, v in named.items() if k in constants}), {p: named[p] for p in inputs}


def _constants(cls: type[Node]) -> dict[str, bool]:
    """The constants of a letter, and whether each is needed."""
    empty = dataclasses.MISSING
    return {
        f.name: f.default is empty and f.default_factory is empty
        for f in (dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ())
        if f.init
    }


def _signature(inputs: list[str], constants: Mapping[str, bool]) -> str:
    return ", ".join([*inputs, *(name if needed else f"{name} (optional)" for name, needed in constants.items())])


def _hint(unknown: list[str], known: list[str]) -> str:
    said = meant(unknown, known)
    return f"; given were also {said}" if "did you mean" in said else ""


def _made(cls: type[Node], constants: Mapping[str, Any]) -> Node:
    for name, value in constants.items():
        if isinstance(value, Variable | Known) or (isinstance(value, Distribution) and cls is not Prior):
            raise SpecError(
                f"{cls.letter}: {name} is a constant of the letter, a number or an array of numbers, not {value!r}; "
                f"its ports are {', '.join(cls.ports)}"
            )
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise SpecError(f"{cls.letter}: {name} is {value}; a constant is finite")
    try:
        return cls(**constants)
    except InferenceError:
        raise
    except (TypeError, ValueError) as error:
        raise SpecError(f"{cls.letter} cannot be made from {dict(constants)}: {error}") from None


def check_types(node: Node, label: str, held: Mapping[str, Held]) -> None:
    """Whether every variable is of its port's type.

    Raises
    ------
    SpecError : one is not; the text names variable, port and both types.
    """
    types = node.port_types()
    for port, value in held.items():
        if isinstance(value, Variable) and value.type != types[port]:
            bridge = "; put m.exp between them" if (value.type, types[port]) == ("real", "positive") else ""
            fitting = [letter_port for letter_port, kind in types.items() if kind == value.type]
            ports = f"; the {value.type} ports of {node.letter} are {', '.join(fitting)}" if fitting else ""
            raise SpecError(
                f"{node.letter} {label!r}: port {port} takes a {types[port]} variable, but {value.name!r} is "
                f"{value.type}{bridge or ports}"
            )


def check_factor(
    node: Node, label: str, held: Mapping[str, Held], plates: tuple[Plate, ...], *, in_chain: bool = False
) -> None:
    """Whether a factor is proper: values, types, shapes, and one port a variable but in the step of a chain.

    Raises
    ------
    SpecError, DataError : it is not; the text names letter, port and what is there.
    """
    for port, value in held.items():
        if isinstance(value, Known):
            check_values(f"{node.letter} {label!r}, port {port}", value, port in node.may_miss)
    check_types(node, label, held)
    if not in_chain:
        _check_apart(node, label, held)
    check_batch(node, label, plates)
    _check_events(node, label, held)
    _check_missing(node, label, held)


def _check_apart(node: Node, label: str, held: Mapping[str, Held]) -> None:
    names = [v.name for v in held.values() if isinstance(v, Variable)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SpecError(
            f"{node.letter} {label!r} holds {twice} at two ports; a variable that follows from itself is a chain: "
            "m.chain(name, start=..., step=..., length=...)"
        )


def _check_events(node: Node, label: str, held: Mapping[str, Held]) -> None:
    """Scalars and vectors are where they belong, and their lengths agree."""
    inputs = {p: h if isinstance(h, Variable) else np.zeros(h.event) for p, h in held.items() if p not in node.outputs}
    for port in inputs:
        wanted, found = node.event_ndim(port, inputs), len(held[port].event)
        if wanted != found:
            kinds = ("scalar", "vector")
            raise SpecError(
                f"{node.letter} {label!r}: port {port} takes a {kinds[min(wanted, 1)]}, but {_name(held[port])!r} is a "
                f"{kinds[min(found, 1)]} (event shape {held[port].event})"
            )
    if node.kind == "stochastic" and not isinstance(node, Prior) and not _evaluates(node, held):
        shapes = ", ".join(f"{p} {h.event}" for p, h in held.items())
        raise SpecError(f"{node.letter} {label!r}: the lengths of its ports do not go together: {shapes}")


def _evaluates(node: Node, held: Mapping[str, Held]) -> bool:
    """Whether the density can be evaluated at one point of these shapes."""
    types = node.port_types()
    try:
        with np.errstate(all="ignore"):
            node.log_density({p: np.full(h.event, _INSIDE[types[p]]) for p, h in held.items()})
    except InferenceError:
        return True
    except (ValueError, IndexError):
        return False
    return True


def check_batch(node: Node, label: str, plates: tuple[Plate, ...]) -> None:
    """Whether a distribution that is a prior has as many entries as its plates.

    Raises
    ------
    SpecError : its batch is another.
    """
    if not isinstance(node, Prior):
        return
    batch, sizes = node.distribution.batch_shape, tuple(p.size for p in plates)
    trailing = sizes[len(sizes) - len(batch) :] if len(batch) <= len(sizes) else None
    if trailing is None or any(b not in (1, n) for b, n in zip(batch, trailing, strict=True)):
        raise SpecError(
            f"{label!r} has a prior of batch shape {batch}, which does not fit the plates ({sizes_said(plates)}); pass "
            "plates= of these sizes"
        )


def check_observable(node: Node, label: str, output: Any, observed: Any) -> None:
    """Whether the output of a letter may be observed.

    Raises
    ------
    SpecError : it is deterministic, makes several variables, or one of the two is a variable.
    """
    if isinstance(output, Variable):
        raise SpecError(
            f"{node.letter} {label!r} is given a variable and observed values; a variable without observed= gets one "
            "factor more, a name with observed= puts a factor on data"
        )
    if isinstance(observed, Variable):
        raise SpecError(
            f"{node.letter} {label!r}: observed= takes data, got {observed!r}; a second factor on a variable is "
            f"m.{node.letter}({observed.name}, ...)"
        )
    if isinstance(node, ExpLink):
        raise SpecError(f"exp {label!r} is a deterministic link and is not observed; observe z = log gamma instead")
    if len(node.outputs) > 1:
        raise SpecError(f"{node.letter} {label!r} makes {', '.join(node.outputs)} together, which cannot be observed")


def check_link(node: Node, label: str, held: Mapping[str, Held], others: Iterable[Factor]) -> None:
    """Whether an exp link joins a latent z to a gamma that none of the other factors links.

    Raises
    ------
    SpecError : z is known, or gamma is the image of another variable already.
    """
    if not isinstance(node, ExpLink):
        return
    if isinstance(held["z"], Known):
        raise SpecError(f"exp {label!r}: z is known, so gamma = e^z is known too; pass np.exp(z) where gamma goes")
    images = {_name(f.ports["gamma"]) for f in others if isinstance(f.node, ExpLink)}
    if _name(held["gamma"]) in images:
        raise SpecError(
            f"exp {label!r}: {_name(held['gamma'])!r} is e^z of another z already; a gamma has one exp link"
        )


def _check_missing(node: Node, label: str, held: Mapping[str, Held]) -> None:
    """Where an input is missing and the output latent, dropping the factor would leave the output without its prior."""
    latent = [h.name for p, h in held.items() if p in node.outputs and isinstance(h, Variable)]
    gone = [
        h.label for p, h in held.items() if p not in node.outputs and isinstance(h, Known) and h.present is not None
    ]
    if latent and gone:
        raise DataError(
            f"{node.letter} {label!r}: {gone[0]!r} has missing values and {latent[0]!r} is latent, which would leave "
            "it without its prior there; give the values, or make them a latent variable with a prior"
        )


def _name(held: Held) -> str:
    return held.name if isinstance(held, Variable) else held.label
