"""One thin singular value decomposition of the features, from which every closed quantity follows in O(k)."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corners.types import Array, Bool, Float


@dataclass(frozen=True, eq=False)
class Factorisation:
    """Thin SVD ``Ψ = U S Vᵀ`` with the targets projected on it: ``z = Uᵀy``, ``R₀ = ‖y − Uz‖²``, ``k = min(N, H)``."""

    left: Float[Array, "N K"]
    singular: Float[Array, " K"]
    right: Float[Array, "K H"]
    projected: Float[Array, " K"]
    outside: Float[Array, " N"]

    @cached_property
    def singular2(self) -> Float[Array, " K"]:
        """Squared singular values ``s²``."""
        return self.singular**2

    @cached_property
    def projected2(self) -> Float[Array, " K"]:
        """Squared projections ``z²``."""
        return self.projected**2

    @cached_property
    def left2(self) -> Float[Array, "N K"]:
        """Squared left vectors ``U²``, whose weighted row sums are leverages."""
        return self.left**2

    @cached_property
    def outside2(self) -> float:
        """``R₀``, the squared length of the targets outside the column space; exactly 0 where ``N ≤ H``."""
        return float(self.outside @ self.outside)

    @cached_property
    def spare(self) -> int:
        """``N − k``, the dimensions of the targets that no feature reaches."""
        return len(self.left) - len(self.singular)

    @cached_property
    def reached(self) -> Float[Array, " R"]:
        """Squared singular values above rounding, those that a search over hyperparameters has to span."""
        return self.singular2[self.above_rounding]

    @cached_property
    def above_rounding(self) -> Bool[Array, " K"]:
        """Directions whose singular value is not a rounding error of the largest."""
        size = max(len(self.left), self.right.shape[1])
        return self.singular > size * np.finfo(float).eps * self.singular.max()

    @cached_property
    def unreached(self) -> Float[Array, " N"] | float:
        """``1[N > k](1 − Σᵢ U²ₙᵢ)``, the part of each plate that no feature reaches."""
        return np.maximum(1.0 - self.left2.sum(axis=1), 0.0) if self.spare else 0.0


class Shrinkage(NamedTuple):
    """What a ridge ``λ = ασ²`` leaves of each singular direction.

    ``kept = s²/(s²+λ)``, ``lost = λ/(s²+λ)``, ``gain = s/(s²+λ)``, ``inverse = 1/(s²+λ)``; ``λ = ∞`` keeps nothing.
    """

    kept: Float[Array, " K"]
    lost: Float[Array, " K"]
    gain: Float[Array, " K"]
    inverse: Float[Array, " K"]


def factorise(features: Float[Array, "N H"], targets: Float[Array, " N"]) -> Factorisation:
    """Factorise once; ``O(NH min(N, H))``."""
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    projected = left.T @ targets
    wide = len(targets) <= features.shape[1]
    outside = np.zeros_like(targets) if wide else targets - left @ projected  # a residual: no cancelling of norms
    return Factorisation(left, singular, right, projected, outside)


def shrink(factorisation: Factorisation, ridge: float) -> Shrinkage:
    """Shrinkage of every singular direction at ridge ``λ``."""
    inverse = 1.0 / (factorisation.singular2 + ridge)
    return Shrinkage(
        kept=factorisation.singular2 * inverse,
        lost=1.0 / (1.0 + factorisation.singular2 / ridge),
        gain=factorisation.singular * inverse,
        inverse=inverse,
    )


def residuals(factorisation: Factorisation, shrinkage: Shrinkage) -> Float[Array, " N"]:
    """``r* = y − Ψμ*``, summed from the parts that are lost rather than as a difference."""
    return factorisation.outside + factorisation.left @ (shrinkage.lost * factorisation.projected)


def mean_weights(factorisation: Factorisation, shrinkage: Shrinkage) -> Float[Array, " H"]:
    """``μ* = V (s z / (s²+λ))``."""
    return (shrinkage.gain * factorisation.projected) @ factorisation.right
