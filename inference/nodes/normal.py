"""normal: y ~ N(mean, 1/precision), scalars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.distributions import Distribution
from inference.distributions import Normal as NormalDistribution
from inference.errors import SpecError
from inference.inbox import Inbox
from inference.nodes._base import Linear, Message, Node
from inference.registry import LETTERS
from inference.structure import Variable
from inference.terms import Quantity
from inference.types import Values

LOG_2PI = float(np.log(2.0 * np.pi))


@LETTERS.register
@dataclass(frozen=True)
class Normal(Node):
    """N(y | mean, 1/precision); ``var=`` may stand for a known precision (message_passing 1.4).

    Example
    -------
    >>> Normal.arguments(0.0, var=4.0)
    {'mean': 0.0, 'precision': 0.25}
    """

    letter = "normal"
    ports = {"y": "real", "mean": "real", "precision": "positive"}  # noqa: RUF012
    outputs = ("y",)
    couples = (frozenset({"y", "mean"}), frozenset({"mean", "precision"}))
    may_miss = ("y", "mean")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """``var=`` is turned into a precision."""
        if "var" in given and "precision" in given:
            raise SpecError("normal takes precision= or var=, not both")
        if isinstance(given.get("var"), Variable):
            raise SpecError("normal takes a variable as precision=; var= is for known numbers")
        if "var" in given:
            var = np.asarray(given.pop("var"), dtype=np.float64)
            if not np.all(var > 0.0):
                raise SpecError(f"normal takes var= above 0, not {np.min(var):.6g}")
            precision = 1.0 / var
            given["precision"] = precision if precision.ndim else float(precision)
        return super().arguments(*args, **given)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log N(y; mean, 1/precision)."""
        t = values["precision"]
        return 0.5 * (np.log(t) - LOG_2PI - t * (values["y"] - values["mean"]) ** 2)

    def message(self, port: str, q: Inbox) -> Message:
        """The mean-field column of 1.4."""
        t = q["precision"].mean
        if port == "precision":
            return np.full((1,) * t.ndim, 0.5), 0.5 * squared_error(q)
        return t * q["mean" if port == "y" else "y"].mean, t

    def average_energy(self, q: Inbox) -> Quantity:
        """U = (l2p - E log t + E t D) / 2."""
        t = q["precision"]
        error = squared_error(q)
        # A forecast that is exact leaves an error of 0, and a precision that may overflow to infinity: 0 in nats.
        weighted = np.multiply(
            t.mean, error, out=np.zeros(np.broadcast_shapes(t.mean.shape, error.shape)), where=error > 0
        )
        return 0.5 * (LOG_2PI - t.mean_log + weighted)

    def linear(self, ports: frozenset[str], q: Inbox) -> Linear:
        """y with mean; the precision is apart."""
        if ports != {"y", "mean"}:
            raise self.no_rule(f"the joint of {sorted(ports)}", "a Gaussian cluster")
        t = q["precision"].mean
        return Linear("y", "mean", np.ones((1,) * t.ndim), t)

    def joint_message(self, ports: frozenset[str], q: Inbox) -> Message:
        """(y, 1, 1/2, y^2/2) toward a normal-gamma pair (mean, precision)."""
        if ports != {"mean", "precision"}:
            raise self.no_rule(f"the joint of {sorted(ports)}", "a normal-gamma pair")
        y = q["y"]
        one = np.ones((1,) * y.mean.ndim)
        return y.mean[..., None], one[..., None, None], 0.5 * one, 0.5 * (y.mean**2 + y.var)

    def forward(self, port: str, q: Inbox) -> Distribution:
        """N(m, v + 1/E t) toward y or mean; a Student t where mean and precision are a pair."""
        if port == "precision":
            raise self.no_rule(port, "the marginals of the others, forward")
        other, t = q["mean" if port == "y" else "y"], q["precision"].mean
        if q.joint is not None and port == "y":
            return q.joint.predictive(np.ones((*t.shape, 1)))
        return NormalDistribution(*np.broadcast_arrays(other.mean, other.var + 1.0 / t))

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """The mean plus noise."""
        return {"y": values["mean"] + rng.standard_normal(shape) / np.sqrt(values["precision"])}


def squared_error(q: Inbox) -> Values:
    """D = E (y - mean)^2, less twice the covariance where the two are in one cluster (1.4)."""
    y, mean = q["y"], q["mean"]
    if q.pair is not None:
        return q.pair.squared_gap(y.mean, y.var)
    return (y.mean - mean.mean) ** 2 + y.var + mean.var
