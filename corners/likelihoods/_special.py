"""Special functions of the probit heads, stable in value and gradient (theory 6.2)."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.numerics import LOG_2PI

SQRT_HALF = math.sqrt(0.5)
SQRT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
NARROW = 1e-3
"""Below this ``w (1 + |c|)`` the Taylor series of the mass about its centre is exact to rounding (theory 6.2)."""
TAIL = -5.0
"""Above it ``Φ = erfc(-x/√2)/2`` is accurate and many times faster than erfcx."""
FAR_TAIL = -10.0
"""Below it ``ζ(x) + x`` would cancel and the continued fraction of its tail takes over."""
DEPTH = 16
"""Levels of the continued fraction: 13 are exact to rounding from ``FAR_TAIL`` on."""
SMALLEST_EXPONENT = -700.0


def inverse_mills_ratio(x: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
    """``ζ(x) = φ(x) / Φ(x)``, the slope of :func:`log_ndtr`; ``√(2/π) / erfcx(-x/√2)`` in the lower tail.

    Relative error below 1e-14 (1 + |x|) in float64, as long as φ(x) is a normal float; differentiable to any order,
    with ``ζ' = -ζ (ζ + x)``.

    Example
    -------
    >>> import torch
    >>> round(float(inverse_mills_ratio(torch.zeros(1, dtype=torch.float64)) ** 2 * math.pi), 12)
    2.0
    """
    return _InverseMills.apply(x)  # pyright: ignore[reportReturnType]


def inverse_mills_excess(x: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
    """``ζ(x) + x``, without the cancellation where ``ζ(x) ≈ -x``; ``-ζ (ζ + x)`` is the curvature of ``log Φ``.

    Laplace's continued fraction ``1/(t + 2/(t + 3/(t + ...)))`` in the tail ``t = -x``.
    """
    tail = x < FAR_TAIL
    if not tail.any():
        return inverse_mills_ratio(x) + x
    t = torch.where(tail, -x, -FAR_TAIL)
    fraction = torch.zeros_like(t)
    for level in range(DEPTH, 0, -1):
        fraction = level / (t + fraction)
    inner = torch.where(tail, 0.0, x)
    return torch.where(tail, fraction, inverse_mills_ratio(inner) + inner)


def log_ndtr(x: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
    """``log Φ(x)`` with ``ζ(x)`` as its gradient.

    Relative error below 1e-14 for ``x ≤ 5``; beyond, that of a probability whose argument is rounded, 1e-15 x².

    torch differentiates its own ``log_ndtr`` through ``exp(-x²/2) / Φ``, which fails in float32 and far in the tail.

    Example
    -------
    >>> import torch
    >>> float(log_ndtr(torch.zeros(1, dtype=torch.float64))) == math.log(0.5)
    True
    """
    return _LogNdtr.apply(x)  # pyright: ignore[reportReturnType]


def log_ndtr_difference(
    lower: Float[Tensor, "*B"], upper: Float[Tensor, "*B"], width: Float[Tensor, "*B"] | None = None
) -> Float[Tensor, "*B"]:
    """``log(Φ(upper) - Φ(lower))`` for ``lower < upper``, either of which may be infinite.

    ``width`` is ``upper - lower`` where it is known better than the difference of two rounded numbers.
    Relative error in float64 below 1e-13 (value) and 2e-12 (slopes) for ``|lower| ≤ 40`` and widths from 1e-12 to 30.
    Differentiable to any order; NaN where ``lower > upper``, -inf where they are equal.

    Example
    -------
    >>> import torch
    >>> value = log_ndtr_difference(torch.tensor([-math.inf]), torch.tensor([0.0]))
    >>> bool(value == torch.tensor(0.5).log())
    True
    """
    no_lower, no_upper = lower == -math.inf, upper == math.inf
    both = ~(no_lower | no_upper)
    end = torch.where(no_lower, torch.where(no_upper, 0.0, upper), torch.where(no_upper, -lower, 0.0))
    one_sided = torch.where(no_lower & no_upper, 0.0, log_ndtr(end))
    a, b = torch.where(both, lower, -1.0), torch.where(both, upper, 1.0)
    w = b - a if width is None else torch.where(both, width, 2.0)
    return torch.where(both, _log_mass(a, b, w), one_sided)


def _log_mass(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """The three branches of theory 6.2 for finite ends, mirrored to ``a ≤ 0``; every branch sees only its own."""
    mirrored = a > 0.0
    a, b = torch.where(mirrored, -b, a), torch.where(mirrored, -a, b)
    narrow = w * (1.0 + 0.5 * (a + b).abs()) < NARROW
    tail = ~narrow & (b <= 0.0)
    centre = ~(narrow | tail)
    return torch.where(
        narrow,
        _narrow(torch.where(narrow, 0.5 * (a + b), 0.0), torch.where(narrow, w, NARROW)),
        torch.where(
            tail,
            _tail(torch.where(tail, a, -2.0), torch.where(tail, b, -1.0), torch.where(tail, w, 1.0)),
            _central(torch.where(centre, a, -1.0), torch.where(centre, b, 1.0)),
        ),
    )


def _narrow(c: Tensor, w: Tensor) -> Tensor:
    """Taylor series about the centre ``c``."""
    return -0.5 * (c.square() + LOG_2PI) + w.log() + torch.log1p((c.square() - 1.0) * w.square() / 24.0)


def _tail(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """``log Φ(b) + log(1 - Φ(a)/Φ(b))`` for ``b ≤ 0``; the squares of ``log Φ(a) - log Φ(b)`` cancel on paper."""
    log_ratio = 0.5 * w * (a + b) + _LogMills.apply(a) - _LogMills.apply(b)  # pyright: ignore[reportOperatorIssue]
    return log_ndtr(b) + _LogOneMinusExp.apply(log_ratio)  # pyright: ignore[reportReturnType]


def _central(a: Tensor, b: Tensor) -> Tensor:
    """``log(1 - Φ(a) - Φ(-b))`` for ``a ≤ 0 < b``; by erfc, since torch's ``ndtr`` is zero below -8."""
    return torch.log1p(-0.5 * (torch.erfc(-SQRT_HALF * a) + torch.erfc(SQRT_HALF * b)))


class _InverseMills(torch.autograd.Function):
    """ζ with its own derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ratio = SQRT_TWO_OVER_PI * torch.exp(-0.5 * x.square()) / torch.erfc(-SQRT_HALF * x)
        tail = x < TAIL
        ratio[tail] = SQRT_TWO_OVER_PI / torch.special.erfcx(-SQRT_HALF * x[tail])
        return ratio

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return -grads[0] * inverse_mills_ratio(x) * inverse_mills_excess(x)


class _LogNdtr(torch.autograd.Function):
    """log Φ with slope ζ."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        upper = 0.5 * torch.erfc(SQRT_HALF * x.abs())
        value = torch.where(x < 0.0, upper.log(), torch.log1p(-upper))
        tail = x < TAIL
        value[tail] = torch.special.log_ndtr(x[tail])
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] * inverse_mills_ratio(x)


class _LogMills(torch.autograd.Function):
    """``log Φ(x) + x²/2 = log(erfcx(-x/√2) / 2)`` for ``x ≤ 0``, with slope ``ζ(x) + x``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (0.5 * torch.special.erfcx(-SQRT_HALF * x)).log()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] * inverse_mills_excess(x)


class _LogOneMinusExp(torch.autograd.Function):
    """``log(1 - eˣ)`` for ``x < 0``; its slope ``-1/(e⁻ˣ - 1)`` keeps its digits however small ``eˣ`` is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (-torch.expm1(x)).log()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return -grads[0] / torch.expm1(-x.clamp(min=SMALLEST_EXPONENT))
