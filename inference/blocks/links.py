"""What the exp links of a variable ask of it: the far side exp(s z - c e^z), as two arrays (message_passing 1.6)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inference.blocks._base import Block
from inference.blocks.conjugate import damped
from inference.distributions import Distribution, Gamma, LogGamma, LogNormal, Normal
from inference.errors import ImproperMarginal, NoRule
from inference.families import naturals_of
from inference.inbox import align
from inference.links.gamma import solve_gamma
from inference.links.gaussian import solve_gaussian
from inference.nodes.exp_link import ExpLink
from inference.program import Program, State
from inference.structure import Factor, FactorGraph, Variable
from inference.types import Values

FORMS = ("gaussian", "gamma", "dual")


@dataclass(frozen=True)
class Link:
    """One exp factor: gamma = e^z."""

    factor: Factor
    gamma: str


def links_of(graph: FactorGraph, variable: str) -> tuple[Link, ...]:
    """The exp links out of a real variable."""
    found = []
    for factor in graph.touching[variable]:
        if isinstance(factor.node, ExpLink) and factor.holding(variable) == ["z"]:
            gamma = factor.ports["gamma"]
            if not isinstance(gamma, Variable):
                raise NoRule(f"the exp link {factor.name!r} has a known gamma; observe z = log gamma instead")
            found.append(Link(factor, gamma.name))
    return tuple(found)


def far_side(program: Program, z: str, links: tuple[Link, ...], state: State) -> tuple[Values, Values]:
    """(s, c) summed over the links of z, over z's plates; s contains the Jacobian."""
    shape = tuple(p.size for p in program.graph.variables[z].plates)
    s, c = np.zeros(shape), np.zeros(shape)
    for link in links:
        log, rate = program.incoming(link.gamma, state, skip=(link.factor.name,))
        node = link.factor.node
        assert isinstance(node, ExpLink)
        s = s + _toward_z(program, link, log + node.jacobian)
        c = c + _toward_z(program, link, rate)
    return s, c


def explain_far_side(program: Program, links: tuple[Link, ...]) -> list[str]:
    """Which factors make up (s, c), one line each."""
    return [
        f"{f.name} ({f.node.letter}) -> {link.gamma}: mean-field message toward port {port}, a part of (s, c)"
        for link in links
        for f in program.graph.touching[link.gamma]
        for port in f.holding(link.gamma)
        if f.name != link.factor.name
    ]


def _toward_z(program: Program, link: Link, array: Values) -> Values:
    gamma, z = link.factor.ports["gamma"], link.factor.ports["z"]
    assert isinstance(gamma, Variable) and isinstance(z, Variable)
    return program.reduce_one(link.factor, z, align(array, gamma, link.factor.plates), 0)


def push_forward(
    links: tuple[Link, ...], form: type[LogNormal] | type[Gamma], **over_z: Values
) -> dict[str, Distribution]:
    """The marginal of every gamma = e^z, from the parameters of ``form`` over z's plates."""
    made: dict[str, Distribution] = {}
    for link in links:
        z, gamma = link.factor.ports["z"], link.factor.ports["gamma"]
        shape = tuple(p.size for p in gamma.plates)
        aligned = {k: np.broadcast_to(align(a, z, link.factor.plates), shape) for k, a in over_z.items()}
        made[link.gamma] = form._trusted(**aligned)
    return made


class LinkBlock(Block):
    """z and every gamma = e^z as one block with one marginal (message_passing 0.1, 2.1, 2.2).

    ``gaussian``: q(z) is Gaussian. ``gamma``: q(gamma) is Gamma. ``dual``: each is projected by itself as published;
    the two are no push-forwards of each other and the free energy bounds nothing.
    """

    def __init__(self, z: str, links: tuple[Link, ...], form: str = "gaussian") -> None:
        self.z, self.links, self.form = z, links, form
        self.variables = (z, *(link.gamma for link in links))

    def update(self, program: Program, state: State, damping: float) -> State:
        """The exact solution of every edge, all at once."""
        linear, precision = program.incoming(self.z, state, skip=tuple(link.factor.name for link in self.links))
        s, c = far_side(program, self.z, self.links, state)
        mu = np.divide(linear, precision, out=np.zeros_like(linear), where=precision > 0)
        target = Target(precision, mu, s, c, earlier(state.marginals.get(self.z), c))
        try:
            z, made = _SOLVERS[self.form](self.links, target)
        except ImproperMarginal as error:
            raise ImproperMarginal(f"q({self.z}) at the exp link {self.links[0].factor.name!r}: {error}") from error
        if damping < 1.0:
            z, made = _damped_link(self, state, z, damping)
        return state.updated(marginals={self.z: z, **made})

    def explain(self, program: Program) -> list[str]:
        """One line a message into z, and the solver."""
        skip = [link.factor.name for link in self.links]
        into = [
            f"{f.name} ({f.node.letter}) -> {self.z}: mean-field message toward port {port}"
            for f in program.graph.touching[self.z]
            for port in f.holding(self.z)
            if f.name not in skip
        ]
        return [*into, *explain_far_side(program, self.links), f"{skip[0]} (exp): {_SAID[self.form]}"]


_SAID = {
    "gaussian": "one Gaussian marginal on z, solved exactly per edge (2.1)",
    "gamma": "one Gamma marginal on gamma, solved exactly per edge (2.2)",
    "dual": "z and gamma projected by themselves, as published; the free energy is a diagnostic only (0.1)",
}


class Target(NamedTuple):
    """exp(-p/2 (z-mu)^2 + s z - c e^z) of every edge, and an earlier lam to start from (0 where there is none)."""

    p: Values
    mu: Values
    s: Values
    c: Values
    start: Values | None


def earlier(q: Distribution | None, c: Values) -> Values | None:
    """lam = c E e^z under the last marginal."""
    if not isinstance(q, Normal):
        return None
    return np.asarray(c * np.exp(np.minimum(q.mean() + 0.5 * q.var(), 300.0)))


Solved = tuple[Distribution, dict[str, Distribution]]


def _gaussian(links: tuple[Link, ...], t: Target) -> Solved:
    found = solve_gaussian(t.p, t.mu, t.s, t.c, start=t.start)
    gammas = push_forward(links, LogNormal, log_mean=found.mean, log_var=found.var)
    return Normal._trusted(mean=found.mean, var=found.var), gammas


def _gamma(links: tuple[Link, ...], t: Target) -> Solved:
    found = solve_gamma(t.p, t.mu, t.s, t.c)
    gammas = push_forward(links, Gamma, shape=found.shape, rate=found.rate)
    return LogGamma._trusted(scale=1.0 / found.rate, shape=found.shape), gammas


def _dual(links: tuple[Link, ...], t: Target) -> Solved:
    """The z side with the Jacobian, the gamma side without, as published (section 0.2)."""
    return _gaussian(links, t._replace(s=t.s + len(links)))[0], _gamma(links, t)[1]


_SOLVERS = {"gaussian": _gaussian, "gamma": _gamma, "dual": _dual}


def _damped_link(block: LinkBlock, state: State, z: Distribution, damping: float) -> Solved:
    old = state.marginals[block.z]
    if block.form != "gaussian" or not isinstance(old, Normal):
        raise NoRule(f"damping works on natural parameters of a Gaussian; q({block.z}) has the form {block.form!r}")
    linear, precision = damped(naturals_of(z), old, damping)
    mean, var = linear / precision, 1.0 / precision
    return Normal._trusted(mean=mean, var=var), push_forward(block.links, LogNormal, log_mean=mean, log_var=var)
