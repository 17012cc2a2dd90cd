"""A cell of a study: one row on one data set for a chunk of seeds, what it fits, and what identifies its numbers."""

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from corners.comparison.records import json_ready
from corners.errors import SpecError
from corners.protocols import Protocol
from corners.study.choices import checked_choices, settable
from corners.study.methods import make_method

if TYPE_CHECKING:
    from corners.backbones._base import Backbone
    from corners.data.dataset import Dataset
    from corners.method import Method
    from corners.study.spec import StudySpec

FORMAT = 1
"""Version of the layout of cell files; a newer one is refused."""


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

    @cached_property
    def recipe(self) -> "Recipe":
        """The method and all it is made under.

        Raises
        ------
        SpecError : an option that the method does not have or cannot take.  UnavailableError : a peer is missing.
        """
        study = self.study
        protocol = study.protocol_of(self.dataset, self.row)
        backbone = _backbone(study.hidden_of(self.dataset, self.row), protocol.hidden_bias)
        row = study.row(self.row)
        method = make_method(row.method, protocol=protocol, backbone=backbone)
        method = with_method_options(method, row.name, dict(row.options))
        host = None if method.host is None else make_method(method.host, protocol=protocol, backbone=backbone)
        return Recipe(method, host, protocol, backbone)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made from it, which another process makes itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


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
    recipe = cell.recipe
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
    leaves earlier results as they are.
    """
    if not is_dataclass(value):
        return [spec_facts(each) for each in value] if isinstance(value, list | tuple) else _plain(value)
    kind = type(value)
    own = {each.name: getattr(value, each.name) for each in fields(value)}
    made = {name: spec_facts(each) for name, each in own.items() if not _unsaid(each)}
    return made | {"class": f"{kind.__module__}.{kind.__qualname__}"}


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
