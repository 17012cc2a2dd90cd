"""What predicting new rows must know of training: the shapes and roles of its data, and its constants."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inference.errors import DataError
from inference.structure import FactorGraph, Known


@dataclass(frozen=True)
class Role:
    """One datum of a model: its plates and their sizes, its event, and whether it may be missing."""

    plates: tuple[str, ...]
    sizes: tuple[int, ...]
    event: tuple[int, ...]
    may_miss: bool
    where: str


@dataclass(frozen=True)
class Schema:
    """The roles of a model's data by name, and the values of those that are no plated data."""

    roles: Mapping[str, Role]
    constants: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, graph: FactorGraph) -> "Schema":
        """Read off a graph."""
        roles: dict[str, Role] = {}
        for factor in graph.factors:
            for port, held in factor.ports.items():
                if isinstance(held, Known) and held.plates and held.label in graph.data:
                    names, sizes = tuple(p.name for p in held.plates), tuple(p.size for p in held.plates)
                    before = roles.get(held.label)
                    may = port in factor.node.may_miss and (before is None or before.may_miss)
                    roles[held.label] = Role(names, sizes, held.event, may, f"{factor.name!r} at port {port}")
        constants = {name: value for name, value in graph.data.items() if name not in roles}
        return cls(roles, constants)

    def complete(self, required: tuple[str, ...], data: Mapping[str, Any]) -> dict[str, Any]:
        """New data with what they leave out: NaN for what may be missing, the training value for constants.

        Raises
        ------
        DataError : something was left out that new rows need.
        """
        sizes: dict[str, int] = {}
        for name in data:
            if name in self.roles:
                shape = np.shape(data[name])
                sizes |= {p: shape[k] for k, p in enumerate(self.roles[name].plates) if k < len(shape)}
        out = {**{k: v for k, v in self.constants.items() if k in required}, **data}
        for name in required:
            if name not in out and name in self.roles:
                out[name] = self._left_out(name, sizes)
        return out

    def _left_out(self, name: str, sizes: Mapping[str, int]) -> Any:
        role = self.roles[name]
        if not role.may_miss:
            raise DataError(f"predict needs {name!r}: its values at the new rows, which {role.where} takes")
        shape = tuple(sizes.get(p, n) for p, n in zip(role.plates, role.sizes, strict=True))
        return np.full((*shape, *role.event), np.nan)
