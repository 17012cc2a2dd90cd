"""Letters with one rule deliberately wrong, and letters that an author might add."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from inference.distributions import Gamma as GammaDistribution
from inference.distributions import Normal as NormalDistribution
from inference.nodes._base import Linear, Node
from inference.nodes.normal import Normal
from inference.nodes.soft_dot import SoftDot
from inference.terms import full


@dataclass(frozen=True)
class Exponential(Node):
    """x ~ rate e^(-rate x), conjugate to gamma at both ports."""

    letter = "exponential"
    ports = {"x": "positive", "rate": "positive"}  # noqa: RUF012
    outputs = ("x",)
    may_miss = ("x",)

    def log_density(self, values):
        return np.log(values["rate"]) - values["rate"] * values["x"]

    def message(self, port, q):
        other = q["rate" if port == "x" else "x"].mean
        return np.full((1,) * np.ndim(other), 0.0 if port == "x" else 1.0), other

    def average_energy(self, q):
        return q["rate"].mean * q["x"].mean - q["rate"].mean_log

    def forward(self, port, q):
        if port != "x":
            raise self.no_rule(port, "the marginals of the others, forward")
        rate = q["rate"].mean
        return GammaDistribution(np.ones(np.shape(rate)), rate)

    def sample(self, values, shape, rng):
        return {"x": rng.exponential(size=shape) / values["rate"]}


@dataclass(frozen=True)
class Poisson(Node):
    """Counts n with a gamma rate; n is always known, so there is a rule toward the rate alone."""

    letter = "poisson"
    ports = {"n": "real", "rate": "positive"}  # noqa: RUF012
    outputs = ("n",)

    def log_density(self, values):
        return values["n"] * np.log(values["rate"]) - values["rate"] - gammaln(values["n"] + 1.0)

    def message(self, port, q):
        if port == "n":
            raise self.no_rule("n", "that counts are always known")
        return q["n"].mean, np.ones((1,) * np.ndim(q["n"].mean))

    def average_energy(self, q):
        n, rate = q["n"].mean, q["rate"]
        return rate.mean - n * rate.mean_log + gammaln(n + 1.0)


def wrong(base: type[Node], **replaced: Callable[..., Any]) -> type[Node]:
    """The letter with some methods replaced; each is called with the right method first."""

    def around(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *args: method(getattr(base, name).__get__(self), *args)

    return type(f"Wrong{base.__name__}", (base,), {name: around(name, m) for name, m in replaced.items()})


def at(port: str, change: Callable[..., Any]) -> Callable[..., Any]:
    """A message rule that is changed toward one port."""
    return lambda right, toward, q: change(*right(toward, q)) if toward == port else right(toward, q)


def _linear(**changed: Callable[[Any], Any]) -> Callable[..., Any]:
    def rule(right: Callable[..., Linear], ports: frozenset[str], q: Any) -> Linear:
        found = right(ports, q)
        held = {k: getattr(found, k) for k in Linear.__dataclass_fields__}
        return Linear(**{**held, **{k: change(held[k]) for k, change in changed.items()}})

    return rule


def _raises(*_: Any) -> Any:
    raise ZeroDivisionError("oh dear")


def _no_rule(right: Callable[..., Any], ports: frozenset[str], q: Any) -> Any:
    raise Normal().no_rule("the joint", "nothing")


def _ignores_the_pair(right: Callable[..., Any], q: Any) -> Any:
    t, deviation = q["precision"], (q["y"].mean - q["mean"].mean) ** 2 + q["y"].var + q["mean"].var
    return 0.5 * (np.log(2.0 * np.pi) - t.mean_log + t.mean * deviation)


def _without_noise(right: Callable[..., Any], port: str, q: Any) -> Any:
    if port != "y":
        return right(port, q)
    return NormalDistribution(*np.broadcast_arrays(q["mean"].mean, q["mean"].var + 1e-3))


def _wrong_scale(_: Callable[..., Any], values: Any, shape: Any, rng: Any) -> Any:
    return {"y": values["mean"] + rng.standard_normal(shape) * values["precision"]}


def _half(row: str) -> Callable[..., Any]:
    changes = {"twice": lambda s, r: (s, 2.0 * r), "no half": lambda s, r: (s + 0.5, r)}
    return at("precision", changes[row])


WRONG: dict[str, tuple[type[Node], str, str]] = {
    "wrong sign": (wrong(Normal, message=at("mean", lambda h, L: (-h, L))), "message", "toward mean"),
    "missing half": (wrong(Normal, message=_half("twice")), "message", "toward precision"),
    "no half in the shape": (wrong(Normal, message=_half("no half")), "message", "toward precision"),
    "one too many": (wrong(Normal, message=at("y", lambda h, L: (h, L, L))), "message", "toward y"),
    "wrong shape": (wrong(Normal, message=at("y", lambda h, _: (h, np.ones(7)))), "message", "toward y"),
    "raises": (wrong(Normal, message=at("y", _raises)), "message", "toward y"),
    "energy constant": (wrong(Normal, average_energy=lambda f, q: full(f(q)) + 0.5), "average_energy", "of all"),
    "energy of another sign": (wrong(Normal, average_energy=lambda f, q: -full(f(q))), "average_energy", "of all"),
    "energy without Cov": (wrong(Normal, average_energy=_ignores_the_pair), "average_energy", "of all"),
    "potential twice": (wrong(Normal, linear=_linear(precision=lambda t: 2.0 * t)), "linear", "of (y, mean)"),
    "potential of no rule": (wrong(Normal, linear=_no_rule), "linear", "of (y, mean)"),
    "joint without y squared": (
        wrong(Normal, joint_message=lambda f, p, q: (*f(p, q)[:3], 0.0 * f(p, q)[3])),
        "joint_message",
        "toward (mean, precision)",
    ),
    "forward without noise": (wrong(Normal, forward=_without_noise), "forward", "toward y"),
    "draws of the wrong scale": (wrong(Normal, sample=_wrong_scale), "sample", "of y"),
    "density not normalised": (
        wrong(Normal, log_density=lambda f, v: f(v) + 0.1),
        "log_density",
        "integrates over y",
    ),
    "uncertain coefficient left out": (wrong(SoftDot, linear=_linear(extra=lambda _: None)), "linear", "of (z, w)"),
}
"""Each with the rule and the ports that the checker must name."""
