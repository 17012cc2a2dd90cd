"""softdot: z ~ N(w'phi, 1/tau), the inner product of two Gaussian ports with Gaussian noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.contractions import inner, lift
from inference.distributions import Distribution, Normal, NormalGamma, StudentT
from inference.errors import SpecError
from inference.inbox import Inbox, Moments, Pair
from inference.nodes._base import Linear, Message, Node, is_vector
from inference.registry import LETTERS
from inference.structure import Held, Variable
from inference.terms import Outer, Quadratic, Quantity, Scaled, add, full, scale
from inference.types import Values

LOG_2PI = float(np.log(2.0 * np.pi))


@LETTERS.register
@dataclass(frozen=True)
class SoftDot(Node):
    """N(z | w'phi, 1/tau): vectors w and phi (or two scalars), scalar z, precision tau (message_passing 1.2, 1.3).

    Example
    -------
    >>> SoftDot().ports["tau"]
    'positive'
    """

    letter = "softdot"
    ports = {"z": "real", "w": "real", "phi": "real", "tau": "positive"}  # noqa: RUF012
    outputs = ("z",)
    couples = (frozenset({"z", "w"}), frozenset({"z", "phi"}), frozenset({"w", "tau"}), frozenset({"phi", "tau"}))
    may_miss = ("z",)

    def event_ndim(self, port: str, held: Mapping[str, Any]) -> int:
        """Weights and features are vectors, unless one of them is a scalar variable."""
        if port not in ("w", "phi"):
            return 0
        variables = [held[p] for p in ("w", "phi") if isinstance(held[p], Variable)]
        return int(all(is_vector(v) for v in variables))

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log N(z; w'phi, 1/tau)."""
        z, tau = values["z"], values["tau"]
        product = values["w"] * values["phi"]
        mean = product.sum(axis=-1) if product.ndim > np.ndim(z) else product
        return 0.5 * (np.log(tau) - LOG_2PI - tau * (z - mean) ** 2)

    def message(self, port: str, q: Inbox) -> Message:
        """The table of 1.2."""
        t = q["tau"].mean
        if port == "z":
            return t * inner(vector(q["w"]), vector(q["phi"])), t
        if port == "tau":
            return np.full((1,) * t.ndim, 0.5), scale(squared_error(q), np.full((1,) * t.ndim, 0.5))
        other = q["phi" if port == "w" else "w"]
        linear: Quantity = Scaled(t * q["z"].mean, vector(other))
        if q.pair is not None:
            linear = add(linear, lift(t, 1) * _between(q.pair, other))
        precision: Quantity = Outer(t, vector(other), other.kept)
        if not other.known:
            precision = add(precision, scale(_dense(other), t, 2))
        if q[port].event_ndim:
            return linear, precision
        return full(linear)[..., 0], full(precision)[..., 0, 0]

    def average_energy(self, q: Inbox) -> Quantity:
        """U = (l2p - E log tau + E tau S) / 2."""
        half = np.full((1,) * q["tau"].mean.ndim, 0.5)
        return add(0.5 * (LOG_2PI - q["tau"].mean_log), scale(squared_error(q), half * q["tau"].mean))

    def linear(self, ports: frozenset[str], q: Inbox) -> Linear:
        """z with w, or z with phi; what is outside is under mean field and adds t Cov to the input's precision."""
        if "z" not in ports or len(ports) != 2 or "tau" in ports:
            raise self.no_rule(f"the joint of {sorted(ports)}", "a Gaussian cluster")
        (inside,) = ports - {"z"}
        other = q["phi" if inside == "w" else "w"]
        t = q["tau"].mean
        coefficient = other.mean if q[inside].event_ndim else vector(other)[..., 0]
        extra = None
        if not other.known:
            spread = full(scale(_dense(other), t, 2))
            extra = spread if q[inside].event_ndim else spread[..., 0, 0]
        vector_input = bool(q[inside].event_ndim)
        return Linear("z", inside, coefficient, t, extra=extra, kept=other.kept, vector_input=vector_input)

    def joint_message(self, ports: frozenset[str], q: Inbox) -> Message:
        """(phi z, phi phi', 1/2, z^2/2) toward a normal-gamma pair (w, tau) or (phi, tau)."""
        if "tau" not in ports or "z" in ports or len(ports) != 2:
            raise self.no_rule(f"the joint of {sorted(ports)}", "a normal-gamma pair")
        other = q["phi" if "w" in ports else "w"]
        one = np.ones((1,) * q["z"].mean.ndim)
        precision: Quantity = Outer(one, vector(other), other.kept)
        if not other.known:
            precision = add(precision, _dense(other))
        return Scaled(q["z"].mean, vector(other)), precision, 0.5 * one, 0.5 * (q["z"].mean ** 2 + q["z"].var)

    def forward(self, port: str, q: Inbox) -> Distribution:
        """N(mw'mphi, mphi'Vw mphi + mw'Vphi mw + tr(Vw Vphi) + 1/E tau); a Student t where w and tau are a pair."""
        if port != "z":
            raise self.no_rule(port, "the marginals of the others, forward")
        mean = inner(vector(q["w"]), vector(q["phi"]))
        var = full(_product_var(q)) + 1.0 / q["tau"].mean
        if q.joint is not None:
            return _student(q, q.joint, mean, var)
        return Normal(*np.broadcast_arrays(mean, var))

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """w'phi plus noise of variance 1/tau."""
        product = values["w"] * values["phi"]
        mean = product.sum(axis=-1) if product.ndim > values["tau"].ndim else product
        return {"z": mean + rng.standard_normal(shape) / np.sqrt(values["tau"])}

    def output_event(self, port: str, held: Mapping[str, Held]) -> tuple[int, ...]:
        """A scalar; w and phi are of one length."""
        if held["w"].event != held["phi"].event:
            raise SpecError(f"softdot takes w and phi of one length, not {held['w'].event} and {held['phi'].event}")
        return ()


def squared_error(q: Inbox) -> Quantity:
    """S = E (z - w'phi)^2 (1.2), from the joint moments where z is in one cluster with w or phi."""
    read_from = (q["w"], q["phi"], q.pair)
    known = q["z"].memory.get("squared_error")
    if known is None or any(a is not b for a, b in zip(known[0], read_from, strict=True)):
        known = q["z"].memory["squared_error"] = (read_from, _squared_error(q))
    return known[1]


def _squared_error(q: Inbox) -> Quantity:
    z, pair = q["z"], q.pair
    inside = "" if pair is None else pair.ports[1]
    outside = q["phi" if inside == "w" else "w"]
    if pair is not None and outside.known:
        return pair.squared_gap(z.mean, z.var)
    apart = add((z.mean - inner(vector(q["w"]), vector(q["phi"]))) ** 2, z.var, _product_var(q))
    if pair is None:
        return apart
    # the coefficient is a variable that may have moved since the pair was solved, so it is read as it is now
    return add(apart, -2.0 * inner(_between(pair, q[inside]), vector(outside)))


def _student(q: Inbox, joint: NormalGamma, mean: Values, var: Values) -> Distribution:
    """The predictive under a pair (5.3); an uncertain other port widens it so that its variance is exact."""
    pair, other = (q["w"], q["phi"]) if q["w"].scaled else (q["phi"], q["w"])
    shape = joint.arrays()["shape"]
    if not other.known:
        var = var - full(_form(pair, other)) / shape
    return StudentT(*np.broadcast_arrays(2.0 * shape, mean, np.sqrt(var)))


def _between(pair: Pair, inside: Moments) -> Values:
    """Cov(z, the port that is in one cluster with z), as a vector."""
    assert pair.between is not None
    return pair.between() if inside.event_ndim else pair.between()[..., None]


def vector(x: Moments) -> Values:
    """The mean as a vector; a scalar is a vector of one entry."""
    return x.mean if x.event_ndim else x.mean[..., None]


def _product_var(q: Inbox) -> Quantity:
    w, phi = q["w"], q["phi"]
    parts: list[Quantity] = [np.zeros((1,) * q["tau"].mean.ndim)]
    if not w.known:
        parts.append(_form(phi, w))
    if not phi.known:
        parts.append(_form(w, phi))
    if not (w.known or phi.known):
        parts.append(_trace(w, phi))
    return add(*parts)


def _form(at: Moments, spread: Moments) -> Quantity:
    """E[at]' Cov[spread] E[at]."""
    one = np.ones((1,) * (vector(at).ndim - 1))
    covariance, diagonal = _covariance(spread)
    return Quadratic(one, vector(at), covariance, diagonal, at.kept)


def _trace(w: Moments, phi: Moments) -> Values:
    (a, a_diagonal), (b, b_diagonal) = _covariance(w), _covariance(phi)
    if not (a_diagonal or b_diagonal):
        return np.einsum("...ij,...ij->...", a, b)
    a = a if a_diagonal else np.diagonal(a, axis1=-2, axis2=-1)
    b = b if b_diagonal else np.diagonal(b, axis1=-2, axis2=-1)
    return (a * b).sum(axis=-1)


def _covariance(x: Moments) -> tuple[Values, bool]:
    if not x.event_ndim:
        return x.var[..., None], True
    assert x.covariance is not None
    return x.covariance, x.diagonal


def _dense(x: Moments) -> Values:
    covariance, diagonal = _covariance(x)
    return covariance[..., None] * np.eye(covariance.shape[-1]) if diagonal else covariance
