"""Files of at most 300 lines, functions of at most 40, and no module called after nothing."""

import ast

import pytest

from tests.architecture.sources import PACKAGES, ROOT, definitions, source_files

FILE_LINES = 300
FUNCTION_LINES = 40
NAMELESS = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, without the docstring: a documented function is not a long one."""
    first = node.body[0]
    documented = ast.get_docstring(node) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def relative(path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", source_files(), ids=relative)
def test_files_and_functions_are_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES, f"{lines} lines: a second subject hides in it"
    functions = [node for node in definitions(path) if not isinstance(node, ast.ClassDef)]
    long = {node.name: count for node in functions if (count := code_lines(node)) > FUNCTION_LINES}
    assert not long, f"functions of more than {FUNCTION_LINES} lines: {long}"


def test_every_module_is_named_after_something():
    named = {path.stem.strip("_") for path in source_files()} | {path.parent.name for path in source_files()}
    assert not named & NAMELESS


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_shadows_a_function_of_the_facade(package):
    taken = {"compare", "load", "model", "graph", "infer"}
    assert not {path.stem for path in (ROOT / package).iterdir()} & taken
