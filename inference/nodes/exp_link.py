"""exp: gamma = e^z, the deterministic link from a Gaussian to a precision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.distributions import Distribution, LogNormal
from inference.errors import SpecError
from inference.inbox import Inbox
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.terms import Quantity
from inference.types import Values


@LETTERS.register
@dataclass(frozen=True)
class ExpLink(Node):
    """delta(gamma - e^z) for ``jacobian=0``, delta(z - log gamma) for 1: they differ by a factor gamma (section 0.2).

    z and gamma share one marginal; it is found by the exact solvers of section 2, not by a message.

    Example
    -------
    >>> ExpLink().kind
    'deterministic'
    """

    jacobian: int = 0

    letter = "exp"
    ports = {"gamma": "positive", "z": "real"}  # noqa: RUF012
    outputs = ("gamma",)
    kind = "deterministic"

    def __post_init__(self) -> None:
        if self.jacobian not in (0, 1):
            raise SpecError(f"exp takes jacobian 0 (exp link) or 1 (log link), not {self.jacobian!r}")

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """Both Jacobians."""
        return {}, {"jacobian": 1}

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """A delta function has none.

        Raises
        ------
        SpecError : always.
        """
        raise SpecError("exp is deterministic and has no density")

    def message(self, port: str, q: Inbox) -> Message:
        """None is sent by itself.

        Raises
        ------
        NoRule : always; the pair (z, gamma) is solved as one block.
        """
        raise self.no_rule(port, "the other end by itself")

    def average_energy(self, q: Inbox) -> Quantity:
        """None: a deterministic factor contributes minus the entropy of its input (1.7), -J E z of it here."""
        return -float(self.jacobian) * q["z"].mean

    def forward(self, port: str, q: Inbox) -> Distribution:
        """The push-forward of the Gaussian on z."""
        if port != "gamma":
            raise self.no_rule(port, "the marginals of the others, forward")
        z = q["z"]
        return LogNormal(*np.broadcast_arrays(z.mean, z.var))

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """e^z."""
        return {"gamma": np.broadcast_to(np.exp(values["z"]), shape)}
