"""gamma: x ~ Ga(shape, rate), shape constant, rate a positive port."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from inference.distributions import Distribution
from inference.distributions import Gamma as GammaDistribution
from inference.errors import SpecError
from inference.inbox import Inbox
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.terms import Quantity
from inference.types import Values


@LETTERS.register
@dataclass(frozen=True)
class Gamma(Node):
    """Ga(x | shape, rate) = rate^shape x^(shape-1) e^(-rate x) / Gamma(shape) (message_passing 1.5).

    Example
    -------
    >>> float(Gamma(shape=1.0).log_density({"x": np.array(2.0), "rate": np.array(1.0)}))
    -2.0
    """

    shape: float

    letter = "gamma"
    ports = {"x": "positive", "rate": "positive"}  # noqa: RUF012
    outputs = ("x",)

    def __post_init__(self) -> None:
        if not (np.ndim(self.shape) == 0 and np.isfinite(self.shape) and self.shape > 0):
            raise SpecError(f"gamma takes one shape above 0, not {self.shape!r}")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """``shape`` may come first by place, as in ``m.gamma("tau", 1.0, 1.0)``."""
        return cls.by_name(("shape", "rate"), args, given)

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """A density with its mode inside, and one that falls from infinity."""
        return {"shape": 2.3}, {"shape": 0.7}

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """The log of the density above."""
        x, rate, a = values["x"], values["rate"], self.shape
        return a * np.log(rate) - gammaln(a) + (a - 1.0) * np.log(x) - rate * x

    def message(self, port: str, q: Inbox) -> Message:
        """Ga(shape, E rate) toward x; shape and E x toward the rate."""
        coefficient = self.shape - 1.0 if port == "x" else self.shape
        other = q["rate" if port == "x" else "x"].mean
        return np.full((1,) * other.ndim, coefficient), other

    def average_energy(self, q: Inbox) -> Quantity:
        """U = lgamma(shape) - shape E log rate - (shape - 1) E log x + E rate E x."""
        a, x, rate = self.shape, q["x"], q["rate"]
        return gammaln(a) - a * rate.mean_log - (a - 1.0) * x.mean_log + rate.mean * x.mean

    def forward(self, port: str, q: Inbox) -> Distribution:
        """Ga(shape, E rate)."""
        if port != "x":
            raise self.no_rule(port, "the marginals of the others, forward")
        rate = q["rate"].mean
        return GammaDistribution(np.full(rate.shape, float(self.shape)), rate)

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A Gamma draw."""
        return {"x": rng.standard_gamma(self.shape, size=shape) / values["rate"]}
