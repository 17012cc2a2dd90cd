"""``check_node``: every rule of a letter against quadrature of its ``log_density``."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from inference.checking import density, rules
from inference.checking.draws import random_points
from inference.checking.places import ROWS, Place, apart, known_subsets, together
from inference.checking.report import CheckReport, Judge
from inference.errors import NoRule, SpecError
from inference.nodes._base import Node
from inference.structure import Held, Variable
from inference.types import Values

FORMS = {"real": ("point real", "log-gamma"), "positive": ("point positive", "log-normal")}


def check_node(
    node: object,
    *,
    known: Mapping[str, Any] | None = None,
    rng_seed: int = 0,
    tolerance: float = 1e-6,
) -> CheckReport:
    """Judge the rules of a letter by its ``log_density`` alone.

    For scalar and vector events, for every choice of known and latent ports and for point masses, diagonal, log-normal
    and log-gamma marginals: ``message`` (differences of the log message are differences of E log f),
    ``average_energy`` (-E log f), ``match`` (log Z, mean and variance of factor times cavity), ``linear`` and
    ``joint_message`` with what ``average_energy`` and ``message`` make of the joint moments, ``forward`` (mean and
    covariance of E f over the Gaussian ports, with the others at their mean or averaged too), ``sample`` (five standard
    errors), and that the density integrates to one over its outputs.

    Parameters
    ----------
    node : the letter with its constants, or its class where it has none
    known : values of ports that are never latent, such as counts
    rng_seed : of the random situations
    tolerance : allowed error relative to 1 + the size of the numbers

    Raises
    ------
    SpecError : the class does not declare a letter, needs constants, or fits no shapes of its ports.

    Example
    -------
    >>> from inference.nodes.normal import Normal
    >>> check_node(Normal).passed
    True
    """
    letter = _instance(node)
    if letter.kind == "deterministic":
        return CheckReport(letter.letter, (), remark="deterministic: it has no density, so there is nothing to check")
    judge, rng = Judge(tolerance), np.random.default_rng(rng_seed)
    always = {port: np.asarray(values, dtype=np.float64) for port, values in (known or {}).items()}
    strangers = [port for port in always if port not in letter.ports]
    if strangers:
        raise SpecError(f"known names {strangers}; the ports of {letter.letter} are {', '.join(letter.ports)}")
    for events in event_variants(letter, always, rng):
        density.check(letter, events, always, judge, rng)
        tied = _tied(letter, events, always, rng)
        if not tied:
            for place in _places(letter, events, always, rng):
                rules.check_apart(place, judge, rng)
        for couple in letter.couples:
            for place in _coupled(letter, events, couple, tied, always, rng):
                rules.check_together(place, judge, rng)
    return judge.report(letter.letter)


def event_variants(node: Node, known: Mapping[str, Values], rng: Any) -> list[dict[str, tuple[int, ...]]]:
    """Event shapes that the ports may have together: scalars, and vectors of two or as many as the output has.

    Raises
    ------
    SpecError : the log density takes none of them; the text holds what it raised.

    Example
    -------
    >>> from inference.nodes.soft_dot import SoftDot
    >>> event_variants(SoftDot(), {}, np.random.default_rng(0))[-1]
    {'z': (), 'w': (2,), 'phi': (2,), 'tau': ()}
    """
    found: list[dict[str, tuple[int, ...]]] = []
    raised = "none fits what event_ndim and output_event say"
    types = node.port_types()
    inputs = [p for p in node.ports if p not in node.outputs]
    for vector in product(*[(False, True) if types[p] == "real" else (False,) for p in inputs]):
        for d in _dimensions(node, inputs, vector):
            events = _events(node, {p: (d,) if v else () for p, v in zip(inputs, vector, strict=True)})
            try:
                if events is None or not _fits(node, events, known, rng):
                    continue
            except Exception as error:  # an author's density may raise anything at shapes that are not its own
                raised = f"log_density raised {type(error).__name__}: {error}"
                continue
            found.append(events)
            break
    if not found:
        raise SpecError(
            f"the ports of {node.letter} fit no shapes ({raised}); check event_ndim, output_event, log_density"
        )
    return found


def _dimensions(node: Node, inputs: list[str], vector: tuple[bool, ...]) -> list[int]:
    if not any(vector):
        return [0]
    guess = _events(node, {p: (2,) if v else () for p, v in zip(inputs, vector, strict=True)})
    own = [event[0] for port, event in (guess or {}).items() if port in node.outputs and event]
    return list(dict.fromkeys([*own, 2, 3, 1]))


def _events(node: Node, given: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]] | None:
    held: dict[str, Held] = {p: Variable(p, node.port_types()[p], (), e) for p, e in given.items()}
    if any(node.event_ndim(p, held) != len(e) for p, e in given.items()):
        return None
    outputs = {p: tuple(node.output_event(p, held)) for p in node.outputs}
    return {p: outputs[p] if p in outputs else given[p] for p in node.ports}


def _fits(node: Node, events: Mapping[str, tuple[int, ...]], known: Mapping[str, Values], rng: Any) -> bool:
    values = _values(node, events, known, 4, rng)
    found = np.asarray(node.log_density(values))
    return found.shape == (4,) and bool(np.isfinite(found).all())


def _values(
    node: Node, events: Mapping[str, tuple[int, ...]], known: Mapping[str, Values], count: int, rng: Any
) -> dict[str, Values]:
    types = node.port_types()
    return {
        p: np.resize(known[p], (count, *e)) if p in known else random_points(types[p], (count,), e, rng)
        for p, e in events.items()
    }


def _instance(node: object) -> Node:
    cls = node if isinstance(node, type) else type(node)
    if not issubclass(cls, Node):
        raise SpecError(f"check_node takes a Node or its class, not {node!r}")
    cls.check_declaration()
    if isinstance(node, Node):
        return node
    try:
        return cls()
    except TypeError as error:
        raise SpecError(f"{cls.__name__} needs its constants ({error}); pass an instance") from None


def _places(
    node: Node, events: Mapping[str, tuple[int, ...]], always: Mapping[str, Values], rng: Any
) -> Iterator[Place]:
    """Every choice of known ports, then every special form of one marginal."""
    free = [p for p in node.ports if p not in always]
    for subset in known_subsets(free):
        known = _known(node, events, subset, always, rng)
        if known is not None:
            yield apart(node, events, known, {}, rng)
    fixed = _known(node, events, (), always, rng)
    for port in free if fixed is not None else []:
        for form in _forms(node.port_types()[port], events[port]):
            yield apart(node, events, fixed or {}, {port: form}, rng)


def _forms(kind: str, event: tuple[int, ...]) -> tuple[str, ...]:
    return ("point real", "diagonal") if event else FORMS.get(kind, ())


def _coupled(
    node: Node,
    events: Mapping[str, tuple[int, ...]],
    couple: frozenset[str],
    tied: list[frozenset[str]],
    always: Mapping[str, Values],
    rng: Any,
) -> Iterator[Place]:
    """The couple joint, with every choice of known ports outside it; not where other ports must be joint too."""
    group = tuple(sorted((p for p in node.ports if p in couple), key=lambda p: node.port_types()[p] != "real"))
    if set(group) & set(always) or any(t != couple for t in tied) or len(group) != 2:
        return
    for subset in known_subsets([p for p in node.ports if p not in couple and p not in always]):
        known = _known(node, events, subset, always, rng)
        if known is not None:
            yield together(apart(node, events, known, {}, rng), (group[0], group[1]), rng)


def _known(
    node: Node, events: Mapping[str, tuple[int, ...]], subset: tuple[str, ...], always: Mapping[str, Values], rng: Any
) -> dict[str, Values] | None:
    """Values of the known ports over the rows, or None where the builder would read them as another event."""
    drawn = _values(node, events, always, ROWS.size, rng)
    known = {p: drawn[p] for p in node.ports if p in subset or p in always}
    given = {
        p: known.get(p, Variable(p, node.port_types()[p], (), e)) for p, e in events.items() if p not in node.outputs
    }
    fits = all(node.event_ndim(p, given) == len(events[p]) for p in given)
    return known if fits else None


def _tied(
    node: Node, events: Mapping[str, tuple[int, ...]], always: Mapping[str, Values], rng: Any
) -> list[frozenset[str]]:
    """Couples whose ports have no mean-field message, so that they are always joint."""
    place = apart(node, events, _known(node, events, (), always, rng) or {}, {}, rng)

    def refuses(port: str) -> bool:
        try:
            node.message(port, place.inbox())
        except NoRule:
            return True
        except Exception:  # a rule that is broken is there, and is reported when its turn comes
            return False
        return False

    return [couple for couple in node.couples if set(couple) <= set(place.latent) and all(map(refuses, sorted(couple)))]
