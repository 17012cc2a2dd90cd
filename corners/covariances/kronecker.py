"""Kronecker covariance of several outputs: Σ = Σ_o ⊗ Σ_i + ε I, a matrix-normal belief (theory 5.5)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances import COVARIANCES
from corners.covariances._base import (
    LOG_VAR_BOUNDS,
    Bounds,
    Coupling,
    Covariance,
    CovarianceFamily,
    Params,
    require_jitter,
    require_start,
)
from corners.covariances._factor import (
    LOG_DIAGONAL,
    STRICT_LOWER,
    FactorCovariance,
    PrecisionCovariance,
    lower_factor,
)
from corners.covariances._kronecker_overlap import kronecker_overlap
from corners.covariances._linalg import row_squares
from corners.errors import ImpossibleCellError, SpecError

OUTPUT_LOG_RATIO, OUTPUT_STRICT_LOWER = "covariance.output_log_ratio", "covariance.output_strict_lower"


@dataclass(frozen=True)
class KroneckerCovariance(Covariance):
    """``Σ = Σ_o ⊗ Σ_i + ε I`` over weights stacked by rows, index ``(k, h)``, held by its two lower factors.

    The K outputs of a data point see the same features: features have a dimension K, along which they are equal.
    """

    output_factor: Float[Tensor, "*B K K"]
    input_factor: Float[Tensor, "*B H H"]
    jitter: float = 0.0

    def quadratic(self, features: Float[Tensor, "*B K N H"]) -> Float[Tensor, "*B K N"]:
        """``(Σ_o)_kk ψ_nᵀ Σ_i ψ_n + ε ‖ψ_n‖²``: the variance of each output."""
        together = self.coupling(features)
        relative = self.output_factor.square().sum(-1)
        return relative[..., None] * together.scale[..., None, :] + together.own[..., None, :]

    def coupling(self, features: Float[Tensor, "*B K N H"]) -> Coupling:
        """``(ψ_nᵀ Σ_i ψ_n) Σ_o + ε ‖ψ_n‖² I``: the covariance of the outputs of a data point."""
        once = features[..., 0, :, :]
        own = self.jitter * row_squares(once) if self.jitter else torch.zeros_like(once[..., 0])
        return Coupling(self.output_factor @ self.output_factor.mT, row_squares(once @ self.input_factor), own)

    def overlap_terms(
        self, mean: Float[Tensor, "*B K H"], shift: Float[Tensor, "*B K"]
    ) -> tuple[Float[Tensor, "*B K"], Float[Tensor, "*B K"]]:
        """``log|Σ + D ⊗ I|`` and ``μᵀ (Σ + D ⊗ I)⁻¹ μ`` with ``D = diag(shift)``, from eigenpairs of K x K and H x H.

        The two belong to all outputs at once; each of K outputs is given one K-th, so that their sum is right.
        """
        outputs, inputs = (factor @ factor.mT for factor in (self.output_factor, self.input_factor))
        log_det, quadratic = kronecker_overlap(outputs, inputs, mean, shift + self.jitter)
        count = mean.shape[-2]
        return (log_det / count)[..., None].expand_as(shift), (quadratic / count)[..., None].expand_as(shift)

    def matrix(self) -> Float[Tensor, "*B K H H"]:
        """``(Σ_o)_kk Σ_i + ε I``: the block of each output; Σ itself, of size K H, is never formed."""
        inputs = self.input_factor @ self.input_factor.mT
        eye = torch.eye(inputs.shape[-1], dtype=inputs.dtype, device=inputs.device)
        relative = self.output_factor.square().sum(-1)
        return relative[..., None, None] * inputs[..., None, :, :] + self.jitter * eye

    def detach(self) -> "KroneckerCovariance":
        """The same value outside the graph."""
        return replace(self, output_factor=self.output_factor.detach(), input_factor=self.input_factor.detach())

    def select(self, index: Tensor) -> "KroneckerCovariance":
        """The replicates ``index``; an output has no belief of its own that could be taken out."""
        if self.input_factor.ndim < 3:
            raise SpecError("a Kronecker covariance without replicates is one for all outputs; none can be selected")
        return replace(self, output_factor=self.output_factor[index], input_factor=self.input_factor[index])


@COVARIANCES.register("kronecker")
@dataclass(frozen=True)
class Kronecker(CovarianceFamily):
    """One covariance Σ_i of the weights of an output, and one Σ_o between outputs; both dense.

    The two share a scale: ``(Σ_o, Σ_i)`` and ``(c Σ_o, Σ_i / c)`` are one belief. ``(Σ_o)_00 = 1`` fixes it: Σ_i is the
    covariance of the weights of output 0, and no parameter can drift. Σ_o = I is K independent outputs with the same
    covariance. With one output the family is the dense one, parameters and all.

    Parameters
    ----------
    initial_scale : start of ``L_i = initial_scale · I``; Σ_o starts at the identity.
    outputs : K; a corner sets it to the number of latent functions of its likelihood.

    Raises
    ------
    SpecError : a start that is not positive, fewer than one output, or a number that is not the likelihood's.
    ImpossibleCellError : a binding to the conjugate posterior of several outputs.

    Example
    -------
    >>> Kronecker().across(3).outputs
    3
    """

    initial_scale: float = 0.1
    outputs: int = 1
    name: ClassVar[str] = "kronecker"

    def __post_init__(self) -> None:
        require_start("initial_scale", self.initial_scale)
        if self.outputs < 1:
            raise SpecError(f"outputs counts the outputs and must be at least 1; got {self.outputs}")

    @classmethod
    def example(cls) -> "Kronecker":
        """A member for the law suite, which knows one output."""
        return cls()

    @property
    def joint(self) -> frozenset[str]:
        """Every parameter: K outputs have one covariance."""
        return frozenset({LOG_DIAGONAL, STRICT_LOWER, OUTPUT_LOG_RATIO, OUTPUT_STRICT_LOWER})

    def across(self, latents: int) -> "Kronecker":
        """The family of ``latents`` outputs."""
        if self.outputs not in (1, latents):
            raise SpecError(
                f"covariance 'kronecker' is for {self.outputs} outputs and the likelihood has {latents} latent "
                "functions; leave outputs out"
            )
        return replace(self, outputs=latents)

    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """``L_i = initial_scale · I`` and ``L_o = I``; of the latter all of the diagonal but its first entry."""
        count, others = len(generators), self.outputs - 1
        start = torch.tensor(self.initial_scale, dtype=dtype).log()
        params = {
            LOG_DIAGONAL: start.expand(count, size).clone(),
            STRICT_LOWER: torch.zeros(count, size, size, dtype=dtype),
        }
        if others:
            params[OUTPUT_LOG_RATIO] = torch.zeros(count, others, dtype=dtype)
            params[OUTPUT_STRICT_LOWER] = torch.zeros(count, others + 1, others + 1, dtype=dtype)
        return params

    def bounds(self) -> Bounds:
        """``2 log L_dd`` of Σ_i within the bounds of ``log s_d`` (theory 5.7), of Σ_o within their width either way."""
        low, high = LOG_VAR_BOUNDS
        width = 0.5 * (high - low)
        own: Bounds = {LOG_DIAGONAL: (0.5 * low, 0.5 * high)}
        return own | {OUTPUT_LOG_RATIO: (-width, width)} if self.outputs > 1 else own

    def build(
        self, params: Params, mean: Float[Tensor, "*B H"], jitter: float
    ) -> KroneckerCovariance | FactorCovariance:
        """Σ of all outputs; ``mean`` has a dimension K before the last where there are several."""
        require_jitter(jitter)
        inputs = lower_factor(params[LOG_DIAGONAL], params[STRICT_LOWER])
        if self.outputs == 1:
            return FactorCovariance(inputs, jitter)
        ratios = torch.nn.functional.pad(params[OUTPUT_LOG_RATIO], (1, 0))
        return KroneckerCovariance(lower_factor(ratios, params[OUTPUT_STRICT_LOWER]), inputs, jitter)

    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> PrecisionCovariance:
        """``Σ* = A⁻¹`` with one output; refused with several, each of which has a posterior of its own."""
        require_jitter(jitter)
        if self.outputs > 1:
            raise ImpossibleCellError(
                f"a binding takes Σ from the posterior of each of {self.outputs} outputs, and kronecker has one; "
                "use covariance 'dense' or 'diagonal', or routing 'free'"
            )
        return PrecisionCovariance(precision_factor, jitter)
