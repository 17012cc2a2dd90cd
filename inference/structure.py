"""The Forney-style graph as values: plates, typed variables, what a port holds, factors and the graph they make.

Nothing here knows a rule. A variable is one array over its plates, never an object an element.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from inference.errors import SpecError
from inference.types import Array

if TYPE_CHECKING:
    from inference.nodes._base import Node

TYPES = ("real", "positive", "probability", "binary")


@dataclass(frozen=True)
class Plate:
    """A named axis along which a part of the graph is repeated."""

    name: str
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise SpecError(f"plate {self.name!r} has size {self.size}; sizes are 0 or more")


@dataclass(frozen=True)
class Gather:
    """A variable seen through an index along one plate: element ``index[k]`` at place k of the new plate.

    ``target`` is None where the index is one place and the plate goes away. It is ``unnamed`` where the modeller did
    not say which plate the index runs over; a factor then takes it for the plate of its own that has that size.
    """

    source: Plate
    target: Plate | None
    index: Array = field(repr=False)
    unnamed: bool = False

    def take(self, array: Array, axis: int) -> Array:
        """The elements that the index names, along ``axis``."""
        if array.shape[axis] == 1 and self.source.size != 1:
            return array if self.target is not None else array[(slice(None),) * axis + (0,)]
        return np.asarray(np.take(array, self.index, axis=axis))

    def scatter(self, array: Array, axis: int) -> Array:
        """The transpose of :meth:`take`: contributions added where they came from; ``array`` is full along ``axis``."""
        moved = array[None] if self.target is None else np.moveaxis(array, axis, 0)
        out = np.zeros((self.source.size, *moved.shape[1:]))
        np.add.at(out, np.atleast_1d(self.index), moved)
        return np.moveaxis(out, 0, axis)


@dataclass(frozen=True, eq=False)
class Variable:
    """A typed variable over plates; what a letter of the builder returns.

    ``variable[index]`` along the leading plate, or ``variable.at(plate, index)``, is the same variable seen through
    an index: ``effect[group]``, ``x[:-1]``, ``x[-1]``. There is no arithmetic on variables: a letter says it.
    """

    __iter__ = None
    __array_ufunc__ = None

    name: str
    type: str
    plates: tuple[Plate, ...]
    event: tuple[int, ...] = ()
    base: "Variable | None" = None
    gather: Gather | None = None
    chain: Plate | None = None

    @property
    def root(self) -> "Variable":
        """The variable itself where this is a view."""
        return self if self.base is None else self.base

    @property
    def shape(self) -> tuple[int, ...]:
        """Plate sizes, then the event's."""
        return (*(p.size for p in self.plates), *self.event)

    @property
    def size(self) -> int:
        """Scalars in all."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __getitem__(self, index: Any) -> "Variable":
        if not self.plates:
            raise SpecError(f"variable {self.name!r} has no plate to index")
        return self.at(self.plates[0].name, index)

    def at(self, plate: str | Plate, index: Any, *, onto: Plate | None = None) -> "Variable":
        """This variable seen through ``index`` along ``plate``; ``onto`` names the plate that the index runs over.

        Raises
        ------
        SpecError : there is no such plate, the index is no integers along it, or its length is not that of ``onto``.
        """
        names, along = [p.name for p in self.plates], plate.name if isinstance(plate, Plate) else plate
        if self.base is not None or isinstance(index, EllipsisType | tuple):
            raise SpecError(f"variable {self.name!r} takes one index along one plate, once; got {index!r}")
        if along not in names:
            raise SpecError(f"variable {self.name!r} has plates {names}, not {along!r}")
        source = self.plates[names.index(along)]
        picked = _picked(self.name, source, index)
        target = None if picked.ndim == 0 else onto or Plate(f"{along}[{len(picked)}]", len(picked))
        return self._through(source, target, picked, unnamed=onto is None and target is not None)

    def along(self, plate: Plate) -> "Variable":
        """The same view, its index running over this plate."""
        assert self.gather is not None
        return self.root._through(self.gather.source, plate, self.gather.index)

    def _through(self, source: Plate, target: Plate | None, index: Array, unnamed: bool = False) -> "Variable":
        if target is not None and target.size != len(index):
            raise SpecError(f"the index into {self.name!r} has {len(index)} places, not {target.name}={target.size}")
        if target is not None and target.name in {p.name for p in self.plates if p is not source}:
            raise SpecError(f"variable {self.name!r} is over plate {target.name!r} already; index onto another one")
        plates = tuple(q for p in self.plates if (q := target if p is source else p) is not None)
        view = Gather(source, target, index, unnamed)
        return Variable(self.name, self.type, plates, self.event, self, view)

    def __repr__(self) -> str:
        plates = ", ".join(f"{p.name}={p.size}" for p in self.plates)
        event = "" if not self.event else f", event {self.event}"
        return f"Variable({self.name!r}, {self.type}, plates ({plates}){event})"


def _picked(name: str, source: Plate, index: Any) -> Array:
    """The places that an index names; whole numbers kept as floats, as data are, count as integers."""
    if isinstance(index, Variable | str):
        raise SpecError(f"variable {name!r} is indexed by integers, not by {index!r}")
    array = index if isinstance(index, slice | int) else np.asarray(index)
    if isinstance(array, np.ndarray) and array.dtype.kind == "f":
        if not np.all(np.isfinite(array)) or np.any(array != np.floor(array)):
            raise SpecError(f"variable {name!r} is indexed by whole numbers; its index holds fractions or gaps")
        array = array.astype(np.intp)
    try:
        picked = np.asarray(np.arange(source.size)[array])
    except (IndexError, ValueError) as error:
        raise SpecError(f"variable {name!r} has {source.size} places along {source.name!r}: {error}") from None
    if picked.ndim > 1:
        raise SpecError(f"variable {name!r} takes a place or a list of places, not an index of shape {picked.shape}")
    return picked


@dataclass(frozen=True, eq=False)
class Known:
    """What a port holds when its value is known: an array over plates, NaN where it is missing.

    ``label`` is the name of the datum it came from; ports that hold the same datum share the label.
    """

    label: str
    values: Array = field(repr=False)
    plates: tuple[Plate, ...]
    event: tuple[int, ...] = ()
    type: str = "real"

    @cached_property
    def present(self) -> Array | None:
        """True where the value is known, over the plates; None where all are."""
        nan = np.asarray(np.isnan(self.values))
        if not nan.any():
            return None
        event_axes = tuple(range(nan.ndim - len(self.event), nan.ndim))
        return np.asarray(~np.any(nan, axis=event_axes))

    @cached_property
    def filled(self) -> Array:
        """The values with 0 in place of what is missing, so that arithmetic stays finite under a mask."""
        return self.values if self.present is None else np.asarray(np.nan_to_num(self.values, nan=0.0))


Held = Variable | Known


@dataclass(frozen=True, eq=False)
class Factor:
    """One letter at its place: a node, what its ports hold, and the plates over which it is repeated."""

    name: str
    node: "Node"
    ports: Mapping[str, Held]
    plates: tuple[Plate, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How often it is repeated along each plate."""
        return tuple(p.size for p in self.plates)

    def holding(self, variable: str) -> list[str]:
        """The ports that hold this variable."""
        return [port for port, held in self.ports.items() if isinstance(held, Variable) and held.name == variable]

    @property
    def variables(self) -> list[str]:
        """The names of the variables it touches, in order of its ports."""
        return list(dict.fromkeys(held.name for held in self.ports.values() if isinstance(held, Variable)))

    def variables_in(self, cluster: frozenset[str]) -> frozenset[str]:
        """Those of a cluster among its variables."""
        return frozenset(self.variables) & cluster

    def __repr__(self) -> str:
        ports = ", ".join(f"{p}={h.name if isinstance(h, Variable) else h.label}" for p, h in self.ports.items())
        return f"{self.name}: {self.node.letter}({ports}) over ({', '.join(p.name for p in self.plates)})"


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """A built model: its plates, its variables in the order they were made, and its factors."""

    name: str
    plates: Mapping[str, Plate]
    variables: Mapping[str, Variable]
    factors: tuple[Factor, ...]
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def touching(self) -> dict[str, tuple[Factor, ...]]:
        """The factors that touch each variable."""
        return {v: tuple(f for f in self.factors if v in f.variables) for v in self.variables}

    def maker(self, variable: str) -> Factor:
        """The factor whose output the variable is."""
        for factor in self.touching[variable]:
            if any(port in factor.node.outputs for port in factor.holding(variable)):
                return factor
        raise SpecError(f"variable {variable!r} is the output of no factor")
