"""The published messages of the exp link use the Jacobian on both sides and fit no joint (message passing 0.2)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem
from corners.types import Array

WEIGHTS = np.array([0.5, -0.9])
"""Known, so that every row is one edge: ``z_n ~ N(wᵀψ_n, σ²)``."""
EXP, LOG, PUBLISHED = (0, 0), (1, 1), (1, 0)
"""Whether the message toward z, and toward γ, is that of ``δ(z - log γ)`` (1) or of ``δ(γ - e^z)`` (0)."""
WIDTH = 12.0
"""Deviations of the Gaussian message that the integrals reach to each side."""

Message = Callable[[Array], Array]


class Side(NamedTuple):
    """One side of the edges: the log mass of the product of both messages, and the mean of ``log γ`` under it."""

    log_mass: Array
    mean_log: Array


@CLAIMS.register("exp_link_jacobian")
@dataclass(frozen=True)
class ExpLinkJacobian(Claim):
    """The published messages of the exp link are not the two sides of one factor.

    The two messages on an edge multiply to one measure, whichever variable it is written in: masses and means agree on
    both sides by quadrature for ``δ(γ - e^z)`` and for ``δ(z - log γ)``, not for the published pair. The runtime keeps
    one marginal an edge; the published projection, which it has for comparison, keeps two that differ.
    """

    name: ClassVar[str] = "exp_link_jacobian"
    statement: ClassVar[str] = (
        "The published messages of the exp link are the two messages of one deterministic factor."
    )
    formula: ClassVar[str] = "toward z e^z μ_γ(e^z), toward γ μ_z(log γ)/γ: their beliefs differ by one factor γ"
    claimed_in: ClassVar[str] = "published rules of the exp link; theory: message passing 0.1, 0.2"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "ExpLinkJacobian":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Eight edges: rows (1, x) that centre z, and the errors whose log precision z is."""
        generator = np.random.default_rng(13)
        features = np.column_stack([np.ones(8), generator.standard_normal(8)])
        latent = features @ WEIGHTS + 0.8 * generator.standard_normal(8)
        return Problem("8 edges", features, np.exp(-0.5 * latent) * generator.standard_normal(8), 1.0, 0.8, 13)

    def check(self, problem: Problem) -> Finding:
        """Both sides of all three pairs by quadrature, and the runtime's marginals."""
        exp, log, published = (_sides(problem, pair) for pair in (EXP, LOG, PUBLISHED))
        ratio = published[0].log_mass - published[1].log_mass
        shift = published[0].mean_log - published[1].mean_log
        one, energy = _runtime(problem)
        two, _ = _runtime(problem, dual=True)
        excess = energy + float(exp[0].log_mass.sum())
        margins = (
            at_most("δ(γ - e^z): log masses and means of the two sides", _apart(exp), 1e-7),
            at_most("δ(z - log γ): log masses and means of the two sides", _apart(log), 1e-7),
            at_least("published: log masses of the two sides, smallest difference", np.abs(ratio).min(), 0.05, "nats"),
            at_least("published: mean of log γ on the two sides, smallest difference", shift.min(), 0.1),
            at_most("published: log ratio of the two beliefs a unit of log γ, from 1", _unit(problem), 1e-9),
            at_most("runtime: E z against E log γ of its marginals", float(np.abs(one[0] - one[1]).max()), 1e-12),
            at_most("runtime: E z against quadrature", float(np.abs(one[0] - exp[0].mean_log).max()), 0.1),
            at_least("runtime: free energy + log Z, a bound", excess, 0.0, "nats"),
            at_most("runtime: free energy + log Z, an edge", excess / problem.rows, 0.1, "nats"),
            at_least(
                "published projection: E z over E log γ, smallest difference", float((two[0] - two[1]).min()), 0.1
            ),
        )
        sentence = (
            f"the published pair gives log γ two means an edge, {shift.min():.2f} to {shift.max():.2f} apart, and two "
            f"masses: its two beliefs differ by one factor γ, a whole unit of Gamma shape; either link by itself gives "
            f"one belief, to {max(_apart(exp), _apart(log)):.0e}, and the runtime's single marginal is "
            f"{excess / problem.rows:.3f} nats an edge above -log Z"
        )
        return fails_if(margins, sentence)


def toward_z(far: Message, z: Array, jacobian: int) -> Array:
    """The message to z from the message ``far`` of γ: ``e^{Jz} μ_γ(e^z)``."""
    return np.exp(jacobian * z) * far(np.exp(z))


def toward_gamma(near: Message, gamma: Array, jacobian: int) -> Array:
    """The message to γ from the message ``near`` of z: ``μ_z(log γ)``, over γ for ``J = 0``."""
    return near(np.log(gamma)) / (1.0 if jacobian else gamma)


def _edge(problem: Problem, row: int) -> tuple[Message, Message, Array]:
    """The messages into the link, a Gaussian of z and ``N(error; 0, 1/γ)`` of γ, and places about the centre."""
    centre, square = float(problem.features[row] @ WEIGHTS), float(problem.targets[row] ** 2)

    def near(z: Array) -> Array:
        return norm.pdf(z, centre, problem.noise_scale)

    def far(gamma: Array) -> Array:
        return np.sqrt(gamma / (2.0 * np.pi)) * np.exp(-0.5 * gamma * square)

    return near, far, centre + problem.noise_scale * np.linspace(-WIDTH, WIDTH, 49)


def _sides(problem: Problem, pair: tuple[int, int]) -> tuple[Side, Side]:
    """The z side and the γ side of every edge, each by quadrature in its own variable."""
    found = []
    for row in range(problem.rows):
        near, far, places = _edge(problem, row)
        z, share = _nodes(places)
        on_z = share * near(z) * toward_z(far, z, pair[0])
        gamma, share = _nodes(np.exp(places))
        on_gamma = share * far(gamma) * toward_gamma(near, gamma, pair[1])
        found.append([*_moments(on_z, z), *_moments(on_gamma, np.log(gamma))])
    columns = np.array(found).T
    return Side(*columns[:2]), Side(*columns[2:])


def _nodes(places: Array) -> tuple[Array, Array]:
    """Gauss-Legendre nodes between each two places, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half, middle = 0.5 * np.diff(places)[:, None], 0.5 * (places[1:] + places[:-1])[:, None]
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def _moments(masses: Array, logs: Array) -> tuple[float, float]:
    """Log of the whole mass and mean of the logarithm."""
    return float(np.log(masses.sum())), float(masses @ logs / masses.sum())


def _apart(sides: tuple[Side, ...]) -> float:
    """The largest difference of log masses and of means between the two sides."""
    return float(max(np.abs(first - second).max() for first, second in zip(*sides, strict=True)))


def _unit(problem: Problem) -> float:
    """How far the slope of the log ratio of the published beliefs over ``log γ`` is from one, a unit of Gamma shape.

    The belief on the z side is written as a density in γ: divided by γ.
    """
    near, far, places = _edge(problem, 0)
    z = places[len(places) // 2] + np.array([-1.0, 1.0])
    gamma = np.exp(z)
    first = near(z) * toward_z(far, z, PUBLISHED[0]) / gamma
    logs = np.log(first) - np.log(far(gamma) * toward_gamma(near, gamma, PUBLISHED[1]))
    return abs(float(logs[1] - logs[0]) / 2.0 - 1.0)


def _runtime(problem: Problem, *, dual: bool = False) -> tuple[tuple[Array, Array], float]:
    """``E z`` and ``E log γ`` of the runtime's marginals, and its free energy; ``dual`` is the published projection."""
    import inference as P

    @P.model
    def edges(m, y, centre, *, precision):
        rows = m.plate("row", len(y))
        z = m.normal("z", mean=centre, precision=precision, plates=rows)
        m.normal("y", mean=0.0, precision=m.exp("gamma", z), observed=y, plates=rows)

    data = {"y": problem.targets, "centre": problem.features @ WEIGHTS, "precision": 1.0 / problem.noise_var}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", P.DualProjection)
        found = P.infer(edges, data=data, constraints=[P.Form("z", "dual")] if dual else [])
    energy = found.free_energy if found.free_energy is not None else found.free_energy_diagnostic
    assert energy is not None
    return (found.posteriors["z"].mean(), found.posteriors["gamma"].mean_log()), float(energy[-1])
