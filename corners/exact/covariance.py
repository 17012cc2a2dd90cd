"""Covariance families as values on arrays: variances of plates, overlap with the prior, chain rules.

Each is ``Σ`` of theory 5 with its jitter ``ε`` included; ``shift`` below is ``1/α``, so that ``M = Σ + α⁻¹I``.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from corners.errors import NotPositiveDefiniteError, SpecError
from corners.exact._inputs import as_float64
from corners.numerics import safe_cholesky
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class Shifted:
    """``M = Σ + shift I``: its log determinant, and a root ``W`` of its inverse, ``WWᵀ = M⁻¹``.

    Quadratic forms go through the root: with ``1/α`` tiny the entries of ``M⁻¹`` are huge and cancel, those of ``Wᵀμ``
    do not.
    """

    log_det: float
    root: Float[Array, "H H"]

    @property
    def inverse(self) -> Float[Array, "H H"]:
        """``M⁻¹``."""
        return self.root @ self.root.T


class Covariance(ABC):
    """What a family must offer; every array is float64, ``matrix`` includes the jitter."""

    @abstractmethod
    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""

    @abstractmethod
    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""

    @abstractmethod
    def shifted(self, width: int, shift: float) -> Shifted:
        """Log determinant and inverse of ``Σ + shift I``."""

    @abstractmethod
    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """From ``G`` with ``dF = tr(G dΣ)`` to the family's own parameters, by name (theory 3.5)."""

    def log_det(self, width: int) -> float:
        """``log|Σ|``, minus infinity where ``Σ`` is singular."""
        try:
            return self.shifted(width, 0.0).log_det
        except NotPositiveDefiniteError:
            return -math.inf


@dataclass(frozen=True, eq=False)
class NoCovariance(Covariance):
    """``Σ = 0``: the belief is a point and no jitter is added."""

    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""
        return np.zeros((width, width))

    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""
        return np.zeros(len(features))

    def shifted(self, width: int, shift: float) -> Shifted:
        """Log determinant and root of ``shift I``."""
        if shift == 0.0:
            raise NotPositiveDefiniteError("a point belief has a singular covariance; choose a family with a spread")
        return Shifted(width * math.log(shift), np.eye(width) / math.sqrt(shift))

    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """Gradients of the family's own parameters."""
        return {}


@dataclass(frozen=True, eq=False)
class DiagonalCovariance(Covariance):
    """``Σ = diag(s) + εI``; :meth:`chain` gives ``log_scales = s_d G_dd`` (the jitter is not scaled)."""

    scales: Float[Array, " H"]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _non_negative("scales", self.scales, self.jitter)

    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""
        return np.diag(self.scales + self.jitter)

    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""
        return features**2 @ (self.scales + self.jitter)

    def shifted(self, width: int, shift: float) -> Shifted:
        """Log determinant and inverse of ``Σ + shift I``."""
        spread = self.scales + (self.jitter + shift)
        if not (spread > 0.0).all():
            raise NotPositiveDefiniteError(f"scale {int(np.argmin(spread))} is zero; raise the jitter")
        return Shifted(float(np.log(spread).sum()), np.diag(spread**-0.5))

    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """Gradients of the family's own parameters."""
        return {"log_scales": self.scales * slope.diagonal()}


@dataclass(frozen=True, eq=False)
class FactorCovariance(Covariance):
    """``Σ = LLᵀ + εI`` with ``L`` lower triangular; :meth:`chain` gives ``lower = tril(2GL)`` (raw entries)."""

    lower: Float[Array, "H H"]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _non_negative("jitter", np.zeros(1), self.jitter)

    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""
        return self.lower @ self.lower.T + self.jitter * np.eye(width)

    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""
        return ((features @ self.lower) ** 2).sum(axis=1) + self.jitter * (features**2).sum(axis=1)

    def shifted(self, width: int, shift: float) -> Shifted:
        """Log determinant and inverse of ``Σ + shift I``."""
        return _from_square_root(self.lower.T, shift + self.jitter)

    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """Gradients of the family's own parameters."""
        return {"lower": np.tril(2.0 * slope @ self.lower)}


@dataclass(frozen=True, eq=False)
class LowRankCovariance(Covariance):
    """``Σ = diag(D) + BBᵀ + εI``; :meth:`chain` gives ``log_diagonal = D_d G_dd`` and ``factor = 2GB``."""

    diagonal: Float[Array, " H"]
    factor: Float[Array, "H R"]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _non_negative("diagonal", self.diagonal, self.jitter)

    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""
        return np.diag(self.diagonal + self.jitter) + self.factor @ self.factor.T

    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""
        return features**2 @ (self.diagonal + self.jitter) + ((features @ self.factor) ** 2).sum(axis=1)

    def shifted(self, width: int, shift: float) -> Shifted:
        """``M = D'^½(I + ZZᵀ)D'^½``, ``D' = D + ε + shift``, ``Z = D'^{-½}B``: theory 5.4 without its difference."""
        spread = self.diagonal + (self.jitter + shift)
        if not (spread > 0.0).all():
            return MatrixCovariance(self.matrix(width)).shifted(width, shift)
        left, stretch, _ = np.linalg.svd(self.factor / np.sqrt(spread)[:, None], full_matrices=False)
        shrunk = left * (1.0 - 1.0 / np.sqrt(1.0 + stretch**2))
        log_det = float(np.log(spread).sum() + np.log1p(stretch**2).sum())
        return Shifted(log_det, (np.eye(width) - shrunk @ left.T) / np.sqrt(spread)[:, None])

    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """Gradients of the family's own parameters."""
        return {"log_diagonal": self.diagonal * slope.diagonal(), "factor": 2.0 * slope @ self.factor}


@dataclass(frozen=True, eq=False)
class MatrixCovariance(Covariance):
    """``Σ + εI`` given as a plain symmetric matrix; it has no parameters of its own."""

    values: Float[Array, "H H"]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _non_negative("jitter", np.zeros(1), self.jitter)
        if not np.allclose(self.values, self.values.T, rtol=1e-10, atol=0.0):
            raise SpecError("a covariance matrix must be symmetric; got one whose transpose differs")

    def matrix(self, width: int) -> Float[Array, "H H"]:
        """``Σ`` with its jitter."""
        return self.values + self.jitter * np.eye(width)

    def variances(self, features: Float[Array, "N H"]) -> Float[Array, " N"]:
        """``vₙ = ψₙᵀΣψₙ``."""
        return ((features @ self.values) * features).sum(axis=1) + self.jitter * (features**2).sum(axis=1)

    def shifted(self, width: int, shift: float) -> Shifted:
        """Log determinant and inverse of ``Σ + shift I``."""
        factor = safe_cholesky(self.values + (self.jitter + shift) * np.eye(width), largest_jitter=0.0)
        return Shifted(factor.log_det, solve_triangular(factor.lower, np.eye(width), lower=True).T)

    def chain(self, slope: Float[Array, "H H"]) -> dict[str, Float[Array, "..."]]:
        """Gradients of the family's own parameters."""
        return {}


CovarianceLike = Covariance | Float[Array, "H H"] | ArrayLike | None
"""A family, a plain matrix, or ``None`` for the point belief."""


def as_covariance(covariance: CovarianceLike, width: int) -> Covariance:
    """A family as it is, a plain matrix as :class:`MatrixCovariance`, ``None`` as the point belief."""
    if covariance is None:
        return NoCovariance()
    if isinstance(covariance, Covariance):
        return covariance
    values = as_float64("covariance", covariance)
    if values.shape != (width, width):
        raise SpecError(
            f"the covariance must have shape ({width}, {width}) to go with the features; got {values.shape}"
        )
    return MatrixCovariance(values)


def _from_square_root(root: Float[Array, "R H"], shift: float) -> Shifted:
    """``rootᵀ root + shift I`` by QR of ``[root; √shift I]``: it is not formed, so no digits are squared away."""
    width = root.shape[1]
    upper = np.asarray(np.linalg.qr(np.vstack([root, math.sqrt(shift) * np.eye(width)]), mode="r"))
    pivots = np.abs(upper.diagonal())
    if not (pivots > 0.0).all():
        raise NotPositiveDefiniteError("the covariance factor is singular; raise the jitter")
    return Shifted(2.0 * float(np.log(pivots).sum()), solve_triangular(upper, np.eye(width)))


def _non_negative(name: str, values: Float[Array, "..."], jitter: float) -> None:
    if not (np.isfinite(values).all() and (values >= 0.0).all() and 0.0 <= jitter < math.inf):
        raise SpecError(f"{name} and jitter must be non-negative and finite; got {values} and {jitter}")
