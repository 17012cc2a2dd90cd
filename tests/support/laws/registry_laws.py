"""What every registry of the package must satisfy."""

import ast
import inspect
from pathlib import Path

import pytest

from corners.errors import UnknownNameError
from corners.registry import Registry


def check_members_are_the_files_of_the_folder(registry: Registry) -> None:
    """Every public module of the folder registers its own name, and nothing else is registered."""
    names = registry.names()
    assert names == sorted(names) and names
    for name in names:
        member = registry.get(name)
        assert Path(inspect.getfile(member)).stem == name, f"{registry.kind} {name!r} is not in {name}.py"
        assert registry.get(name) is member


def check_members_have_an_example_and_a_summary(registry: Registry) -> None:
    """``example()`` makes a member without arguments; the summary is one line of the module's docstring."""
    for name in registry.names():
        member = registry.get(name)
        assert isinstance(member.example(), member)
        summary = registry.summary(name)
        assert summary and "\n" not in summary
        source = Path(inspect.getfile(member)).read_text(encoding="utf-8")
        assert (ast.get_docstring(ast.parse(source)) or "").startswith(summary)


def check_an_unknown_name_lists_the_known_ones(registry: Registry) -> None:
    """The message says the kind, what was given, the nearest name and all names."""
    known = registry.names()
    with pytest.raises(UnknownNameError) as raised:
        registry.get(known[0] + "x")
    message = str(raised.value)
    assert registry.kind in message and repr(known[0] + "x") in message and f"Did you mean {known[0]!r}" in message
    assert all(name in message for name in known)


def check_private_modules_are_no_members(registry: Registry) -> None:
    """``_base`` and its like are neither listed nor to be had."""
    assert not any(name.startswith("_") for name in registry.names())
    with pytest.raises(UnknownNameError):
        registry.get("_base")
