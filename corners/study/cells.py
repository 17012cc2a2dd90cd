"""A cell of a study: one row on one data set for a chunk of seeds, what it fits, and what identifies its numbers."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from corners.comparison.records import json_ready
from corners.engine.cells import CELLS
from corners.errors import SpecError
from corners.protocols import Protocol
from corners.study.choices import checked_choices, settable
from corners.study.heads import Head, Target
from corners.study.methods import make_method, require_task

if TYPE_CHECKING:
    from corners.backbones._base import Backbone
    from corners.data.dataset import Dataset
    from corners.method import Method
    from corners.study.spec import StudySpec

FORMAT = 1
"""Version of the layout of cell files; a newer one is refused."""
ADDED: Mapping[str, Mapping[str, Any]] = {
    "corners.likelihoods.gaussian.Gaussian": {"outputs": 1},
    "corners.baselines.nuts.Nuts": {"host": "sequential"},
}
"""Fields that a later version added, by class, with the value that says what was so before there was the field."""


@dataclass(frozen=True)
class Cell:
    """One row on one data set for consecutive seeds: what is fitted in one go and kept in one file."""

    study: "StudySpec"
    dataset: str
    row: str
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """Stem of its file."""
        return f"{self.dataset}--{self.row}--{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def words(self) -> str:
        """For people."""
        first, last = self.seeds[0], self.seeds[-1]
        return f"{self.dataset} / {self.row}, seed{f' {first}' if first == last else f's {first}-{last}'}"

    def recipe(self, data: "Dataset") -> "Recipe":
        """The method and all it is made under, for the table of the cell.

        Raises
        ------
        SpecError : an option that the method does not have or cannot take; a method or head of another task than the
            table's.  UnavailableError : a peer is missing.
        """
        study = self.study
        try:
            return self._recipe(Target.of(data), study.head_of(self.dataset, self.row))
        except SpecError as error:
            if str(error).startswith("row "):
                raise
            raise type(error)(f"row {self.row!r} on {self.dataset!r}: {error}") from error

    def _recipe(self, target: Target, head: Head) -> "Recipe":
        study = self.study
        protocol = study.protocol_of(self.dataset, self.row)
        backbone = _backbone(study.hidden_of(self.dataset, self.row), protocol.hidden_bias)
        row = study.row(self.row)
        made: dict[str, Any] = {"protocol": protocol, "backbone": backbone, "head": head}
        # What a reference is for, an option may decide: it is asked when the options are made.
        table = target if row.method in CELLS else None
        method = with_method_options(make_method(row.method, **made, table=table), row.name, dict(row.options))
        require_task(method, target)
        host = None if method.host is None else make_method(method.host, **made, table=target)
        return Recipe(method, host, protocol, backbone)


@dataclass(frozen=True)
class Recipe:
    """A method ready to be fitted, the host whose features it borrows, and what both were made under."""

    method: "Method"
    host: "Method | None"
    protocol: Protocol
    backbone: "Backbone"


def with_method_options(method: "Method", row: str, options: dict[str, Any]) -> "Method":
    """The method with some of its fields replaced.

    Raises
    ------
    SpecError : no such field, a value of another type, or one that the method refuses; row and key are named.
    """
    if not options:
        return method
    checked = checked_choices(f"row {row!r}, options", f"option of {method.name}", options, settable(type(method)))
    try:
        return replace(method, **checked)  # pyright: ignore[reportArgumentType]
    except SpecError as error:
        raise SpecError(f"row {row!r}, options {', '.join(checked)}: {error}") from error


def fingerprint(cell: Cell, data: "Dataset", split_kind: str) -> str:
    """sha256 of what determines the numbers of a cell: data, split, seeds, method, protocol and backbone.

    The name of the protocol is left out: it is what people call these choices.
    """
    recipe = cell.recipe(data)
    content = {
        "format": FORMAT,
        "data": data.fingerprint,
        "split": split_kind,
        "seeds": list(cell.seeds),
        "method": spec_facts(recipe.method),
        "host": spec_facts(recipe.host),
        "protocol": spec_facts(replace(recipe.protocol, name="")),
        "backbone": spec_facts(recipe.backbone),
    }
    text = json.dumps(json_ready(content), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def spec_facts(value: Any) -> Any:
    """A specification as plain values, down to its members.

    Fields that are None, False or empty are left out: a choice that a later version adds, and that nobody has made,
    leaves earlier results as they are. So are those of :data:`ADDED` at the value given there.
    """
    if not is_dataclass(value):
        return [spec_facts(each) for each in value] if isinstance(value, list | tuple) else _plain(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    own = {each.name: getattr(value, each.name) for each in fields(value)}
    before = ADDED.get(kind, {})
    said = {n: each for n, each in own.items() if not (_unsaid(each) or (n in before and each == before[n]))}
    return {n: spec_facts(each) for n, each in said.items()} | {"class": kind}


def _unsaid(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | tuple) and not value)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool | int | float) else repr(value)


def _backbone(hidden: tuple[int, ...], bias: bool) -> "Backbone":
    if not hidden:
        from corners.backbones.identity import Identity

        return Identity()
    from corners.backbones.mlp import MLP

    return MLP(hidden, bias=bias)
