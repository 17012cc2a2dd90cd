"""Methods by name: the cells of the design space and the references, made under a protocol for a table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corners.data.dataset import Dataset
from corners.data.split import Split
from corners.engine.cells import CELLS
from corners.errors import ImpossibleCellError, SpecError, UnknownNameError
from corners.method import METHODS, Method
from corners.protocols import Protocol, get_protocol
from corners.registry import unknown_name_message
from corners.study.heads import Head, Target, checked_options, is_conjugate, make_likelihood

if TYPE_CHECKING:
    from corners.backbones._base import Backbone
    from corners.likelihoods._base import Likelihood

Table = Dataset | Split | Target
FREE_HOST = "scroll_dense"
"""Whose features NUTS takes where the closed cells, its hosts otherwise, have no posterior."""


def method_names(table: Table | None = None, head: "str | Likelihood | Head | None" = None) -> list[str]:
    """Every method that ``compare`` knows, or those for a table: the cells of the design space, then the references.

    A head without a conjugate posterior leaves the free cells and the Laplace approximation.

    Example
    -------
    >>> method_names()[:2]
    ['sequential', 'leave_one_out']
    >>> method_names(Target("count"))[:2]
    ['scroll_none', 'scroll_diagonal']
    """
    if table is None:
        return [*CELLS, *METHODS.names()]
    target = Target.of(table)
    closed = is_conjugate(Head.of(head), target)
    # Of Gaussian noise the Laplace approximation is the posterior itself, and its cell would be another by a new name.
    wanted = ("closed", "mean_closed", "free") if closed else ("free", "laplace")
    cells = [name for name, cell in CELLS.items() if cell.routing in wanted]
    references = {name: METHODS.get(name) for name in METHODS.names()}
    suited = [name for name, kind in references.items() if target.task in kind.tasks and (closed or not kind.conjugate)]
    return [*cells, *suited]


def method_summary(name: str) -> str:
    """One line on a method, read without importing it."""
    return CELLS[name].summary if name in CELLS else METHODS.summary(name)


def tasks_of(method: Method | type[Method]) -> tuple[str, ...]:
    """Kinds of tables a method is for; a cell is for those of its likelihood.

    Example
    -------
    >>> tasks_of(make_method("scroll_none", head="poisson")), tasks_of(make_method("map"))
    (('count',), ('regression',))
    """
    corner = getattr(method, "corner", None)
    return method.tasks if corner is None else (corner.likelihood.task,)


def require_task(method: Method, target: Target) -> None:
    """Refuse a method of another task, in words that name the methods for it.

    Raises
    ------
    SpecError : the method is for other tables.
    """
    own = tasks_of(method)
    if target.task not in own:
        raise SpecError(
            f"{method.name!r} is for {' and '.join(own)} tables, and this one is a {target.task} table; methods for "
            f"it: {', '.join(method_names(target))}"
        )


def make_method(
    name: str,
    *,
    protocol: str | Protocol = "default",
    backbone: "Backbone | None" = None,
    head: "str | Likelihood | Head | None" = None,
    table: Table | None = None,
) -> Method:
    """The method called ``name`` under a protocol, for regression where neither head nor table says otherwise.

    Parameters
    ----------
    name : a registry name; ``method_names()`` lists them.
    protocol : a protocol or its name.
    backbone : from inputs to features; by default one hidden layer of 50 tanh units.
    head : the likelihood of a cell, by name, as a :class:`Head` with options, or itself; by default ``gaussian``,
        ``poisson``, ``probit`` or, of more than two classes, ``one_vs_all``. References have a head of their own.
    table : its task and number of classes decide which heads and methods there are.

    Raises
    ------
    UnknownNameError : no method or head is called so; the message lists the known ones.
    SpecError : method or head is for another task than the table's; those for it are named.
    ImpossibleCellError : the cell binds its belief to a conjugate posterior, which the head does not have.

    Example
    -------
    >>> make_method("leave_one_out").name
    'leave_one_out'
    >>> make_method("scroll_dense", head="ordinal").corner.likelihood
    Ordinal(classes=None, fix_first_threshold=False)
    """
    if name not in CELLS and name not in METHODS.names():
        raise UnknownNameError(unknown_name_message("method", name, method_names()))
    chosen, own = get_protocol(protocol), Head.of(head)
    if backbone is None:
        from corners.backbones.mlp import MLP

        backbone = MLP(50, bias=chosen.hidden_bias)
    if name in CELLS:
        return _cell(name, chosen, backbone, own, own.target if table is None else Target.of(table))
    method = METHODS.get(name).from_protocol(chosen, backbone)
    if table is None:
        return method
    if name == "nuts" and not is_conjugate(own, Target.of(table)):
        method = replace(method, host=FREE_HOST)
    require_task(method, Target.of(table))
    if method.conjugate and not is_conjugate(own, Target.of(table)):
        raise ImpossibleCellError(
            f"{name} averages over conjugate posteriors, which this head does not have; methods for it: "
            f"{', '.join(method_names(table, own))}"
        )
    return method


def _cell(name: str, protocol: Protocol, backbone: "Backbone", head: Head, target: Target) -> Method:
    from corners.engine.named import named_cell
    from corners.likelihoods.gaussian import Gaussian

    likelihood = make_likelihood(head, target)
    options: dict[str, Any] = checked_options(head, Gaussian) if likelihood is None else {}
    try:
        return named_cell(
            name, protocol, backbone, likelihood, shared_precision=head.shared_precision, gaussian_options=options
        )
    except ImpossibleCellError as error:
        raise ImpossibleCellError(f"{name}: {error}") from error


def make_methods(
    methods: Sequence[str | Method] | None,
    protocol: str | Protocol,
    backbone: "Backbone | None",
    draws: int,
    *,
    head: "str | Likelihood | Head | None" = None,
    target: Target,
) -> tuple[Method, ...]:
    """Methods made from their names for a table, each with the host it needs, hosts first.

    Raises
    ------
    SpecError : a method or head of another task, two methods of one name, none at all.
    """
    if isinstance(methods, str):
        raise SpecError(f"methods is a list of names; got the string {methods!r}; write [{methods!r}]")
    made: dict[str, Method] = {}
    for entry in method_names(target, head) if methods is None else methods:
        if isinstance(entry, str) and entry in made:
            continue
        if not isinstance(entry, str | Method):
            raise SpecError(f"a method is a registry name or a Method; got a {type(entry).__name__}")
        method = (
            make_method(entry, protocol=protocol, backbone=backbone, head=head, table=target)
            if isinstance(entry, str)
            else entry
        )
        require_task(method, target)
        if entry == "nuts":
            method = replace(method, draws=draws)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if method.name in made:
            raise SpecError(f"two methods are called {method.name!r}; give one of them another name")
        made[method.name] = method
    if not made:
        raise SpecError(f"at least one method is needed; known: {', '.join(method_names(target, head))}")
    for host in {method.host for method in made.values() if method.host is not None} - set(made):
        made[host] = make_method(host, protocol=protocol, backbone=backbone, head=head, table=target)
    return tuple(sorted(made.values(), key=lambda method: method.host is not None))
