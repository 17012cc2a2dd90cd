"""mvnormal: x ~ N(A mean + b, Q), a prior where the mean is known and a linear transition where it is a variable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inference.distributions import Distribution, MvNormal
from inference.errors import NoRule, SpecError
from inference.inbox import Inbox, Moments
from inference.nodes._base import Linear, Message, Node
from inference.registry import LETTERS
from inference.structure import Held, Variable
from inference.terms import Quantity
from inference.types import Values

LOG_2PI = float(np.log(2.0 * np.pi))


@LETTERS.register
@dataclass(frozen=True, eq=False)
class MvTransition(Node):
    """N(x | A mean + b, precision^-1) with constant A, b and precision (message_passing 1, recommended letters).

    ``precision`` or ``cov``: a number, a vector (a diagonal) or a matrix. ``dim`` is needed where ``mean`` is a number.

    Example
    -------
    >>> MvTransition.arguments(mean=0.0, cov=4.0, dim=2)["precision"]
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    """

    precision: Values
    matrix: Values | None = None
    offset: Values | None = None
    log_det: float = field(init=False)

    letter = "mvnormal"
    ports = {"x": "real", "mean": "real"}  # noqa: RUF012
    outputs = ("x",)
    couples = (frozenset({"x", "mean"}),)
    may_miss = ("x",)

    def __post_init__(self) -> None:
        try:
            factor = np.linalg.cholesky(self.precision)
        except np.linalg.LinAlgError:
            raise SpecError(
                "the precision of an mvnormal is not positive definite; a direction without prior information takes a "
                "small positive precision such as 1e-6"
            ) from None
        object.__setattr__(self, "log_det", float(2.0 * np.log(np.diagonal(factor)).sum()))

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """``cov`` is turned into a precision matrix, and a number as mean into a vector."""
        call = super().arguments(*args, **given)
        dim = _dimension(call)
        call.pop("dim", None)
        if ("cov" in call) == ("precision" in call):
            raise SpecError("mvnormal takes cov= or precision=, one of them")
        precise = "precision" in call
        scale = _as_matrix(call.pop("precision" if precise else "cov"), dim)
        call["precision"] = scale if precise else _inverse(scale)
        if not isinstance(call["mean"], Variable) and np.ndim(call["mean"]) == 0:
            call["mean"] = np.full(dim, float(call["mean"]))
        return call

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """A random walk, and a map from three dimensions to two."""
        walk = {"mean": np.zeros(2), "precision": np.array([[2.1, 0.6], [0.6, 1.2]])}
        matrix = np.array([[0.8, -0.3, 0.4], [0.2, 0.9, -0.5]])
        return walk, {**walk, "mean": np.zeros(3), "matrix": matrix, "offset": np.array([0.3, -0.5])}

    def event_ndim(self, port: str, held: Mapping[str, Any]) -> int:
        """Both are vectors."""
        return 1

    def output_event(self, port: str, held: Mapping[str, Held]) -> tuple[int, ...]:
        """As long as the precision is."""
        return (len(self.precision),)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log N(x; A mean + b, precision^-1)."""
        deviation = values["x"] - self._map(values["mean"])
        form = np.einsum("...i,ij,...j->...", deviation, self.precision, deviation)
        return 0.5 * (self.log_det - len(self.precision) * LOG_2PI - form)

    def message(self, port: str, q: Inbox) -> Message:
        """precision (A m + b) toward x; A' precision (x - b) toward the mean."""
        plates = (1,) * (q["x"].mean.ndim - 1)
        if port == "x":
            return self._map(q["mean"].mean) @ self.precision, self.precision.reshape(*plates, *self.precision.shape)
        deviation = q["x"].mean if self.offset is None else q["x"].mean - self.offset
        matrix = np.eye(len(self.precision)) if self.matrix is None else self.matrix
        precision = matrix.T @ self.precision @ matrix
        return deviation @ self.precision @ matrix, precision.reshape(*plates, *precision.shape)

    def average_energy(self, q: Inbox) -> Quantity:
        """U = (d l2p - log det precision + tr(precision E (x - A u - b)(x - A u - b)')) / 2."""
        deviation = q["x"].mean - self._map(q["mean"].mean)
        form = np.einsum("...i,ij,...j->...", deviation, self.precision, deviation) + self._trace(q["x"])
        if q.pair is not None:
            spread = q.pair.mapped_var - q.pair.cross - q.pair.cross.swapaxes(-1, -2)
            form = form + np.einsum("ij,...ij->...", self.precision, spread)
        elif not q["mean"].known:
            matrix = np.eye(len(self.precision)) if self.matrix is None else self.matrix
            form = form + _weighted_trace(matrix.T @ self.precision @ matrix, q["mean"])
        return 0.5 * (len(self.precision) * LOG_2PI - self.log_det + form)

    def linear(self, ports: frozenset[str], q: Inbox) -> Linear:
        """x with its mean."""
        if ports != {"x", "mean"}:
            raise self.no_rule(f"the joint of {sorted(ports)}", "a Gaussian cluster")
        lead = (1,) * (q["x"].mean.ndim - 1)
        matrix = np.eye(len(self.precision)) if self.matrix is None else self.matrix
        offset = None if self.offset is None else self.offset.reshape(*lead, -1)
        coefficient, precision = (
            matrix.reshape(*lead, *matrix.shape),
            self.precision.reshape(*lead, *self.precision.shape),
        )
        return Linear("x", "mean", coefficient, precision, offset, vector_input=True, vector_output=True)

    def forward(self, port: str, q: Inbox) -> Distribution:
        """N(A m + b, Q + A V A')."""
        if port != "x":
            raise self.no_rule(port, "the marginals of the others, forward")
        mean = self._map(q["mean"].mean)
        noise = _inverse(self.precision)
        if q["mean"].known:
            return MvNormal(mean, np.broadcast_to(noise, (*mean.shape, mean.shape[-1])))
        spread = _dense(q["mean"])
        if self.matrix is not None:
            spread = self.matrix @ spread @ self.matrix.T
        return MvNormal(mean, noise + spread)

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A draw by the Cholesky factor of the precision."""
        factor = np.linalg.cholesky(self.precision)
        noise = rng.standard_normal((*shape, len(factor)))
        return {"x": self._map(values["mean"]) + np.linalg.solve(factor.T, noise[..., None])[..., 0]}

    def _map(self, mean: Values) -> Values:
        mapped = mean if self.matrix is None else mean @ self.matrix.T
        return mapped if self.offset is None else mapped + self.offset

    def _trace(self, x: Moments) -> Values | float:
        return 0.0 if x.known else _weighted_trace(self.precision, x)


def _weighted_trace(weight: Values, x: Moments) -> Values:
    assert x.covariance is not None
    if x.diagonal:
        return x.covariance @ np.diagonal(weight)
    return np.einsum("ij,...ij->...", weight, x.covariance)


def _dense(x: Moments) -> Values:
    assert x.covariance is not None
    return x.covariance[..., None] * np.eye(x.covariance.shape[-1]) if x.diagonal else x.covariance


def _dimension(call: Mapping[str, Any]) -> int:
    """How long x is: from ``dim``, the scale, the matrix or the mean, whichever says."""
    if "mean" not in call:
        raise SpecError("mvnormal takes mean=: a number, a vector or a variable")
    said = {"dim": call.get("dim")}
    given = {name: call[name] for name in ("cov", "precision", "matrix", "offset") if call.get(name) is not None}
    said |= {name: len(value) for name, value in given.items() if np.ndim(value) > 0}
    mean = call["mean"]
    if call.get("matrix") is None:
        if isinstance(mean, Variable) and mean.event:
            said["mean"] = mean.event[0]
        elif not isinstance(mean, Variable) and np.ndim(mean) > 0:
            said["mean"] = np.shape(mean)[-1]
    sizes = {name: int(size) for name, size in said.items() if size is not None}
    if not sizes:
        raise SpecError("mvnormal with a number as mean and a number as scale does not say how long x is; pass dim=")
    if len(set(sizes.values())) > 1:
        raise SpecError(f"the arguments of mvnormal disagree on how long x is: {sizes}")
    return next(iter(sizes.values()))


def _as_matrix(scale: Any, dim: int) -> Values:
    if isinstance(scale, Variable):
        raise NoRule("mvnormal takes a known precision; for an unknown one use normal, softdot or normal_gamma")
    array = np.asarray(scale, dtype=np.float64)
    if array.ndim == 0:
        return array * np.eye(dim)
    if array.ndim == 1:
        return np.diag(array)
    if array.shape != (dim, dim) or not np.allclose(array, array.T):
        raise SpecError(f"the scale of an mvnormal is a number, {dim} numbers or a symmetric matrix, not {array.shape}")
    return array


def _inverse(matrix: Values) -> Values:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise SpecError("the covariance of an mvnormal is not positive definite") from None
    half = np.linalg.inv(factor)
    return half.T @ half
