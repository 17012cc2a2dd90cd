"""bernoulli: y is 1 with a probability that is a port, else 0."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inference.distributions import Bernoulli as BernoulliDistribution
from inference.distributions import Distribution
from inference.inbox import Inbox
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.terms import Quantity
from inference.types import Values


@LETTERS.register
@dataclass(frozen=True)
class Bernoulli(Node):
    """p^y (1-p)^(1-y), y in {0, 1}; conjugate to ``beta``. A NaN among the observed y is predicted.

    Example
    -------
    >>> round(float(np.exp(Bernoulli().log_density({"y": np.array(1.0), "probability": np.array(0.25)}))), 12)
    0.25
    """

    letter = "bernoulli"
    ports = {"y": "binary", "probability": "probability"}  # noqa: RUF012
    outputs = ("y",)
    may_miss = ("y",)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """y log p + (1 - y) log(1 - p)."""
        y, p = values["y"], values["probability"]
        return y * np.log(p) + (1.0 - y) * np.log1p(-p)

    def message(self, port: str, q: Inbox) -> Message:
        """The log odds E log p - E log(1 - p) toward y; (E y, 1 - E y) toward the probability."""
        if port == "y":
            p = q["probability"]
            return (p.mean_log - p.mean_log1m,)
        y = q["y"].mean
        return y, 1.0 - y

    def average_energy(self, q: Inbox) -> Quantity:
        """U = -E y E log p - (1 - E y) E log(1 - p)."""
        y, p = q["y"].mean, q["probability"]
        return -(y * p.mean_log + (1.0 - y) * p.mean_log1m)

    def forward(self, port: str, q: Inbox) -> Distribution:
        """Bernoulli(E p) toward y: the mass of y with p integrated out."""
        if port != "y":
            raise self.no_rule(port, "the marginals of the others, forward")
        return BernoulliDistribution(q["probability"].mean)

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A draw, 0.0 or 1.0."""
        return {"y": np.asarray(rng.random(shape) < values["probability"], dtype=np.float64)}
