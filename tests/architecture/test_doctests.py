"""Every example in a docstring of either package runs and gives what it says."""

import ast
import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.architecture.sources import definitions, module_name, source_files, tree

PARSER = doctest.DocTestParser()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples_written(path: Path) -> int:
    """How many examples the docstrings of a file hold, private ones too."""
    nodes: list[Any] = [tree(path), *definitions(path)]
    texts = (ast.get_docstring(node, clean=False) or "" for node in nodes)
    return sum(len(PARSER.get_examples(text)) for text in texts)


WITH_EXAMPLES = {module_name(path): count for path in source_files() if (count := examples_written(path))}


class Finder(doctest.DocTestFinder):
    """Finds functions behind decorators too, whose globals are the decorator's: the standard finder drops them."""

    def _from_module(self, module: ModuleType | None, object: Any) -> bool:  # noqa: A002
        found = inspect.unwrap(object) if callable(object) else object
        return module is None or getattr(found, "__module__", module.__name__) == module.__name__


@pytest.mark.parametrize("name", sorted(WITH_EXAMPLES))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORNERS_DATA", raising=False)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    tests = Finder().find(importlib.import_module(name))
    output: list[str] = []
    for test in tests:
        runner.run(test, out=output.append)
    assert not runner.failures, "".join(output)
    assert runner.tries == WITH_EXAMPLES[name], "an example is written where doctest does not find it"


def test_both_packages_show_examples():
    assert {name.partition(".")[0] for name in WITH_EXAMPLES} == {"corners", "inference"}
