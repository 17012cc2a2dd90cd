"""beta: x ~ Beta(a, b) with constant a and b, the prior of a probability."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaln

from inference.distributions import Beta as BetaDistribution
from inference.distributions import Distribution
from inference.errors import SpecError
from inference.inbox import Inbox
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.terms import Quantity
from inference.types import Values


@LETTERS.register
@dataclass(frozen=True)
class Beta(Node):
    """Beta(x | a, b) = x^(a-1) (1-x)^(b-1) / B(a, b); conjugate to ``bernoulli``.

    Raises
    ------
    SpecError : a or b is not one number above 0.

    Example
    -------
    >>> round(float(np.exp(Beta(a=2.0, b=1.0).log_density({"x": np.array(0.25)}))), 12)
    0.5
    """

    a: float
    b: float

    letter = "beta"
    ports = {"x": "probability"}  # noqa: RUF012
    outputs = ("x",)

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < value < np.inf:
                raise SpecError(f"beta takes one number above 0 as {name}, not {value!r}")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """``a`` and ``b`` may come by place, as in ``m.beta("bias", 1.0, 1.0)``."""
        return cls.by_name(("a", "b"), args, given)

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """One is enough."""
        return ({"a": 1.7, "b": 2.4},)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """The log of the density above."""
        x = values["x"]
        return (self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x) - betaln(self.a, self.b)

    def message(self, port: str, q: Inbox) -> Message:
        """(a - 1, b - 1) toward x, whatever x is."""
        return np.asarray(self.a - 1.0), np.asarray(self.b - 1.0)

    def average_energy(self, q: Inbox) -> Quantity:
        """U = log B(a, b) - (a - 1) E log x - (b - 1) E log(1 - x)."""
        x = q["x"]
        return betaln(self.a, self.b) - (self.a - 1.0) * x.mean_log - (self.b - 1.0) * x.mean_log1m

    def forward(self, port: str, q: Inbox) -> Distribution:
        """Beta(a, b)."""
        return BetaDistribution(self.a, self.b)

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A Beta draw."""
        return {"x": np.asarray(rng.beta(self.a, self.b, size=shape))}
