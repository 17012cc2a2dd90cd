"""Adaptive Gauss-Hermite quadrature for log-concave heads without a closed ``log_partition`` (theory 6.3).

The nodes sit around the mode of ``p(y | f) N(f; m, v)``; a rule centred at ``m`` is wrong by tens of nats on counts.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.likelihoods._base import Likelihood, zero_penalty

TARGET_MEAN = "target_mean"
"""Mean of the training targets a replicate, frozen: a head without parameters of its own has its shape from it."""
NODES, MOST_NODES = 32, 256
POINT_VARIANCE = 1e-8
"""Below this variance the point limit ``log p(m) + ½ v (∂² + (∂)²) log p`` is taken (theory 6.3)."""
POINT_CHANGE = 1e-6
"""... unless the limit's own first step is larger than this: at m = 12, y = 0, v = 1e-9 a Poisson's is 13 nats."""
WIDE_VARIANCE = 10.0
NEWTON_STEPS, HALVINGS = 200, 60
LEAST_GAIN = 0.1
"""Of what the slope promises: a step that merely does not decrease can go back and forth (logistic, m = -6, v = 12)."""
MODE_TOLERANCE = 1e-4
"""Newton ends with a step of this fraction of the width: it leaves the square of it, and nodes need not sit exactly."""
BLOCK = 14_000
"""Values computed at once (data points times nodes): larger arrays are fresh memory from the system every time."""


class QuadratureWarning(UserWarning):
    """Variances are so large that the rule loses digits."""


class LogDensity(ABC):
    """``log p(y_n | f_n)`` as a function of the latent values, which may carry leading nodes."""

    @abstractmethod
    def value(self, latent: Tensor) -> Tensor:
        """``log p(y | f)``."""

    @abstractmethod
    def expansion(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``log p``, its slope and its curvature ``-∂² log p ≥ 0``."""

    @abstractmethod
    def start(self, mean: Tensor) -> Tensor:
        """Where Newton starts, given the means of the marginals."""


class QuadratureLikelihood(Likelihood):
    """A log-concave head whose partition is integrated by the adaptive rule, with a number of nodes fixed per fit."""

    nodes: int
    conjugate: ClassVar[bool] = False

    @abstractmethod
    def density(self, targets: Tensor, *parameters: Tensor) -> LogDensity:
        """``log p(y_n | ·)``, given the values of ``parameters``."""

    @abstractmethod
    def parameters(self, params: Params) -> tuple[Float[Tensor, "*B 1"], ...]:
        """What ``log p`` depends on beside target and latent value."""

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """None: no bound differs between replicates."""
        return {}

    def noise_var(self, params: Params) -> None:
        """None: the noise is not Gaussian."""
        return

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Zero: no hyperprior."""
        return zero_penalty(params, TARGET_MEAN)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log p(y_n | f_n)``."""
        return self.density(targets, *self.parameters(params)).value(latent)

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log ∫ p(y_n | f) N(f; m_n, v_n) df`` by the adaptive rule, in float64 whatever goes in."""
        _warn_if_wide(marginals.variance.detach(), self.nodes)
        rule = AdaptiveRule(self.density, self.nodes)
        mean, variance = marginals.mean.double(), marginals.variance.double()
        parameters = [each.double() for each in self.parameters(params)]
        return rule.log_partition(targets.double(), mean, variance, parameters).to(marginals.mean.dtype)


def require_nodes(nodes: int) -> None:
    """Refuse a number of nodes outside 8..256."""
    if not 8 <= nodes <= MOST_NODES:
        raise SpecError(
            f"nodes must lie between 8 and {MOST_NODES}; got {nodes}. {NODES} is the default, 64 is for "
            "variances above 2"
        )


def no_bounds() -> Bounds:
    """Bounds of a head without free parameters."""
    return {}


def _warn_if_wide(variance: Tensor, nodes: int) -> None:
    largest = float(variance.max())
    if largest > WIDE_VARIANCE:
        warnings.warn(
            f"a marginal variance of {largest:.3g} exceeds {WIDE_VARIANCE:g}: {nodes} adaptive Gauss-Hermite nodes "
            "lose digits there; raise the prior precision or the number of nodes",
            QuadratureWarning,
            stacklevel=3,
        )


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
        at_point = _is_point(density, mean.detach(), variance.detach())
        if not at_point.any():
            return self._integral(targets, mean, variance, parameters)
        _, slope, curvature = density.expansion(mean)
        limit = density.value(mean) + 0.5 * variance * (slope.square() - curvature)
        if at_point.all():
            return limit
        # the branch not taken must not send NaN into the gradient: it sees a harmless variance
        harmless = torch.where(at_point, torch.ones_like(variance), variance)
        return torch.where(at_point, limit, self._integral(targets, mean, harmless, parameters))

    def _integral(self, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        with torch.no_grad():
            peak = find_mode(self.density(targets, *parameters), mean, variance)
        if any(each.requires_grad for each in parameters):
            return self.by_autograd(targets, mean, variance, parameters, peak)
        return _AtFixedNodes.apply(self, targets, mean, variance, peak, *parameters)  # pyright: ignore[reportReturnType]

    def by_autograd(
        self, targets: Tensor, mean: Tensor, variance: Tensor, parameters: Sequence[Tensor], peak: "Peak"
    ) -> Tensor:
        """The rule written plainly, differentiable any number of times in everything but its nodes."""
        points, log_weights = (each.reshape((-1,) + (1,) * mean.dim()) for each in _rule(self.nodes))
        away = torch.addcmul(peak.shift, points, 2.0**0.5 * peak.scale)  # f_k - m: f_k alone would cancel
        log_prob = self.density(targets, *parameters).value(mean.detach() + away)
        away = away - (mean - mean.detach())  # the value of f_k - m with its slope in m
        terms = log_weights + log_prob - away.square() * (0.5 / variance)
        return torch.logsumexp(terms, 0) + _log_constant(variance, peak.scale)

    def block(
        self, targets: Tensor, mean: Tensor, variance: Tensor, shift: Tensor, scale: Tensor, *rest: Tensor
    ) -> Tensor:
        """Value, slope in m and slope in v (three rows) of a few data points, whose nodes fit the cache.

        Terms are taken relative to the mode's by ``(f_k - m)² - (f̂ - m)² = δ (2 (f̂ - m) + δ)``: far from the data the
        squares alone are so large that their rounding exceeds what the nodes differ by.
        """
        points, log_weights = (each[:, None] for each in _rule(self.nodes))
        density, apart = self.density(targets, *rest), points * (2.0**0.5 * scale)
        away = shift + apart
        top = density.value(mean + shift)
        terms = density.value(mean + away).sub_(top).add_(log_weights)
        terms.addcmul_(apart.mul_(shift + away), -0.5 / variance)
        largest = terms.amax(0)
        weights = terms.sub_(largest).exp_()
        total = weights.sum(0)
        first = torch.mul(weights, away, out=apart).sum(0) / total
        second = apart.mul_(away).sum(0) / total
        value = top - 0.5 * shift.square() / variance + largest + total.log() + _log_constant(variance, scale)
        return torch.stack([value, first / variance, 0.5 * (second / variance - 1.0) / variance])


@dataclass(frozen=True)
class Peak:
    """Mode ``f̂ - m`` and width ``ŝ`` of ``log p(y|f) - (f - m)²/2v``."""

    shift: Tensor
    scale: Tensor


class _AtFixedNodes(torch.autograd.Function):
    """Value and slopes in ``m`` and ``v`` in one pass; a second derivative goes through ``by_autograd``."""

    @staticmethod
    def forward(
        ctx: Any, rule: AdaptiveRule, targets: Tensor, mean: Tensor, variance: Tensor, peak: Peak, *parameters: Tensor
    ) -> Tensor:
        inputs = (targets, mean, variance, peak.shift, peak.scale, *parameters)
        size = max(1, BLOCK // rule.nodes)
        flat = (each.expand(mean.shape).reshape(-1).split(size) for each in inputs)
        rows = torch.cat([rule.block(*block) for block in zip(*flat, strict=True)], -1)
        value, by_mean, by_variance = rows.reshape(3, *mean.shape)
        ctx.save_for_backward(targets, mean, variance, by_mean, by_variance, *parameters)
        ctx.rule, ctx.peak = rule, peak
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        targets, mean, variance, by_mean, by_variance, *parameters = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2:4]
        if torch.is_grad_enabled():
            needed = [each for each, want in zip((mean, variance), wanted, strict=True) if want]
            value = ctx.rule.by_autograd(targets, mean, variance, parameters, ctx.peak)
            found = iter(torch.autograd.grad(value, needed, grads[0], create_graph=True))
        else:
            found = (grads[0] * each for each, want in zip((by_mean, by_variance), wanted, strict=True) if want)
        slopes = tuple(next(found) if want else None for want in wanted)
        return None, None, *slopes, None, *(None for _ in parameters)


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


def find_mode(density: LogDensity, mean: Tensor, variance: Tensor) -> Peak:
    """The peak of ``log p(y|f) - (f - m)²/2v`` by damped Newton; an element that has arrived rests.

    No element depends on its neighbours, so replicate k of a batch equals that run alone.
    """
    precision = 1.0 / variance

    def objective(shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value, slope, curvature = density.expansion(mean + shift)
        pull = precision * shift
        return value - 0.5 * pull * shift, slope - pull, curvature + precision

    shift = density.start(mean) - mean
    (value, slope, total), moving = objective(shift), torch.ones_like(mean, dtype=torch.bool)
    for _ in range(NEWTON_STEPS):
        step = torch.where(moving, slope / total, torch.zeros_like(shift))
        moving = step.square() * total > MODE_TOLERANCE**2
        reached = objective(shift + step)
        for _ in range(HALVINGS):
            worse = reached[0] < value + LEAST_GAIN * slope * step - 1e-14 * value.abs()
            if not worse.any():
                break
            step = torch.where(worse, 0.5 * step, step)
            reached = objective(shift + step)
        shift, (value, slope, total) = shift + step, reached
        if not moving.any():
            break
    return Peak(shift, total.rsqrt())
