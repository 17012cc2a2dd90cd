"""What a modeller says about the marginals: which variables are independent, joint, of a simple form, or fixed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from inference.distributions import Distribution, LogGamma, MvNormal, Normal, PointMass
from inference.errors import SpecError
from inference.naming import meant
from inference.nodes.exp_link import ExpLink
from inference.structure import FactorGraph, Variable

T = TypeVar("T")
FORMS = ("diagonal", "gaussian", "gamma", "dual", "point_mass")


@dataclass(frozen=True)
class MeanField:
    """Every variable (or each of those named) is independent of all others; a chain stays one variable.

    Example
    -------
    >>> MeanField("w", "tau").variables
    ('w', 'tau')
    """

    variables: tuple[str, ...] = ()

    def __init__(self, *variables: str) -> None:
        if not all(isinstance(v, str) for v in variables):
            raise SpecError(f'MeanField takes names, as in MeanField("w", "tau"); got {variables!r}')
        object.__setattr__(self, "variables", variables)


@dataclass(frozen=True)
class Structured:
    """These variables have one joint marginal.

    Example
    -------
    >>> Structured(("w", "z")).clusters
    (('w', 'z'),)
    """

    clusters: tuple[tuple[str, ...], ...]

    def __init__(self, *clusters: Sequence[str]) -> None:
        if not clusters or any(isinstance(c, str) or not c or not all(isinstance(v, str) for v in c) for c in clusters):
            raise SpecError('Structured takes tuples of names, as in Structured(("w", "z"))')
        object.__setattr__(self, "clusters", tuple(tuple(c) for c in clusters))


@dataclass(frozen=True)
class BeliefPropagation:
    """All Gaussian variables that linear factors join are one cluster; an error where their graph has loops."""


@dataclass(frozen=True)
class Form:
    """The marginal of one variable has a simple form.

    ``diagonal`` and ``point_mass`` for a variable by itself; ``gaussian``, ``gamma`` or ``dual`` for the pair of z and
    e^z at an exp link, by the name of z.

    Example
    -------
    >>> Form("w", "diagonal")
    Form(variable='w', form='diagonal')
    """

    variable: str
    form: str

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise SpecError(f"a form is one of {', '.join(FORMS)}, not {meant([self.form], FORMS)}")


@dataclass(frozen=True, eq=False)
class Fixed:
    """The marginal of one variable is this distribution and is not updated."""

    variable: str
    distribution: Distribution

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            raise SpecError(
                f"Fixed takes a name and a distribution, a known value being P.PointMass; got {self.distribution!r}"
            )


Constraint = MeanField | Structured | BeliefPropagation | Form | Fixed | str


@dataclass(frozen=True, eq=False)
class Reading:
    """All constraints of a call, put together."""

    apart: frozenset[str] = frozenset()
    clusters: tuple[frozenset[str], ...] = ()
    forms: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, Distribution] = field(default_factory=dict)
    all_apart: bool = False
    tree_demanded: bool = False


def read_constraints(constraints: "Iterable[Constraint] | Constraint", graph: FactorGraph) -> Reading:
    """Check the names and put the constraints together.

    Raises
    ------
    SpecError : an unknown variable, a variable in two clusters, or constraints that contradict each other.
    """
    said = _parsed(constraints)
    reading = Reading(
        frozenset(v for c in said if isinstance(c, MeanField) for v in c.variables)
        | {v for c in _clusters(said) if len(c) == 1 for v in c},
        tuple(frozenset(c) for c in _clusters(said) if len(c) > 1),
        _once((c.variable, c.form) for c in said if isinstance(c, Form)),
        _once((c.variable, c.distribution) for c in said if isinstance(c, Fixed)),
        all_apart=any(isinstance(c, MeanField) and not c.variables for c in said),
        tree_demanded=any(isinstance(c, BeliefPropagation) for c in said),
    )
    _check_names(reading, graph)
    _check_links(reading, graph)
    _check_agreement(reading, _clusters(said))
    return reading


def _clusters(said: Iterable[Constraint]) -> list[tuple[str, ...]]:
    return [cluster for c in said if isinstance(c, Structured) for cluster in c.clusters]


def _once(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """As a dictionary, where no variable is given two values."""
    out: dict[str, T] = {}
    for variable, value in pairs:
        if out.setdefault(variable, value) != value:
            raise SpecError(f"constraints give {variable!r} both {out[variable]!r} and {value!r}; keep one of them")
    return out


def _parsed(constraints: "Iterable[Constraint] | Constraint") -> list[Constraint]:
    several = [constraints] if isinstance(constraints, str) or not isinstance(constraints, Iterable) else constraints
    out: list[Constraint] = []
    for constraint in several:
        if isinstance(constraint, str):
            out.append(parse(constraint))
        elif isinstance(constraint, MeanField | Structured | BeliefPropagation | Form | Fixed):
            out.append(constraint)
        else:
            raise SpecError(
                f"{constraint!r} is no constraint; there are MeanField(), Structured((...)), BeliefPropagation(), "
                'Form(name, form), Fixed(name, distribution) and strings such as "q(w,z)q(tau)"'
            )
    return out


def parse(text: str) -> Structured:
    """A factorisation written out.

    Raises
    ------
    SpecError : it does not read as q(..)q(..).

    Example
    -------
    >>> parse("q(w, z) q(tau)").clusters
    (('w', 'z'), ('tau',))
    """
    name = r"\s*[^\s,()]+\s*"
    if not re.fullmatch(rf"(\s*q\({name}(,{name})*\)\s*)+", text):
        raise SpecError(f'{text!r} does not read as a factorisation; write it as "q(w,z)q(tau)"')
    return Structured(*(tuple(n.strip() for n in c.split(",")) for c in re.findall(r"q\(([^)]*)\)", text)))


def images_of(graph: FactorGraph) -> dict[str, str]:
    """For every gamma = e^z of a graph the z it has its marginal from.

    Example
    -------
    >>> images_of(FactorGraph("empty", {}, {}, ()))
    {}
    """
    ends = [(f.ports["gamma"], f.ports["z"]) for f in graph.factors if isinstance(f.node, ExpLink)]
    return {g.name: z.name for g, z in ends if isinstance(g, Variable) and isinstance(z, Variable)}


def _check_names(reading: Reading, graph: FactorGraph) -> None:
    named = [*reading.apart, *reading.forms, *reading.fixed, *(v for c in reading.clusters for v in c)]
    unknown = sorted({v for v in named if v not in graph.variables})
    if unknown:
        raise SpecError(
            f"constraints name {meant(unknown, graph.variables)}, which are no latent variables of {graph.name!r}; "
            f"those are {', '.join(graph.variables) or 'none'}"
        )


def _check_links(reading: Reading, graph: FactorGraph) -> None:
    """What is said of gamma = e^z is said of z, as the two have one marginal."""
    images = images_of(graph)
    wrong = next((v for v in (*reading.forms, *reading.fixed) if v in images), None)
    if wrong is not None:
        raise SpecError(
            f"{wrong!r} is e^{images[wrong]} and has no marginal of its own; Form and Fixed take {images[wrong]!r}"
        )
    for cluster in reading.clusters:
        strangers = sorted(v for v in cluster if v in images and images[v] not in cluster)
        if strangers:
            raise SpecError(
                f"{strangers[0]!r} is e^{images[strangers[0]]}; its cluster holds {images[strangers[0]]!r} too"
            )


def _check_agreement(reading: Reading, clusters: list[tuple[str, ...]]) -> None:
    placed = [v for c in clusters for v in c]
    joint = {v for c in reading.clusters for v in c}
    twice = {v for v in placed if placed.count(v) > 1} | (joint & (reading.apart | set(reading.fixed)))
    if twice:
        raise SpecError(
            f"constraints put {sorted(twice)} in two places at once: a cluster and another, alone, or fixed"
        )
    for v in sorted(reading.forms.keys() & reading.fixed.keys()):
        if not _has_form(reading.fixed[v], reading.forms[v]):
            raise SpecError(
                f"constraints fix {v!r} at {reading.fixed[v]!r}, which has not the form {reading.forms[v]!r}"
            )
    if reading.all_apart and (reading.clusters or reading.tree_demanded):
        raise SpecError("MeanField() keeps all variables apart; leave it out, or name the variables it is for")


def _has_form(distribution: Distribution, form: str) -> bool:
    families = {"point_mass": PointMass, "gaussian": Normal, "gamma": LogGamma}
    if form == "diagonal":
        return isinstance(distribution, MvNormal) and distribution.is_diagonal
    return isinstance(distribution, families.get(form, Distribution))
