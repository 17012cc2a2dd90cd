"""What every letter must satisfy: its declaration fits, its rules are those of its density, its calls are checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inference.building import Builder
from inference.checking import check_node
from inference.distributions import Beta, Gamma, MvNormal, Normal
from inference.errors import SpecError
from inference.nodes._base import Node
from inference.registry import LETTERS
from inference.structure import TYPES, Variable

PRECISION = np.array([[2.1, 0.6], [0.6, 1.2]])
MATRIX = np.array([[0.8, -0.3, 0.4], [0.2, 0.9, -0.5]])

CONSTANTS: dict[str, list[dict[str, Any]]] = {
    "bernoulli": [{}],
    "beta": [{"a": 1.7, "b": 2.4}],
    "exp": [{}, {"jacobian": 1}],
    "gamma": [{"shape": 2.3}, {"shape": 0.7}],
    "mvnormal": [{"precision": PRECISION}, {"precision": PRECISION, "matrix": MATRIX, "offset": np.array([0.3, -0.5])}],
    "normal": [{}],
    "normal_gamma": [
        {"mean": np.array([0.4, 0.2]), "precision": PRECISION, "shape": 4.0, "rate": 2.0},
        {"mean": np.array([0.4]), "precision": np.array([[1.3]]), "shape": 4.0, "rate": 2.0, "scalar": True},
    ],
    "prior": [
        {"distribution": Normal(0.3, 0.7)},
        {"distribution": MvNormal([0.3, 1.0], cov=[[0.8, 0.2], [0.2, 0.5]])},
        {"distribution": MvNormal([0.3, 1.0], diag=[0.8, 0.5])},
        {"distribution": Gamma(2.0, 3.0)},
        {"distribution": Beta(2.0, 3.0)},
    ],
    "softdot": [{}],
}
"""Constants with which each letter is judged. A new letter gets an entry here."""

CALLS: dict[str, Callable[[Builder], dict[str, Any]]] = {
    "bernoulli": lambda _: {"probability": 0.4},
    "beta": lambda _: {"a": 1.0, "b": 2.0},
    "exp": lambda m: {"z": of_type(m, "real")},
    "gamma": lambda _: {"shape": 1.0, "rate": 2.0},
    "mvnormal": lambda _: {"mean": np.zeros(2), "precision": PRECISION},
    "normal": lambda _: {"mean": 0.0, "precision": 1.0},
    "normal_gamma": lambda _: {"mean": np.zeros(2), "precision": PRECISION, "shape": 1.0, "rate": 1.0},
    "prior": lambda _: {"distribution": Gamma(2.0, 3.0)},
    "softdot": lambda m: {
        **{port: m.mvnormal(f"given_{port}", mean=0.0, precision=1.0, dim=2) for port in ("w", "phi")},
        "tau": 3.0,
    },
}
"""Arguments with which each letter can be called."""


def of_type(m: Builder, kind: str) -> Variable:
    """A variable of a type."""
    return {
        "real": lambda: m.normal("a_real", mean=0.0, precision=1.0),
        "positive": lambda: m.gamma("a_positive", 1.0, 1.0),
        "probability": lambda: m.beta("a_probability", 1.0, 1.0),
        "binary": lambda: m.bernoulli("a_binary", 0.5),
    }[kind]()


def letters() -> list[str]:
    """Every registered letter."""
    return LETTERS.names()


def examples(letter: str) -> list[Node]:
    """Nodes of a letter."""
    assert letter in CONSTANTS, f"give the letter {letter!r} constants in tests/support/laws/node_laws.py"
    return [LETTERS.get(letter)(**constants) for constants in CONSTANTS[letter]]


def check_declaration(letter: str) -> None:
    """Ports, types, outputs, kind and couples fit together and the class says what it is."""
    cls = LETTERS.get(letter)
    cls.check_declaration()
    assert cls.letter == letter and letter.isidentifier() and not hasattr(Builder, letter)
    assert set(cls.ports.values()) <= set(TYPES) and set(cls.outputs) <= set(cls.ports) and cls.outputs
    assert set(cls.may_miss) <= set(cls.ports)
    assert all(len(couple) == 2 and couple <= set(cls.ports) for couple in cls.couples)
    assert cls.__doc__ and all(getattr(cls, rule).__doc__ for rule in ("log_density", "message", "average_energy"))


def check_rules(letter: str) -> None:
    """Quadrature of the density finds no rule wrong, and it did judge messages, energy, density and draws."""
    for node in examples(letter):
        report = check_node(node, rng_seed=3)
        assert report.passed, str(report)
        judged = {row.rule for row in report.rows}
        if node.kind == "deterministic":
            assert not judged
        else:
            assert {"log_density", "sample", "average_energy"} <= judged
            assert judged & {"message", "joint_message"}


def check_call(letter: str) -> None:
    """The builder's method returns variables of the declared types over the plates asked for."""
    builder = Builder("law", {})
    cls, plate = LETTERS.get(letter), builder.plate("row", 3)
    names = tuple(f"new_{port}" for port in cls.outputs)
    made = getattr(builder, letter)(names if len(names) > 1 else names[0], plates=plate, **CALLS[letter](builder))
    factor = builder.graph().factors[-1]
    variables = made if isinstance(made, tuple) else (made,)
    for port, name, variable in zip(cls.outputs, names, variables, strict=True):
        assert (variable.name, variable.type) == (name, factor.node.port_types()[port])
        assert variable.plates == (plate,) and factor.ports[port] is variable
    assert set(factor.ports) == set(cls.ports)


def check_wrong_types(letter: str) -> None:
    """A variable of another type at any port is refused; the text names letter, port, both types and the variable."""
    cls = LETTERS.get(letter)
    names = tuple(f"new_{port}" for port in cls.outputs)
    for port in (p for p in cls.ports if p not in cls.outputs):
        kind = cls.ports[port]
        builder = Builder("law", {})
        arguments = CALLS[letter](builder)
        wrong = of_type(builder, "positive" if kind == "probability" else "probability")
        with pytest.raises(SpecError) as raised:
            getattr(builder, letter)(names[0], **{**arguments, port: wrong})
        text = str(raised.value)
        assert all(word in text for word in (letter, f"port {port}", kind, wrong.type, repr(wrong.name))), text


def check_missing_arguments(letter: str) -> None:
    """A call that lacks an input is refused; the text names it."""
    cls = LETTERS.get(letter)
    for port in (p for p in cls.ports if p not in cls.outputs):
        builder = Builder("law", {})
        arguments = {k: v for k, v in CALLS[letter](builder).items() if k != port}
        with pytest.raises(SpecError, match=port):
            getattr(builder, letter)("x", **arguments)
