"""Eliminating one Gaussian variable of a linear factor: the message to the other, and the way back.

A factor is exp(-t/2 ||output - C input - o||^2 - input' E input / 2). The eliminated variable (the child) comes with
natural coefficients of everything else that touches it. Upward it becomes a message on the other (the parent);
downward its conditional turns the parent's moments into the child's and the joint moments of both. Nothing is divided
out again, so a flat or nearly flat child loses no digits (message_passing 1.3, 2.5).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from inference.contractions import dot, inner, lift, quadratic
from inference.inbox import Pair
from inference.nodes._base import Linear
from inference.terms import Outer, Quantity, Scaled, add, full
from inference.types import Values

LOG_2PI_E = float(np.log(2.0 * np.pi) + 1.0)


@dataclass(frozen=True, eq=False)
class Belief:
    """Mean and spread of a variable, aligned with the factor; the covariance of a vector is a matrix."""

    mean: Values
    spread: Values


class Conditional(ABC):
    """The child given the parent."""

    @abstractmethod
    def down(self, parent: Belief) -> tuple[Belief, Pair]:
        """The child's moments, and the joint ones, under the parent's."""


@dataclass(frozen=True, eq=False)
class Eliminated:
    """What elimination leaves: the message to the parent, and the conditional of the child."""

    linear: Quantity
    precision: Quantity
    conditional: Conditional


def eliminate(linear: Linear, child: str, h: Quantity, L: Values) -> Eliminated:
    """Integrate the child out; ``h`` and ``L`` are its natural coefficients, aligned with the factor.

    Example
    -------
    >>> factor = Linear("z", "w", np.ones((1,)), np.ones((1,)))
    >>> out = eliminate(factor, "z", np.array([3.0]), np.array([1.0]))
    >>> out.linear, out.precision
    (array([1.5]), array([0.5]))
    """
    if child == linear.output:
        rule = _matrix_output if linear.vector_output else _scalar_output
    else:
        rule = _matrix_input if linear.vector_output else _scalar_input
    return rule(linear, full(h), L)


def mapped(linear: Linear, belief: Belief) -> tuple[Values, Values]:
    """Mean and variance of the scalar C input."""
    c = linear.coefficient
    if linear.vector_input:
        return inner(c, belief.mean), quadratic(c, belief.spread)
    return c * belief.mean, c**2 * belief.spread


@dataclass(frozen=True, eq=False)
class _ScalarGivenInput(Conditional):
    """z | a is N(gain a + intercept, var), a = C input; ``loss`` is 1 - gain."""

    linear: Linear
    gain: Values
    loss: Values
    intercept: Values
    var: Values

    def down(self, parent: Belief) -> tuple[Belief, Pair]:
        a, va = mapped(self.linear, parent)
        child = Belief(self.gain * a + self.intercept, self.var + self.gain**2 * va)
        gap = (self.intercept - self.loss * a) ** 2 + self.var + self.loss**2 * va
        entropy = 0.5 * (LOG_2PI_E + np.log(self.var))

        def between() -> Values:
            c = self.linear.coefficient
            if not self.linear.vector_input:
                return self.gain * c * parent.spread
            return lift(self.gain, 1) * np.matmul(parent.spread, c[..., None])[..., 0]

        return child, Pair((self.linear.output, self.linear.input), a, va, self.gain * va, entropy, between, gap)


def _scalar_output(linear: Linear, h: Values, l: Values) -> Eliminated:  # noqa: E741
    t, c = linear.precision, linear.coefficient
    q = t + l
    rho, target, intercept = t * l / q, t * h / q, h / q
    if linear.offset is not None:
        target, intercept = target - rho * linear.offset, intercept + t * linear.offset / q
    conditional = _ScalarGivenInput(linear, t / q, l / q, intercept, 1.0 / q)
    if not linear.vector_input:
        precision = rho * c**2 if linear.extra is None else rho * c**2 + linear.extra
        return Eliminated(target * c, precision, conditional)
    outer: Quantity = Outer(rho, c, linear.kept)
    if linear.extra is not None:
        outer = add(outer, linear.extra)
    return Eliminated(Scaled(target, c), outer, conditional)


@dataclass(frozen=True, eq=False)
class _ScalarGivenScalar(Conditional):
    """A scalar input given a scalar output z: N(gain z + intercept, var); ``loss`` is 1 - C gain."""

    linear: Linear
    gain: Values
    loss: Values
    intercept: Values
    var: Values

    def down(self, parent: Belief) -> tuple[Belief, Pair]:
        child = Belief(self.gain * parent.mean + self.intercept, self.var + self.gain**2 * parent.spread)
        a, va = mapped(self.linear, child)
        between = self.gain * parent.spread
        c = self.linear.coefficient
        gap = (self.loss * parent.mean - c * self.intercept) ** 2 + self.loss**2 * parent.spread + c**2 * self.var
        entropy = 0.5 * (LOG_2PI_E + np.log(self.var))
        return child, Pair((self.linear.output, self.linear.input), a, va, c * between, entropy, lambda: between, gap)


@dataclass(frozen=True, eq=False)
class _VectorGivenScalar(Conditional):
    """A vector input given a scalar output: N(gain z + intercept, covariance)."""

    linear: Linear
    gain: Values
    intercept: Values
    covariance: Values

    def down(self, parent: Belief) -> tuple[Belief, Pair]:
        mean = self.gain * lift(parent.mean, 1) + self.intercept
        rank_one = self.gain[..., :, None] * self.gain[..., None, :]
        child = Belief(mean, self.covariance + lift(parent.spread, 2) * rank_one)
        a, va = mapped(self.linear, child)
        cross = dot(self.linear.coefficient, self.gain) * parent.spread
        entropy = 0.5 * (mean.shape[-1] * LOG_2PI_E + np.linalg.slogdet(self.covariance)[1])
        ports = (self.linear.output, self.linear.input)
        return child, Pair(ports, a, va, cross, entropy, lambda: lift(parent.spread, 1) * self.gain)


def _scalar_input(linear: Linear, h: Values, L: Values) -> Eliminated:
    t, c = linear.precision, linear.coefficient
    offset = np.zeros_like(t) if linear.offset is None else linear.offset
    own = L if linear.extra is None else L + linear.extra
    if not linear.vector_input:
        total = own + t * c**2
        precision, target = t * own / total, t * c * h / total
        gain, intercept = t * c / total, (h - t * c * offset) / total
        conditional: Conditional = _ScalarGivenScalar(linear, gain, own / total, intercept, 1.0 / total)
        return Eliminated(target + precision * offset, precision, conditional)
    covariance = np.linalg.inv(own + lift(t, 2) * c[..., :, None] * c[..., None, :])
    covariance = 0.5 * (covariance + covariance.swapaxes(-1, -2))
    gain = lift(t, 1) * np.matmul(covariance, c[..., None])[..., 0]
    precision = t * (1.0 - dot(c, gain))
    target = dot(gain, h) + precision * offset
    intercept = np.matmul(covariance, (h - lift(t * offset, 1) * c)[..., None])[..., 0]
    return Eliminated(target, precision, _VectorGivenScalar(linear, gain, intercept, covariance))


@dataclass(frozen=True, eq=False)
class _VectorGivenVector(Conditional):
    """One vector given the other: N(gain parent + intercept, covariance)."""

    linear: Linear
    gain: Values
    intercept: Values
    covariance: Values
    child_is_output: bool

    def down(self, parent: Belief) -> tuple[Belief, Pair]:
        mean = np.matmul(self.gain, parent.mean[..., None])[..., 0] + self.intercept
        with_parent = np.matmul(self.gain, parent.spread)
        child = Belief(mean, self.covariance + np.matmul(with_parent, self.gain.swapaxes(-1, -2)))
        A = self.linear.coefficient
        inside = parent if self.child_is_output else child
        a = np.matmul(A, inside.mean[..., None])[..., 0]
        va = A @ inside.spread @ A.swapaxes(-1, -2)
        output_input = with_parent if self.child_is_output else with_parent.swapaxes(-1, -2)
        cross = np.matmul(output_input, A.swapaxes(-1, -2))
        entropy = 0.5 * (mean.shape[-1] * LOG_2PI_E + np.linalg.slogdet(self.covariance)[1])
        return child, Pair((self.linear.output, self.linear.input), a, va, cross, entropy)


def _matrix_output(linear: Linear, h: Values, L: Values) -> Eliminated:
    W, A = linear.precision, linear.coefficient
    offset = np.zeros_like(h) if linear.offset is None else linear.offset
    covariance = np.linalg.inv(W + L)
    gain = np.matmul(covariance, W)
    remaining = np.matmul(L, gain)  # W - W (W+L)^-1 W, without the cancellation
    remaining = 0.5 * (remaining + remaining.swapaxes(-1, -2))
    target = np.matmul(gain.swapaxes(-1, -2), h[..., None]) - np.matmul(remaining, offset[..., None])
    intercept = np.matmul(gain, offset[..., None])[..., 0] + np.matmul(covariance, h[..., None])[..., 0]
    At = A.swapaxes(-1, -2)
    precision = At @ remaining @ A
    if linear.extra is not None:
        precision = precision + linear.extra
    conditional = _VectorGivenVector(linear, np.matmul(gain, A), intercept, covariance, True)
    return Eliminated(np.matmul(At, target)[..., 0], precision, conditional)


def _matrix_input(linear: Linear, h: Values, L: Values) -> Eliminated:
    W, A = linear.precision, linear.coefficient
    offset = np.zeros((1,) * W.ndim)[..., 0] if linear.offset is None else linear.offset
    At = A.swapaxes(-1, -2)
    own = L if linear.extra is None else L + linear.extra
    covariance = np.linalg.inv(own + At @ W @ A)
    gain = covariance @ At @ W
    precision = W - W @ A @ gain
    precision = 0.5 * (precision + precision.swapaxes(-1, -2))
    shift = np.broadcast_to(offset, (*np.broadcast_shapes(offset.shape[:-1], (1,) * (W.ndim - 2)), W.shape[-1]))
    target = np.matmul(gain.swapaxes(-1, -2), h[..., None])[..., 0] + np.matmul(precision, shift[..., None])[..., 0]
    intercept = np.matmul(covariance, h[..., None])[..., 0] - np.matmul(gain, shift[..., None])[..., 0]
    return Eliminated(target, precision, _VectorGivenVector(linear, gain, intercept, covariance, False))
