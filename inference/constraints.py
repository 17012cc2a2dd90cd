"""What a modeller says about the marginals: which variables are independent, joint, of a simple form, or fixed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inference.distributions import Distribution
from inference.errors import SpecError
from inference.structure import FactorGraph

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
        if not clusters or any(isinstance(c, str) for c in clusters):
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
            raise SpecError(f"a form is one of {', '.join(FORMS)}, not {self.form!r}")


@dataclass(frozen=True, eq=False)
class Fixed:
    """The marginal of one variable is this distribution and is not updated."""

    variable: str
    distribution: Distribution


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


def read_constraints(constraints: Iterable[Constraint], graph: FactorGraph) -> Reading:
    """Check the names and put the constraints together.

    Raises
    ------
    SpecError : an unknown variable, a variable in two clusters, or constraints that contradict each other.
    """
    apart: set[str] = set()
    clusters: list[frozenset[str]] = []
    forms: dict[str, str] = {}
    fixed: dict[str, Distribution] = {}
    all_apart = tree = False
    for constraint in _parsed(constraints):
        match constraint:
            case MeanField(variables):
                all_apart |= not variables
                apart |= set(variables)
            case Structured(many):
                clusters += [frozenset(c) for c in many if len(c) > 1]
                apart |= {c[0] for c in many if len(c) == 1}
            case BeliefPropagation():
                tree = True
            case Form(variable, form):
                forms[variable] = form
            case Fixed(variable, distribution):
                fixed[variable] = distribution
    reading = Reading(frozenset(apart), tuple(clusters), forms, fixed, all_apart, tree)
    _check(reading, graph)
    return reading


def _parsed(constraints: Iterable[Constraint]) -> list[Constraint]:
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
    if not re.fullmatch(r"(\s*q\(\s*[\w.]+(\s*,\s*[\w.]+)*\s*\)\s*)+", text):
        raise SpecError(f'{text!r} does not read as a factorisation; write it as "q(w,z)q(tau)"')
    return Structured(*(tuple(n.strip() for n in c.split(",")) for c in re.findall(r"q\(([^)]*)\)", text)))


def _check(reading: Reading, graph: FactorGraph) -> None:
    named = [*reading.apart, *reading.forms, *reading.fixed, *(v for c in reading.clusters for v in c)]
    unknown = sorted({v for v in named if v not in graph.variables})
    if unknown:
        raise SpecError(
            f"constraints name {unknown}, which are no latent variables of {graph.name!r}; those are "
            f"{', '.join(graph.variables)}"
        )
    joint = [v for c in reading.clusters for v in c]
    twice = sorted({v for v in joint if joint.count(v) > 1 or v in reading.apart or v in reading.fixed})
    if twice:
        raise SpecError(f"constraints put {twice} both into a cluster and somewhere else")
    if reading.all_apart and (reading.clusters or reading.tree_demanded):
        raise SpecError("MeanField() keeps all variables apart; leave it out, or name the variables it is for")
