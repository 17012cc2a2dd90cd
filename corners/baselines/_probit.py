"""Penalised linear probit models, many at once: Newton's method in one tensor program, and the Laplace evidence."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from corners.likelihoods._special import log_ndtr

INTERCEPT_SCALE = 10.0
"""Prior standard deviation of the intercept: next to no penalty, and finite where all labels are the same."""
STEPS, HALVINGS = 100, 40
LEAST_GAIN = 1e-4
"""Of what the slope promises, so that a shortened step is one downhill."""
LAST_DECREMENT = 1e-14
"""Of the objective: the step after it, which is taken, leaves the square of it."""
ROUNDING = 1e-13
BLOCK = 4_000_000
"""Numbers of a weighted design laid down at once."""


@dataclass(frozen=True)
class Probits:
    """``S`` data sets with ``C`` binary heads each, whose labels are signs."""

    inputs: Float[Tensor, "S N D"]
    signs: Float[Tensor, "S C N"]

    @property
    def design(self) -> Float[Tensor, "S N P"]:
        """The inputs and a column of ones."""
        return with_intercept(self.inputs)


@dataclass(frozen=True)
class ProbitModes:
    """The minimum of ``-Σ log Φ(s_n wᵀx_n) + ½ wᵀPw``, its curvature there, and where Newton arrived."""

    weights: Float[Tensor, "S G C P"]
    precision: Float[Tensor, "S G C P P"]
    prior: Float[Tensor, "S G C P"]
    objective: Float[Tensor, "S G C"]
    converged: Bool[Tensor, "S G C"]

    @property
    def log_evidence(self) -> Float[Tensor, "S G C"]:
        """Laplace: ``log p(y, ŵ) + ½ P log 2π - ½ log|A| = -objective + ½ Σ log P_dd - ½ log|A|``; approximate."""
        return -self.objective + 0.5 * self.prior.log().sum(-1) - 0.5 * torch.linalg.slogdet(self.precision)[1]


def with_intercept(inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N P"]:
    """Inputs with a last column of ones."""
    return torch.cat((inputs, torch.ones_like(inputs[..., :1])), -1)


def prior_diagonal(precisions: Float[Tensor, "S G C"], columns: int) -> Float[Tensor, "S G C P"]:
    """``α`` for every input, ``1/10²`` for the intercept."""
    wide = precisions[..., None].expand(*precisions.shape, columns)
    return torch.cat((wide, torch.full_like(wide[..., :1], INTERCEPT_SCALE**-2)), -1)


def find_modes(
    data: Probits, precisions: Float[Tensor, "S G C"], start: Float[Tensor, "S G C P"] | None = None
) -> ProbitModes:
    """Every data set, prior precision and head by damped Newton steps; the problem is convex, rows go their own way.

    The curvature is the exact one, ``-∂² log Φ(t) = ζ(ζ + t)`` with ``ζ = φ/Φ`` (theory 6.1).
    """
    design, prior = data.design, prior_diagonal(precisions, data.inputs.shape[-1])
    weights = torch.zeros_like(prior) if start is None else start.clone()
    done = torch.zeros(precisions.shape, dtype=torch.bool)
    value = _objective(design, data.signs, prior, weights)
    for _ in range(STEPS):
        slope, precision = _expansion(design, data.signs, prior, weights)
        step = torch.cholesky_solve(slope[..., None], torch.linalg.cholesky(precision))[..., 0]
        decrement = (slope * step).sum(-1)
        arriving = decrement <= LAST_DECREMENT * (1.0 + value)
        weights, value, moved = _search(design, data.signs, prior, weights, value, step, decrement, ~done)
        done = done | arriving | ~moved
        if bool(done.all()):
            break
    slope, precision = _expansion(design, data.signs, prior, weights)
    step = torch.cholesky_solve(slope[..., None], torch.linalg.cholesky(precision))[..., 0]
    converged = (slope * step).sum(-1) <= 1e-10 * (1.0 + value)
    return ProbitModes(weights, precision, prior, value, converged)


def _search(
    design: Tensor,
    signs: Tensor,
    prior: Tensor,
    weights: Tensor,
    value: Tensor,
    step: Tensor,
    decrement: Tensor,
    running: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Halve every row's step until it gains what it must; rows that do not run, or gain nothing, stay."""
    length, waiting = torch.ones_like(value), running.clone()
    for _ in range(HALVINGS):
        moved = weights - length[..., None] * step
        reached = _objective(design, signs, prior, moved)
        good = waiting & (reached <= value - LEAST_GAIN * length * decrement + ROUNDING * (1.0 + value))
        weights, value = torch.where(good[..., None], moved, weights), torch.where(good, reached, value)
        waiting = waiting & ~good
        if not bool(waiting.any()):
            break
        length = torch.where(waiting, 0.5 * length, length)
    return weights, value, running & ~waiting


def _margins(design: Tensor, signs: Tensor, weights: Tensor) -> Float[Tensor, "S G C N"]:
    return signs[:, None] * (weights @ design.mT[:, None])


def _objective(design: Tensor, signs: Tensor, prior: Tensor, weights: Tensor) -> Float[Tensor, "S G C"]:
    misfit = -log_ndtr(_margins(design, signs, weights)).sum(-1)
    return misfit + 0.5 * (prior * weights.square()).sum(-1)


def _expansion(design: Tensor, signs: Tensor, prior: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Slope and curvature of the objective."""
    margins = _margins(design, signs, weights)
    ratio = (2.0 / torch.pi) ** 0.5 / torch.special.erfcx(-margins / 2.0**0.5)
    slope = prior * weights - (signs[:, None] * ratio) @ design[:, None]
    bend = ratio * (ratio + margins)
    precision = torch.diag_embed(prior)
    wide = max(1, BLOCK // (bend[..., 0].numel() * design.shape[-1]))
    for first in range(0, design.shape[1], wide):
        rows = design[:, None, None, first : first + wide]
        precision = precision + (rows.mT * bend[..., None, first : first + wide]) @ rows
    return slope, precision
