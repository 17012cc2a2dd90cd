"""The letters that a model can be written in: found by file, named by their builder method."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, TypeVar

from inference.errors import SpecError

if TYPE_CHECKING:
    from inference.nodes._base import Node

N = TypeVar("N", bound="type[Node]")


class Letters:
    """The registered nodes by letter; every public module of ``inference.nodes`` is imported when first asked.

    Example
    -------
    >>> "softdot" in LETTERS.names()
    True
    """

    def __init__(self) -> None:
        self._nodes: dict[str, type[Node]] = {}
        self._discovered = False

    def register(self, node: N) -> N:
        """Make a node class a letter; used as a decorator.

        Raises
        ------
        SpecError : the letter is taken, or the class declares ports that do not fit together.
        """
        node.check_declaration()
        taken = self._nodes.get(node.letter)
        if taken is not None and (taken.__module__, taken.__qualname__) != (node.__module__, node.__qualname__):
            raise SpecError(f"the letter {node.letter!r} is taken by {taken.__qualname__}; choose another name")
        self._nodes[node.letter] = node
        return node

    def forget(self, letter: str) -> None:
        """Take a letter out again."""
        self._nodes.pop(letter, None)

    def names(self) -> list[str]:
        """The letters there are, sorted."""
        self._discover()
        return sorted(self._nodes)

    def summary(self, letter: str) -> str:
        """The first sentence of the letter's docstring.

        Raises
        ------
        SpecError : there is no such letter.
        """
        return (self.get(letter).__doc__ or "").strip().split("\n")[0]

    def get(self, letter: str) -> "type[Node]":
        """The node class of a letter.

        Raises
        ------
        SpecError : there is none; the text lists those there are.
        """
        self._discover()
        if letter not in self._nodes:
            raise SpecError(f"there is no letter {letter!r}; the letters are {', '.join(self.names())}")
        return self._nodes[letter]

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        package = importlib.import_module("inference.nodes")
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"inference.nodes.{module.name}")


LETTERS = Letters()
