"""Gaussian expectations of smooth log probabilities whose detail sits within a few units of one point (theory 3.6)."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.errors import SpecError

NODES = 56
AT_ONCE = 8
"""Nodes evaluated together: bounds the memory."""
REACH = 8.0
"""Standard deviations covered on either side; what is left out weighs 1e-15."""
DETAIL = 5.0
"""Latent units around the centre where nodes are spaced evenly; farther out their spacing grows in proportion."""
NO_SCALE = 1e-30
"""Stands for a standard deviation of zero (float32 holds it): all nodes then fall on the mean."""

Function = Callable[..., Tensor]


def gaussian_expectation(
    function: Function,
    moved: tuple[Float[Tensor, "*B"], ...],
    fixed: tuple[Float[Tensor, "*B"], ...],
    variance: Float[Tensor, "*B"],
    centre: Float[Tensor, "*B"],
) -> Float[Tensor, "*B"]:
    """``E function(*(x + √v z for x in moved), *fixed)`` with ``z ~ N(0, 1)``, element by element.

    Trapezoid rule in ``u``, where ``centre + √v z = 5 sinh u``: the functions are analytic within about 2.8 of the real
    line and vary on the scale 1 where ``centre + √v z`` is near 0, however wide the Gaussian is, which defeats
    Gauss-Hermite for large ``v``. For ``log Φ`` and ``log(Φ - Φ)`` the error relative to 1 + |value| is below 1e-12 for
    ``v ≤ 10`` and 1e-10 for ``v ≤ 100``. Gradients are expectations too: ``∂_v E f = ½ E f''`` (Price), which holds
    at ``v = 0``; second derivatives are refused (``SpecError``).
    """
    return _Expectation.apply(function, len(moved), variance, centre, *moved, *fixed)  # pyright: ignore[reportReturnType]


def _rule(centre: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes ``z`` and weights (sum 1), along a new last dimension; they depend on the Gaussian and are held constant.

    With ``u = u₀ + d``, ``z = (5/√v)(sinh u - sinh u₀)`` is written as a product, so that it keeps its digits when all
    nodes lie close together. The ends need not be exact: the integrand is zero to rounding there.
    """
    start = torch.asinh(centre / DETAIL)
    relative = (scale / DETAIL).clamp(min=NO_SCALE)
    low, high = (_step(centre / DETAIL, start, sign * REACH * relative)[..., None] for sign in (-1.0, 1.0))
    step = low + (high - low) * torch.linspace(0.0, 1.0, NODES, dtype=scale.dtype, device=scale.device)
    start = start[..., None]
    z = 2.0 / relative[..., None] * torch.cosh(start + 0.5 * step) * torch.sinh(0.5 * step)
    weights = torch.exp(-0.5 * z.square()) * torch.cosh(start + step)
    return z, weights / weights.sum(-1, keepdim=True)


def _step(at: Tensor, start: Tensor, by: Tensor) -> Tensor:
    """``asinh(at + by) - asinh(at)``, linear where the difference would cancel."""
    linear = by / (1.0 + at.square()).sqrt()
    return torch.where(linear.abs() < 1e-3, linear, torch.asinh(at + by) - start)


class _Expectation(torch.autograd.Function):
    """The quadrature with expectations as its gradients; the nodes are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, function: Function, moved: int, variance: Tensor, centre: Tensor, *inputs: Tensor) -> Tensor:
        ctx.function, ctx.moved = function, moved
        ctx.save_for_backward(variance, centre, *inputs)
        total = torch.zeros_like(variance)
        for shift, weights in _blocks(variance, centre):
            total += (weights * function(*_at(inputs, moved, shift))).sum(-1)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise SpecError(
                "an expected log probability by quadrature is differentiable once, and create_graph=True asks for "
                "more; take log_partition or log_prob for second derivatives"
            )
        variance, centre, *inputs = ctx.saved_tensors
        totals = [torch.zeros_like(variance) for _ in range(len(inputs) + 1)]
        for shift, weights in _blocks(variance, centre):
            with torch.enable_grad():
                points = [each.detach().requires_grad_() for each in _at(inputs, ctx.moved, shift)]
                slopes = torch.autograd.grad(ctx.function(*points).sum(), points, create_graph=True)
                along = torch.stack(slopes[: ctx.moved]).sum(0)
                curvature = torch.stack(torch.autograd.grad(along.sum(), points[: ctx.moved])).sum(0)
            for i, slope in enumerate((0.5 * curvature, *slopes)):
                totals[i] += (weights * slope.detach()).sum(-1)
        by_variance, *by_input = (grads[0] * total for total in totals)
        return None, None, by_variance, None, *by_input


def _blocks(variance: Tensor, centre: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Shifts ``√v z`` and weights, a few nodes at once."""
    scale = variance.sqrt()
    z, weights = _rule(centre, scale)
    shifts = scale[..., None] * z
    return list(zip(shifts.split(AT_ONCE, -1), weights.split(AT_ONCE, -1), strict=True))


def _at(inputs: list[Tensor] | tuple[Tensor, ...], moved: int, shift: Tensor) -> list[Tensor]:
    """The inputs at every node: the first ``moved`` shifted, the others as they are."""
    return [x[..., None] + shift if i < moved else x[..., None] + 0.0 * shift for i, x in enumerate(inputs)]
