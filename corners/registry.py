"""Registries: a family's members are the public modules of its folder, one file a member.

Names are learned from the folder listing, summaries from the docstrings, both without importing a member: listing the
methods must not import torch.
"""

import ast
import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from corners.errors import SpecError, UnknownNameError

T = TypeVar("T")


class Registry:
    """Members of one family, found by file name and loaded when asked for.

    Parameters
    ----------
    kind : what a member is called in messages, for example ``"cavity"``.
    package : dotted name of the folder whose public modules are the members.

    Example
    -------
    >>> from corners.registry import Registry
    >>> Registry("score", "corners.comparison.scores").names()[0]
    'accuracy'
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._members: dict[str, Any] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that enters a class or function under ``name``."""

        def enter(member: T) -> T:
            known = self._members.get(name)
            if known is not None and _identity(known) != _identity(member):
                raise SpecError(f"{self.kind} {name!r} is registered twice; choose another name for the second one")
            self._members[name] = member
            return member

        return enter

    def names(self) -> list[str]:
        """All names, sorted: the folder's public modules and what was registered by hand."""
        return sorted(set(self._modules()) | set(self._members))

    def summary(self, name: str) -> str:
        """First line of the member's docstring, read without importing it."""
        if name in self._modules():
            source = self._modules()[name].read_text(encoding="utf-8")
            return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
        return (self.get(name).__doc__ or "").strip().partition("\n")[0]

    def get(self, name: str) -> Any:
        """Return the member called ``name``, importing its module; an unknown name lists the known ones."""
        if name not in self._members and name in self._modules():
            importlib.import_module(f"{self.package}.{name}")
            if name not in self._members:
                raise UnknownNameError(
                    f"{self.package}.{name} registers no {self.kind} called {name!r}; "
                    "a member's file must register its own name"
                )
        if name not in self._members:
            raise UnknownNameError(self.unknown_message(name))
        return self._members[name]

    def unknown_message(self, name: str) -> str:
        """Explain that ``name`` is not known, with the nearest known name first."""
        return unknown_name_message(self.kind, name, self.names())

    def _modules(self) -> dict[str, Path]:
        spec = importlib.util.find_spec(self.package)
        folders = list(spec.submodule_search_locations or []) if spec else []
        return {
            info.name: Path(folder) / f"{info.name}.py"
            for folder in folders
            for info in pkgutil.iter_modules([folder])
            if not info.name.startswith("_")
        }


def _identity(member: Any) -> tuple[Any, Any]:
    """What stays the same when a module is loaded again."""
    return getattr(member, "__module__", None), getattr(member, "__qualname__", None)


def unknown_name_message(kind: str, name: str, known: list[str]) -> str:
    """Say that ``name`` is no known ``kind``, suggest the nearest one and list them all."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"no {kind} is called {name!r}.{hint} Known: {', '.join(known)}."
