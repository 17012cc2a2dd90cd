"""Methods by name: the cells of the design space and the references, made under a protocol."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from corners.engine.cells import CELLS
from corners.errors import SpecError, UnknownNameError
from corners.method import METHODS, Method
from corners.protocols import Protocol, get_protocol
from corners.registry import unknown_name_message

if TYPE_CHECKING:
    from corners.backbones._base import Backbone


def method_names() -> list[str]:
    """Every method that ``compare`` knows: the cells of the design space, then the references.

    Example
    -------
    >>> method_names()[:2]
    ['sequential', 'leave_one_out']
    """
    return [*CELLS, *METHODS.names()]


def method_summary(name: str) -> str:
    """One line on a method, read without importing it."""
    return CELLS[name].summary if name in CELLS else METHODS.summary(name)


def make_method(name: str, *, protocol: str | Protocol = "default", backbone: "Backbone | None" = None) -> Method:
    """The method called ``name`` under a protocol.

    Parameters
    ----------
    name : a registry name; ``method_names()`` lists them.
    protocol : a protocol or its name.
    backbone : from inputs to features; by default one hidden layer of 50 tanh units.

    Raises
    ------
    UnknownNameError : no method is called so; the message lists the known ones.

    Example
    -------
    >>> make_method("leave_one_out").name
    'leave_one_out'
    """
    if name not in CELLS and name not in METHODS.names():
        raise UnknownNameError(unknown_name_message("method", name, method_names()))
    chosen = get_protocol(protocol)
    if backbone is None:
        from corners.backbones.mlp import MLP

        backbone = MLP(50, bias=chosen.hidden_bias)
    if name in CELLS:
        from corners.engine.named import named_cell

        return named_cell(name, chosen, backbone)
    return METHODS.get(name).from_protocol(chosen, backbone)


def make_methods(
    methods: Sequence[str | Method] | None, protocol: str | Protocol, backbone: "Backbone | None", draws: int
) -> tuple[Method, ...]:
    """Methods made from their names, each with the host it needs, hosts first."""
    if isinstance(methods, str):
        raise SpecError(f"methods is a list of names; got the string {methods!r}; write [{methods!r}]")
    made: dict[str, Method] = {}
    for entry in method_names() if methods is None else methods:
        if isinstance(entry, str) and entry in made:
            continue
        if not isinstance(entry, str | Method):
            raise SpecError(f"a method is a registry name or a Method; got a {type(entry).__name__}")
        method = make_method(entry, protocol=protocol, backbone=backbone) if isinstance(entry, str) else entry
        if entry == "nuts":
            method = replace(method, draws=draws)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if method.name in made:
            raise SpecError(f"two methods are called {method.name!r}; give one of them another name")
        made[method.name] = method
    if not made:
        raise SpecError(f"at least one method is needed; known: {', '.join(method_names())}")
    for host in {method.host for method in made.values() if method.host is not None} - set(made):
        made[host] = make_method(host, protocol=protocol, backbone=backbone)
    return tuple(sorted(made.values(), key=lambda method: method.host is not None))
