"""What every letter must satisfy: its declaration fits, its rules are those of its density, its calls are checked."""

from collections.abc import Mapping
from typing import Any

import pytest

from inference.building import Builder
from inference.checking import check_node
from inference.errors import SpecError
from inference.nodes._base import Node
from inference.registry import LETTERS
from inference.structure import TYPES, Variable


def of_type(m: Builder, kind: str, name: str) -> Variable:
    """A variable of a type."""
    return {
        "real": lambda: m.normal(name, mean=0.0, precision=1.0),
        "positive": lambda: m.gamma(name, 1.0, 1.0),
        "probability": lambda: m.beta(name, 1.0, 1.0),
        "binary": lambda: m.bernoulli(name, 0.5),
    }[kind]()


def letters() -> list[str]:
    """Every registered letter."""
    return LETTERS.names()


def call(m: Builder, letter: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call: those of the example, and a variable at every input port that it leaves out."""
    cls = LETTERS.get(letter)
    inputs = [port for port in cls.ports if port not in cls.outputs and port not in example]
    return {**{port: of_type(m, cls.ports[port], f"at_{port}") for port in inputs}, **example}


def nodes(letter: str) -> list[Node]:
    """The nodes of a letter's examples."""
    cls, made = LETTERS.get(letter), []
    for example in cls.examples():
        arguments = cls.arguments(**call(Builder("law", {}), letter, example))
        made.append(cls(**{k: v for k, v in arguments.items() if k not in cls.ports}))
    return made


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
    for node in nodes(letter):
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
    cls = LETTERS.get(letter)
    names = tuple(f"new_{port}" for port in cls.outputs)
    for example in cls.examples():
        builder = Builder("law", {})
        plate = builder.plate("row", 3)
        arguments = call(builder, letter, example)
        made = getattr(builder, letter)(names if len(names) > 1 else names[0], plates=plate, **arguments)
        factor = builder.graph().factors[-1]
        variables = made if isinstance(made, tuple) else (made,)
        for port, name, variable in zip(cls.outputs, names, variables, strict=True):
            assert (variable.name, variable.type) == (name, factor.node.port_types()[port])
            assert variable.plates == (plate,) and factor.ports[port] is variable
        assert set(factor.ports) == set(cls.ports)


def check_wrong_types(letter: str) -> None:
    """A variable of another type at any port is refused; the text names letter, port, both types and the variable."""
    cls = LETTERS.get(letter)
    for port in (p for p in cls.ports if p not in cls.outputs):
        kind = cls.ports[port]
        builder = Builder("law", {})
        arguments = call(builder, letter, cls.examples()[0])
        wrong = of_type(builder, "positive" if kind == "probability" else "probability", "wrong")
        with pytest.raises(SpecError) as raised:
            getattr(builder, letter)("new", **{**arguments, port: wrong})
        text = str(raised.value)
        assert all(word in text for word in (letter, f"port {port}", kind, wrong.type, repr(wrong.name))), text


def check_missing_arguments(letter: str) -> None:
    """A call that lacks an input is refused; the text names it."""
    cls = LETTERS.get(letter)
    for port in (p for p in cls.ports if p not in cls.outputs):
        builder = Builder("law", {})
        arguments = {k: v for k, v in call(builder, letter, cls.examples()[0]).items() if k != port}
        with pytest.raises(SpecError, match=port):
            getattr(builder, letter)("x", **arguments)
