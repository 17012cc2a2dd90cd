"""The adaptive Gauss-Hermite rule: ``log ∫ p(y|f) N(f; m, v) df`` around the mode, with its slopes (theory 6.3)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

POINT_VARIANCE = 1e-8
"""Below this variance the point limit ``log p(m) + ½ v (∂² + (∂)²) log p`` is taken (theory 6.3)."""
POINT_CHANGE = 1e-6
"""... unless the limit's own first step is larger than this: at m = 12, y = 0, v = 1e-9 a Poisson's is 13 nats."""
NEWTON_STEPS, HALVINGS = 200, 60
LEAST_GAIN = 0.1
"""Of what the slope promises: a step that merely does not decrease can go back and forth (logistic, m = -6, v = 12)."""
MODE_TOLERANCE = 1e-4
"""Newton ends with a step of this fraction of the width: it leaves the square of it, and nodes need not sit exactly."""
BLOCK = 14_000
"""Values computed at once (data points times nodes): larger arrays are fresh memory from the system every time."""


class LogDensity(ABC):
    """``log p(y_n | f_n)`` as a function of the latent values, which may carry leading nodes.

    It is ``kernel + normaliser``: what does not depend on the latent value is computed once a data point, not once a
    node.
    """

    @abstractmethod
    def kernel(self, latent: Tensor) -> Tensor:
        """``log p(y | f)`` up to the normaliser."""

    @abstractmethod
    def expansion(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The kernel, its slope and its curvature ``-∂² log p ≥ 0``."""

    def normaliser(self) -> Tensor | float:
        """The part of ``log p(y | f)`` without f."""
        return 0.0

    def value(self, latent: Tensor) -> Tensor:
        """``log p(y | f)``."""
        return self.kernel(latent) + self.normaliser()

    def kernel_by_parameters(self, latent: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The kernel and its derivatives in the parameters; without these autograd goes through every node."""
        return self.kernel(latent), ()

    @abstractmethod
    def start(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Where Newton starts, given the marginals."""


@dataclass(frozen=True)
class AdaptiveRule:
    """``log ∫ p(y|f) N(f; m, v) df`` with a number of nodes, and the point limit where v is next to nothing.

    Differentiable any number of times: at fixed nodes the rule is ``log Σ_k c_k p(y|f_k) N(f_k; m, v)``, whose
    derivatives are the weighted sums of theory 6.3 and obey the heat equation ``∂_v Z = ½ ∂²_m Z`` exactly.
    """

    density: Callable[..., LogDensity]
    nodes: int

    def log_partition(self, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        """Per data point; ``parameters`` broadcast over the data points."""
        density = self.density(targets, *parameters)
        return self._of_kernel(density, targets, mean, variance, parameters) + density.normaliser()

    def _of_kernel(
        self, density: LogDensity, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor]
    ) -> Tensor:
        at_point = _is_point(density, mean.detach(), variance.detach())
        if not at_point.any():
            return self._integral(targets, mean, variance, parameters)
        value, slope, curvature = density.expansion(mean)
        limit = value + 0.5 * variance * (slope.square() - curvature)
        if at_point.all():
            return limit
        # the branch not taken must not send NaN into the gradient: it sees a harmless variance
        harmless = torch.where(at_point, torch.ones_like(variance), variance)
        return torch.where(at_point, limit, self._integral(targets, mean, harmless, parameters))

    def _integral(self, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        with torch.no_grad():
            peak = find_mode(self.density, targets, mean, variance, parameters)
            _, stated = self.density(targets, *parameters).kernel_by_parameters(mean)
        if len(stated) < len(parameters) and any(each.requires_grad for each in parameters):
            return self.by_autograd(targets, mean, variance, parameters, peak)
        return _AtFixedNodes.apply(self, targets, mean, variance, peak, *parameters)  # pyright: ignore[reportReturnType]

    def by_autograd(
        self, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor], peak: "Peak"
    ) -> Tensor:
        """The rule written plainly, differentiable any number of times in everything but its nodes."""
        points, log_weights = (each.reshape((-1,) + (1,) * mean.dim()) for each in _rule(self.nodes))
        away = torch.addcmul(peak.shift, points, 2.0**0.5 * peak.scale)  # f_k - m: f_k alone would cancel
        log_prob = self.density(targets, *parameters).kernel(mean.detach() + away)
        away = away - (mean - mean.detach())  # the value of f_k - m with its slope in m
        terms = log_weights + log_prob - away.square() * (0.5 / variance)
        return torch.logsumexp(terms, 0) + _log_constant(variance, peak.scale)

    def block(
        self,
        slopes: bool,
        targets: Tensor,
        mean: Tensor,
        variance: Tensor,
        shift: Tensor,
        scale: Tensor,
        *rest: Tensor,
    ) -> Tensor:
        """Value, slope in m, slope in v and, if wanted, ``slopes`` in the parameters of a few data points: a row each.

        Their nodes fit the cache.

        Terms are taken relative to the mode's by ``(f_k - m)² - (f̂ - m)² = δ (2 (f̂ - m) + δ)``: far from the data the
        squares alone are so large that their rounding exceeds what the nodes differ by.
        """
        points, log_weights = (each[:, None] for each in _rule(self.nodes))
        density, apart = self.density(targets, *rest), points * (2.0**0.5 * scale)
        away = shift + apart
        top = density.kernel(mean + shift)
        latent = mean + away
        terms, own = density.kernel_by_parameters(latent) if slopes else (density.kernel(latent), ())
        terms.sub_(top).add_(log_weights)
        terms.addcmul_(apart.mul_(shift + away), -0.5 / variance)
        largest = terms.amax(0)
        weights = terms.sub_(largest).exp_()
        total = weights.sum(0)
        by_parameters = [(weights * each).sum(0) / total for each in own]
        first = torch.mul(weights, away, out=apart).sum(0) / total
        second = apart.mul_(away).sum(0) / total
        value = top - 0.5 * shift.square() / variance + largest + total.log() + _log_constant(variance, scale)
        by_variance = 0.5 * (second / variance - 1.0) / variance
        return torch.stack([value, first / variance, by_variance, *by_parameters])


@dataclass(frozen=True)
class Peak:
    """Mode ``f̂ - m`` and width ``ŝ`` of ``log p(y|f) - (f - m)²/2v``."""

    shift: Tensor
    scale: Tensor


class _AtFixedNodes(torch.autograd.Function):
    """Value and slopes in ``m``, ``v`` and parameters in one pass; a second derivative goes through ``by_autograd``."""

    @staticmethod
    def forward(
        ctx: Any, rule: AdaptiveRule, targets: Tensor, mean: Tensor, variance: Tensor, peak: Peak, *parameters: Tensor
    ) -> Tensor:
        inputs = (targets, mean, variance, peak.shift, peak.scale, *parameters)
        size = max(1, BLOCK // rule.nodes)
        flat = (each.expand(mean.shape).reshape(-1).split(size) for each in inputs)
        slopes = any(ctx.needs_input_grad[5:])
        rows = torch.cat([rule.block(slopes, *block) for block in zip(*flat, strict=True)], -1)
        value, *by_each = rows.reshape(-1, *mean.shape)
        ctx.save_for_backward(targets, mean, variance, *parameters, *by_each)
        ctx.rule, ctx.peak, ctx.parameters = rule, peak, len(parameters)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        targets, mean, variance, *saved = ctx.saved_tensors
        parameters, by_each = saved[: ctx.parameters], saved[ctx.parameters :]
        inputs, wanted = (mean, variance, *parameters), (*ctx.needs_input_grad[2:4], *ctx.needs_input_grad[5:])
        if torch.is_grad_enabled():
            needed = [each for each, want in zip(inputs, wanted, strict=True) if want]
            value = ctx.rule.by_autograd(targets, mean, variance, parameters, ctx.peak)
            found = iter(torch.autograd.grad(value, needed, grads[0], create_graph=True))
            slopes = [next(found) if want else None for want in wanted]
        else:
            slopes = [
                (grads[0] * by_each[k]).sum_to_size(each.shape) if want else None
                for k, (each, want) in enumerate(zip(inputs, wanted, strict=True))
            ]
        return None, None, *slopes[:2], None, *slopes[2:]


def _is_point(density: LogDensity, mean: Tensor, variance: Tensor) -> Tensor:
    small = variance < POINT_VARIANCE
    if not small.any():
        return small
    with torch.no_grad():
        _, slope, curvature = density.expansion(mean)
        return small & (variance * (slope.square() + curvature) < POINT_CHANGE) | (variance == 0.0)


def _log_constant(variance: Tensor, scale: Tensor) -> Tensor:
    return scale.log() - 0.5 * (math.log(math.pi) + variance.log())


@cache
def _rule(nodes: int) -> tuple[Tensor, Tensor]:
    """Hermite nodes ``x_k`` and ``log w_k + x_k²``."""
    points, weights = np.polynomial.hermite.hermgauss(nodes)
    return torch.from_numpy(points), torch.from_numpy(np.log(weights) + points**2)


def find_mode(
    density: Callable[..., LogDensity],
    targets: Tensor,
    mean: Tensor,
    variance: Tensor,
    parameters: Sequence[Tensor] = (),
) -> Peak:
    """The peak of ``log p(y|f) - (f - m)²/2v`` by damped Newton; an element that has arrived rests.

    No element depends on its neighbours, so replicate k of a batch equals that run alone. Once half of the elements
    rest, the others go on without them.
    """
    inputs = [each.expand(mean.shape).reshape(-1) for each in (targets, mean, variance, *parameters)]
    climb = _Climb.start(density, inputs)
    shift, total = torch.empty_like(inputs[1]), torch.empty_like(inputs[1])
    where = torch.arange(shift.numel())
    for _ in range(NEWTON_STEPS):
        climb.step()
        moving = climb.moving
        left = int(moving.sum())
        if 2 * left <= moving.numel():
            shift[where], total[where] = climb.shift, climb.total
            if not left:
                break
            where, inputs = where[moving], [each[moving] for each in inputs]
            climb = climb.among(density, inputs)
    else:
        shift[where], total[where] = climb.shift, climb.total
    return Peak(shift.reshape(mean.shape), total.rsqrt().reshape(mean.shape))


class _Climb:
    """Elements on their way to the peak: where they are, and value, slope and curvature there."""

    def __init__(self, density: LogDensity, mean: Tensor, variance: Tensor) -> None:
        self.density, self.mean, self.precision = density, mean, 1.0 / variance
        self.moving = torch.ones_like(mean, dtype=torch.bool)

    @classmethod
    def start(cls, density: Callable[..., LogDensity], inputs: Sequence[Tensor]) -> "_Climb":
        """At the start that the density proposes."""
        targets, mean, variance, *parameters = inputs
        climb = cls(density(targets, *parameters), mean, variance)
        climb.shift = climb.density.start(mean, variance) - mean
        climb.value, climb.slope, climb.total = climb.objective(climb.shift)
        return climb

    def among(self, density: Callable[..., LogDensity], inputs: Sequence[Tensor]) -> "_Climb":
        """Those that still move, alone; ``inputs`` are theirs."""
        targets, mean, variance, *parameters = inputs
        climb = _Climb(density(targets, *parameters), mean, variance)
        climb.shift, climb.value, climb.slope, climb.total = (
            each[self.moving] for each in (self.shift, self.value, self.slope, self.total)
        )
        return climb

    def objective(self, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Value, slope and curvature of ``log p(y|f) - (f - m)²/2v``."""
        value, slope, curvature = self.density.expansion(self.mean + shift)
        pull = self.precision * shift
        return value - 0.5 * pull * shift, slope - pull, curvature + self.precision

    def step(self) -> None:
        """One Newton step of those that move, halved until it gains what its slope promises."""
        step = torch.where(self.moving, self.slope / self.total, torch.zeros_like(self.shift))
        self.moving = step.square() * self.total > MODE_TOLERANCE**2
        reached = self.objective(self.shift + step)
        for _ in range(HALVINGS):
            worse = reached[0] < self.value + LEAST_GAIN * self.slope * step - 1e-14 * self.value.abs()
            worse &= self.moving  # of the last, small step rounding alone can say that it does not gain
            if not worse.any():
                break
            step = torch.where(worse, 0.5 * step, step)
            reached = self.objective(self.shift + step)
        self.shift, (self.value, self.slope, self.total) = self.shift + step, reached
