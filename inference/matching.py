"""Expectation propagation at one factor: its message divided out of a marginal, and what it adds to the free energy.

A factor whose message to a Gaussian port is no Gaussian may send one by moment matching (``Node.match``). The message
is kept in the state by the name of the factor, as natural coefficients over its plates.
"""

from typing import TYPE_CHECKING

import numpy as np

from inference.errors import ImproperMarginal
from inference.families import Naturals
from inference.inbox import Inbox
from inference.structure import Factor
from inference.types import Values

if TYPE_CHECKING:
    from inference.program import Program, State


def matched_port(factor: Factor) -> str | None:
    """The port toward which a factor sends by moment matching, or None.

    Example
    -------
    >>> from inference.nodes.probit import Probit
    >>> matched_port(Factor("y", Probit(), {}, ()))
    'f'
    """
    return next(iter(factor.node.matches), None)


def cavity(factor: Factor, port: str, q: Inbox, message: Naturals) -> tuple[Values, Values]:
    """Mean and variance of the marginal at a port with the factor's own message divided out, over the factor's plates.

    Raises
    ------
    ImproperMarginal : nothing but this factor bounds the variable.
    """
    linear, precision = message
    mean, var = q[port].mean, q[port].var
    left = 1.0 / var - precision
    if not np.all(left > 0.0):
        raise ImproperMarginal(
            f"without the message of {factor.name!r} the variable at its port {port} has precision "
            f"{float(np.min(left)):.6g}, it must be above 0; give it a proper prior, or take smaller steps (damping=)"
        )
    return (mean / var - linear) / left, 1.0 / left


def bethe_term(factor: Factor, port: str, q: Inbox, message: Naturals) -> Values:
    """What a matched factor adds to the Bethe free energy, its own entropy taken off: -log Z - KL(q || cavity).

    Z is the integral of the factor against the cavity. Where the moments of q are those of their product, this is
    U - H of the product plus H[q], so that the entropies of the graph are counted as with any other factor.
    """
    mean, var = cavity(factor, port, q, message)
    found = factor.node.match(port, q, mean, var)
    ratio = q[port].var / var
    return -found.log_normaliser - 0.5 * (ratio - 1.0 - np.log(ratio) + (q[port].mean - mean) ** 2 / var)


def target(factor: Factor, port: str, program: "Program", state: "State") -> Naturals:
    """The message that the moments ask for at this state, zero where the factor is missing."""
    q = program.inbox(factor, state)
    found = factor.node.match(port, q, *cavity(factor, port, q, present(factor, state)))
    mask = program.masks[factor.name]
    held = 1.0 if mask is None else mask
    return tuple(np.broadcast_to(c * held, factor.sizes) for c in (found.linear, found.precision))


def present(factor: Factor, state: "State") -> Naturals:
    """The message that a factor last sent, flat before the first."""
    return state.matched.get(factor.name, (np.zeros(factor.sizes), np.zeros(factor.sizes)))
