"""Registries: discovery by file, lazy loading, and messages that list what is known."""

import sys

import pytest

from corners.backbones import BACKBONES
from corners.cavities import CAVITIES
from corners.comparison.scores import SCORES
from corners.covariances import COVARIANCES
from corners.errors import SpecError, UnknownNameError
from corners.likelihoods import LIKELIHOODS
from corners.method import METHODS
from corners.registry import Registry, unknown_name_message
from corners.routings import ROUTINGS
from tests.support.laws import registry_laws as laws

REGISTRIES = [BACKBONES, CAVITIES, COVARIANCES, LIKELIHOODS, METHODS, ROUTINGS, SCORES]
LAWS = [name for name in dir(laws) if name.startswith("check_")]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_law(registry, law):
    getattr(laws, law)(registry)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An importable package ``shapes`` with one good member, one that registers nothing, and a private module."""
    package = tmp_path / "shapes"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from corners.registry import Registry\nSHAPES = Registry('shape', 'shapes')\n"
    )
    member = '"""A ring.\n\nMore."""\nfrom shapes import SHAPES\n\n\n@SHAPES.register("ring")\nclass Ring:\n    "R"\n'
    (package / "ring.py").write_text(member)
    (package / "silent.py").write_text('"""Registers nothing."""\n')
    (package / "_private.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    for name in [name for name in sys.modules if name.split(".")[0] == "shapes"]:
        del sys.modules[name]


def test_names_and_summaries_import_no_member(folder):
    from shapes import SHAPES

    assert SHAPES.names() == ["ring", "silent"] and SHAPES.summary("ring") == "A ring."
    assert "shapes.ring" not in sys.modules
    assert SHAPES.get("ring").__name__ == "Ring" and "shapes.ring" in sys.modules


def test_a_new_file_is_a_new_member(folder):
    from shapes import SHAPES

    (folder / "square.py").write_text('"""A square."""\nfrom shapes import SHAPES\nSHAPES.register("square")(int)\n')
    assert "square" in SHAPES.names() and SHAPES.get("square") is int


def test_a_file_that_registers_nothing_is_said_so(folder):
    """It must not be "unknown" in a message that lists it as known."""
    from shapes import SHAPES

    with pytest.raises(UnknownNameError) as raised:
        SHAPES.get("silent")
    assert "Did you mean 'silent'" not in str(raised.value)
    assert "register" in str(raised.value)


def test_two_members_of_one_name_are_refused_even_if_their_classes_are_called_alike():
    registry = Registry("shape", "corners.cavities")
    one, other = type("Ring", (), {"__module__": "one"}), type("Ring", (), {"__module__": "other"})
    registry.register("round")(one)
    with pytest.raises(SpecError, match="shape 'round' is registered twice"):
        registry.register("round")(other)
    with pytest.raises(SpecError, match="registered twice"):
        registry.register("round")(type("Disc", (), {"__module__": "one"}))


def test_a_member_entered_by_hand_is_listed():
    registry = Registry("shape", "corners.cavities")

    @registry.register("zigzag")
    class Zigzag:
        """Up and down.

        More.
        """

    assert "zigzag" in registry.names() and registry.summary("zigzag") == "Up and down."


def test_a_folder_that_does_not_exist_has_no_members():
    assert Registry("shape", "corners.nowhere").names() == []


def test_the_message_has_no_hint_where_nothing_is_near():
    message = unknown_name_message("shape", "qqqq", ["ring", "square"])
    assert message == "no shape is called 'qqqq'. Known: ring, square."
