"""Likelihoods of a last layer other than Gaussian noise, one file each: numpy formula and PyMC graph side by side."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, TypeVar

from inference.errors import SpecError

if TYPE_CHECKING:
    from inference.truth.heads._base import Head

H = TypeVar("H", bound="type[Head]")


class Heads:
    """The registered heads by name; every public module of this folder is imported when first asked.

    Example
    -------
    >>> "probit" in HEADS.names()
    True
    """

    def __init__(self) -> None:
        self._heads: dict[str, type[Head]] = {}

    def register(self, head: H) -> H:
        """Make a head known by its name; used as a decorator."""
        self._heads[head.name] = head
        return head

    def names(self) -> list[str]:
        """The names there are, sorted."""
        self._discover()
        return sorted(self._heads)

    def get(self, name: str) -> "type[Head]":
        """The head of that name.

        Raises
        ------
        SpecError : there is none; the message lists those there are.
        """
        self._discover()
        if name not in self._heads:
            raise SpecError(f"there is no truth for likelihood {name!r}; there is one for {', '.join(self.names())}")
        return self._heads[name]

    def _discover(self) -> None:
        for module in pkgutil.iter_modules(__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{__name__}.{module.name}")


HEADS = Heads()
