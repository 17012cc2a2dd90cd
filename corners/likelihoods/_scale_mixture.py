"""Integrals over the precision λ ~ Gamma(ν/2, ν/2) that makes Gaussian noise Student-t (theory 6.3).

Student-t noise is not log-concave and the integrand over the latent value can have two peaks, so that Gauss-Hermite
fails; given λ everything is Gaussian, and one smooth integral in log λ is left.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.numerics import LOG_2PI
from corners.predictive.student_t import mixing_range, mixing_reach

BLOCK = 512  # data points at once: their nodes stay in the cache
FRULLANI_NODES, SMALLEST, LARGEST = 193, 1e-18, 40.0


def log_scale_mixture(
    residual: Float[Tensor, "*B N"],
    variance: Float[Tensor, "*B N"],
    scale_var: Float[Tensor, "*B 1"],
    df: Float[Tensor, "*B 1"],
    nodes: int,
) -> Float[Tensor, "*B N"]:
    """``log ∫ N(r; 0, v + s²/λ) Gamma(λ; ν/2, ν/2) dλ`` by the trapezoid rule in ``log λ``, nodes held fixed.

    Example
    -------
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> t_5 = math.lgamma(3.0) - math.lgamma(2.5) - 0.5 * math.log(5.0 * math.pi) - 3.0 * math.log(1.2)
    >>> math.isclose(float(log_scale_mixture(one, 0.0 * one, one, 5.0 * one, 96)), t_5, rel_tol=1e-10)
    True
    """
    return _LogScaleMixture.apply(residual, variance, scale_var, df, nodes)  # pyright: ignore[reportReturnType]


class _LogScaleMixture(torch.autograd.Function):
    """The value with its four first derivatives in one pass; a second derivative goes through :func:`_by_autograd`."""

    @staticmethod
    def forward(ctx: Any, residual: Tensor, variance: Tensor, scale_var: Tensor, df: Tensor, nodes: int) -> Tensor:
        square, half = residual.square(), 0.5 * df
        low, step = _ends(residual, variance, scale_var, df, nodes)
        peak = _near_peak(square, variance, scale_var, half)
        total, first, second, mixing = _sums(
            (low, step, variance, scale_var, half, -0.5 * square, peak), residual.shape, nodes, ctx.needs_input_grad[3]
        )
        by_variance = 0.5 * (square * second - first)
        gradients = (
            -residual * first,
            by_variance,
            (0.5 * (square * first - 1.0) - variance * by_variance) / scale_var,  # since s²/λ = V - v
            0.5 * (half.log() + 1.0 - torch.digamma(half) + (mixing + peak) / half),
        )
        ctx.save_for_backward(residual, variance, scale_var, df, *gradients)
        ctx.nodes = nodes
        constant = half * half.log() - torch.lgamma(half) - 0.5 * LOG_2PI
        return peak + total.log() + step.log() + constant

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs: Sequence[Any] = ctx.saved_tensors[:4]
        gradients = ctx.saved_tensors[4:]
        needed = [each for each, wanted in zip(inputs, ctx.needs_input_grad[:4], strict=True) if wanted]
        if torch.is_grad_enabled():
            residual, variance, scale_var, df = inputs
            value = _by_autograd(residual, variance, scale_var, df, ctx.nodes)
            found = iter(torch.autograd.grad(value, needed, grads[0], create_graph=True))
            return *(next(found) if wanted else None for wanted in ctx.needs_input_grad[:4]), None
        return *(
            (grads[0] * gradient).sum_to_size(each.shape) if wanted else None
            for each, gradient, wanted in zip(inputs, gradients, ctx.needs_input_grad[:4], strict=True)
        ), None


def _sums(given: Sequence[Tensor], shape: torch.Size, nodes: int, with_df: bool) -> Tensor:
    """``Σ w``, then the means of ``1/V``, ``1/V²`` and ``½ν (t - λ) - peak``, in blocks whose nodes fit the cache."""
    flat = [each.expand(shape).reshape(-1).split(BLOCK) for each in given]
    room = torch.empty(4 if with_df else 3, nodes * flat[0][0].numel(), dtype=given[0].dtype)
    index = torch.arange(nodes, dtype=given[0].dtype)[:, None]
    rows = [
        _block(index, [row[: nodes * block[0].numel()].view(nodes, -1) for row in room], *block)
        for block in zip(*flat, strict=True)
    ]
    return torch.cat(rows, -1).reshape(4, *shape)


def _block(
    index: Tensor,
    room: Sequence[Tensor],
    low: Tensor,
    step: Tensor,
    variance: Tensor,
    scale_var: Tensor,
    half: Tensor,
    misfit: Tensor,
    peak: Tensor,
) -> Tensor:
    """The sums of some data points, computed in ``room``: fresh memory would cost more than the arithmetic."""
    precision, by_total, terms, *log_mixing = room
    torch.addcmul(low, index, step, out=precision).exp_()  # λ = e^t
    torch.addcmul(scale_var, precision, variance, out=by_total)
    torch.div(precision, by_total, out=by_total)  # 1/V = λ/(λv + s²)
    torch.addcmul(half * low - peak, index, half * step, out=terms).addcmul_(precision, -half)  # ½ν (t - λ) - peak
    for copy in log_mixing:
        copy.copy_(terms)
    weights = terms.addcmul_(by_total, misfit).exp_().mul_(torch.sqrt(by_total, out=precision))
    total = weights.sum(0)
    mixing = torch.mul(weights, log_mixing[0], out=log_mixing[0]).sum(0) if log_mixing else total
    first = weights.mul_(by_total).sum(0)
    second = weights.mul_(by_total).sum(0)
    return torch.stack([total, first / total, second / total, mixing / total])


def _near_peak(square: Tensor, variance: Tensor, scale_var: Tensor, half: Tensor) -> Tensor:
    """A value that ``½ν (t - λ) - r²/2V`` exceeds by 2ν at most and reaches: no overflow, and no pass for a maximum.

    It is the larger one at λ = 1, the peak of the mixing density, and at ``λ = 1/(1 + r²/(ν s²))``, the peak at v = 0;
    between them the function is convex in t but for terms below ν.
    """
    outlying = 1.0 / (1.0 + 0.5 * square / (half * scale_var))
    far = half * (outlying.log() - outlying) - 0.5 * square / (variance + scale_var / outlying)
    return torch.maximum(far, -half - 0.5 * square / (variance + scale_var))


def _by_autograd(residual: Tensor, variance: Tensor, scale_var: Tensor, df: Tensor, nodes: int) -> Tensor:
    """The same sum written plainly, differentiable any number of times."""
    with torch.no_grad():
        low, step = _ends(residual, variance, scale_var, df, nodes)
        index = torch.arange(nodes, dtype=residual.dtype).reshape((-1,) + (1,) * residual.dim())
        grid = torch.addcmul(low, step, index)
    half, total = 0.5 * df, variance + scale_var * (-grid).exp()
    log_mixing = half * half.log() - torch.lgamma(half) + half * (grid - grid.exp())
    terms = log_mixing - 0.5 * (LOG_2PI + total.log() + residual.square() / total)
    return torch.logsumexp(terms, 0) + step.log()


def _ends(residual: Tensor, variance: Tensor, scale_var: Tensor, df: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    """First node ``t_lo`` of every data point and its step."""
    low, high = (torch.from_numpy(end).to(residual) for end in _range(df))
    given = (each.detach().double().numpy() for each in (residual.square(), variance, scale_var, df))
    low = low - torch.from_numpy(mixing_reach(*given)).to(residual)
    return low, (high - low) / (nodes - 1)


def _range(df: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the grid; all data points of a replicate share ν, whose quantiles are dear."""
    distinct, index = np.unique(df.detach().numpy(), return_inverse=True)
    low, high = (np.asarray(end) for end in mixing_range(distinct))
    return low[index.reshape(df.shape)], high[index.reshape(df.shape)]


def expected_log1p_square(square: Float[Tensor, "*B N"], variance: Float[Tensor, "*B N"]) -> Float[Tensor, "*B N"]:
    """``E log(1 + x²)`` for ``x ~ N(√square, variance)``, to 1e-11 at any arguments.

    ``log a = ∫ (e^{-t} - e^{-at}) dt/t`` makes it ``∫ e^{-t} [1 - (1 + 2tv)^{-½} exp(-t x²/(1 + 2tv))] dt/t``, a smooth
    integrand in ``log t`` for which the trapezoid rule converges geometrically.

    Reference: Frullani's integral.

    Example
    -------
    >>> one = torch.ones(1, dtype=torch.float64)
    >>> math.isclose(float(expected_log1p_square(one, 0.0 * one)), math.log(2.0), rel_tol=1e-10)
    True
    """
    with torch.no_grad():
        low = math.log(SMALLEST) - (square + variance).double().log1p()
        step = (math.log(LARGEST) - low) / (FRULLANI_NODES - 1)
        index = torch.arange(FRULLANI_NODES, dtype=torch.float64).reshape((-1,) + (1,) * square.dim())
        times = torch.addcmul(low, step, index).exp()
        weights = (-times).exp() * step
    stretch = 2.0 * times * variance
    exponent = 0.5 * stretch.log1p() + times * square / (1.0 + stretch)
    return -(weights * torch.expm1(-exponent)).sum(0).to(square.dtype)
