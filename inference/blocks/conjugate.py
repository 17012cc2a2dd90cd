"""One variable whose messages multiply to a distribution of its family."""

import numpy as np

from inference.blocks._base import Block
from inference.distributions import Distribution, Gamma, MvNormal, Normal, PointMass
from inference.errors import ImproperMarginal, NoRule
from inference.families import Naturals, marginal, naturals_of
from inference.program import Program, State
from inference.structure import Variable
from inference.types import Values

FORMS = ("exact", "diagonal", "point_mass")


class Conjugate(Block):
    """The product of the mean-field messages on one variable, kept as it is or put into a simpler form.

    ``diagonal`` keeps the mean of the full Gaussian and the variances 1/Lam_kk, which minimise the free energy among
    independent coordinates (message_passing 4.2). ``point_mass`` is the mode.
    """

    def __init__(self, variable: str, form: str = "exact") -> None:
        self.variables = (variable,)
        self.form = form

    def update(self, program: Program, state: State, damping: float) -> State:
        """Natural parameters add (1.8)."""
        (name,) = self.variables
        variable = program.graph.variables[name]
        naturals = program.incoming(name, state)
        if damping < 1.0:
            if self.form == "point_mass":
                raise NoRule(f"damping works on natural parameters, which the point mass of {name!r} has none of")
            naturals = damped(naturals, state.marginals[name], damping)
        return state.updated(marginals={name: shaped(variable, naturals, self.form)})

    def explain(self, program: Program) -> list[str]:
        """One line a message."""
        return [
            f"{factor.name} ({factor.node.letter}) -> {self.variables[0]}: mean-field message toward port {port}"
            for factor in program.graph.touching[self.variables[0]]
            for port in factor.holding(self.variables[0])
        ] + ([] if self.form == "exact" else [f"form of q({self.variables[0]}): {self.form}"])


def shaped(variable: Variable, naturals: Naturals, form: str) -> Distribution:
    """The marginal of these naturals, in a form.

    Example
    -------
    >>> shaped(Variable("tau", "positive", ()), (np.array(1.0), np.array(2.0)), "point_mass").mean()
    array(0.5)
    """
    full = marginal(variable, naturals)
    if form == "exact":
        return full
    if form == "diagonal":
        if not isinstance(full, MvNormal):
            raise NoRule(f"the form 'diagonal' is for vectors; {variable.name!r} is a {variable.type} scalar")
        return MvNormal(full.mean(), diag=1.0 / np.diagonal(naturals[1], axis1=-2, axis2=-1))
    return PointMass(_mode(variable, full), event_ndim=len(variable.event))


def damped(new: Naturals, old: Distribution, damping: float) -> Naturals:
    """(1 - r) old + r new in natural parameters.

    Example
    -------
    >>> damped((np.array(1.0), np.array(2.0)), Gamma(1.0, 1.0), 0.5)
    (np.float64(0.5), np.float64(1.5))
    """
    return tuple((1.0 - damping) * b + damping * a for a, b in zip(new, naturals_of(old), strict=True))


def _mode(variable: Variable, full: Distribution) -> Values:
    if isinstance(full, Normal | MvNormal):
        return full.mean()
    if isinstance(full, Gamma):
        if np.any(full.shape <= 1):
            raise ImproperMarginal(
                f"q({variable.name}) has its mode at 0 (shape {float(np.min(full.shape)):.4g}); a point mass there is "
                "no marginal: use the exact form, or a prior with a larger shape"
            )
        return full.mode()
    raise NoRule(f"the form 'point_mass' is for real and positive variables; {variable.name!r} is a {variable.type}")
