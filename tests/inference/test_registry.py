"""Letters are found by file, registered by decorator, refused where they do not fit, and forgotten again."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import inference
from inference.building import Builder
from inference.errors import SpecError
from inference.registry import LETTERS, Letters
from tests.support.wrong_nodes import Exponential, Poisson


def test_every_public_module_of_nodes_is_a_letter():
    files = [p for p in (Path(inference.__file__).parent / "nodes").glob("*.py") if not p.name.startswith("_")]
    assert len(LETTERS.names()) == len(files)
    assert {LETTERS.get(name).__module__.rpartition(".")[2] for name in LETTERS.names()} == {p.stem for p in files}


def test_names_are_sorted_and_lead_to_their_class():
    assert LETTERS.names() == sorted(LETTERS.names())
    assert all(LETTERS.get(name).letter == name for name in LETTERS.names())


def test_an_unknown_letter_lists_those_there_are():
    with pytest.raises(SpecError, match=r"no letter 'sofdot'.*softdot"):
        LETTERS.get("sofdot")
    with pytest.raises(SpecError, match="no letter 'sofdot'"):
        Builder("m", {}).sofdot("z")


def test_register_get_forget():
    letters = Letters()
    assert letters.register(Exponential) is Exponential
    assert letters.get("exponential") is Exponential
    letters.register(Exponential)  # a module that is imported again is no second letter
    letters.forget("exponential")
    letters.forget("exponential")
    with pytest.raises(SpecError, match="no letter 'exponential'"):
        letters.get("exponential")


def test_a_registered_letter_is_a_method_of_every_builder():
    LETTERS.register(Poisson)
    try:
        builder = Builder("m", {})
        assert "poisson" in dir(builder)
        builder.poisson("n", builder.gamma("rate", 1.0, 1.0), observed=3.0)
        assert builder.graph().factors[-1].node == Poisson()
    finally:
        LETTERS.forget("poisson")
    assert "poisson" not in dir(Builder("m", {}))


def declared(**changes):
    return type("Mine", (Exponential,), {"letter": "mine", **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ports": {"x": "positiv", "rate": "positive"}}, "port types .*positiv.*; the types are real, positive"),
        ({"outputs": ("y",)}, r"names \['y'\]; its ports are \['x', 'rate'\]"),
        ({"outputs": ()}, "no output"),
        ({"may_miss": ("z",)}, r"names \['z'\]"),
        ({"kind": "random"}, "of kind 'random'; the kinds are stochastic and deterministic"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(changes, said):
    letters = Letters()
    with pytest.raises(SpecError, match=said):
        letters.register(declared(**changes))
    with pytest.raises(SpecError):
        letters.get("mine")


def test_a_taken_letter_is_refused():
    @dataclass(frozen=True)
    class Another(Exponential):
        letter = "gamma"

    with pytest.raises(SpecError, match="the letter 'gamma' is taken by Gamma; choose another name"):
        LETTERS.names() and LETTERS.register(Another)
