"""Where the predictive variance of a last layer comes from: noise, covariance, what is left of the prior."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corners.errors import DataError
from corners.method import LastLayer
from corners.types import Array, Float

ASYMMETRY = 1e-5
"""Relative asymmetry that rounding can leave in a covariance trained in float32."""


@dataclass(frozen=True)
class Attribution:
    """Mean shares of the predictive variance ``V_n = σ² + ψ_nᵀΣψ_n`` over one part of the data; they sum to one.

    ``prior_fraction = tr(M⁻¹)/(αH)`` (theory 7.3) is not one of them: it is the prior's share of ``M = Σ + α⁻¹I``.
    ``noise_scale`` and ``belief_scale`` (root mean ``ψᵀΣψ``) are in original units.
    """

    part: str
    noise_share: float
    covariance_share: float
    prior_share: float
    prior_fraction: float
    noise_scale: float
    belief_scale: float
    points: int

    @property
    def sentence(self) -> str:
        """The shares in words."""
        return (
            f"of the predictive variance on the {self.part} part, noise is {self.noise_share:.1%}, fitted covariance "
            f"{self.covariance_share:.1%} and what is left of the prior {self.prior_share:.1%}"
        )

    def __str__(self) -> str:
        return self.sentence

    def records(self) -> list[dict[str, Any]]:
        """One flat row a share, for a stacked bar."""
        shares = {"noise": self.noise_share, "covariance": self.covariance_share, "prior": self.prior_share}
        return [{"part": self.part, "source": source, "share": share} for source, share in shares.items()]


def attribution(layer: LastLayer, part: Literal["train", "test"] = "train") -> Attribution:
    """Split the predictive variance into noise, covariance and prior.

    In the eigenbasis ``Σ = Σ_i λ_i q_i q_iᵀ`` with ``b_i = αλ_i``, the part ``min(b_i, 1/b_i)`` of each ``λ_i`` is
    prior variance still there, the rest is covariance of the fit's own. At the conjugate posterior this is the exact
    identity ``Σ* = αΣ*Σ* + Σ*ΨᵀΨΣ*/σ²``: variance of the prior propagated through the estimator, and of the training
    noise. At ``Σ = α⁻¹I`` all is prior; a covariance far wider than the prior counts as the fit's own.

    Example
    -------
    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> layer = LastLayer(one, zero, one, zero, zero, np.full((1, 1), 0.5), 1.0, 1.0, 0.0, "shared", "closed", "dense")
    >>> shares = attribution(layer)  # V = 1 + 1/2; half of the prior's variance is left: b = 1/2
    >>> [round(6 * share, 12) for share in (shares.noise_share, shares.covariance_share, shares.prior_share)]
    [4.0, 1.0, 1.0]
    """
    features = layer.features if part == "train" else layer.test_features
    values, vectors = belief_spectrum(layer)
    projected = (features @ vectors) ** 2 * values
    total = layer.noise_var + projected.sum(axis=1)
    prior = float((projected @ prior_weights(values, layer.prior_precision) / total).mean())
    noise = float((layer.noise_var / total).mean())
    return Attribution(
        part=part,
        noise_share=noise,
        covariance_share=1.0 - noise - prior,
        prior_share=prior,
        prior_fraction=float((1.0 / (1.0 + layer.prior_precision * values)).mean()),
        noise_scale=float(np.sqrt(layer.noise_var)) * layer.target_scale,
        belief_scale=float(np.sqrt(projected.sum(axis=1).mean())) * layer.target_scale,
        points=len(features),
    )


def prior_weights(eigenvalues: Float[Array, " H"], prior_precision: float) -> Float[Array, " H"]:
    """``min(b, 1/b)`` with ``b = αλ``: the fraction of each eigenvalue that is prior variance still there."""
    scaled = prior_precision * eigenvalues
    return np.where(scaled <= 1.0, scaled, 1.0 / np.maximum(scaled, 1.0))


def belief_covariance(layer: LastLayer) -> Float[Array, "H H"]:
    """The layer's covariance, exactly symmetric: rounding leaves ``LLᵀ`` unequal to its transpose in the last digits.

    Raises
    ------
    DataError : it differs from its transpose by more than rounding.
    """
    covariance = np.asarray(layer.covariance, dtype=np.float64)
    gap = float(np.abs(covariance - covariance.T).max(initial=0.0))
    if not gap <= ASYMMETRY * float(np.abs(covariance).max(initial=0.0)):
        raise DataError(f"the covariance must be symmetric and finite; it differs from its transpose by {gap:.3g}")
    return 0.5 * (covariance + covariance.T)


def belief_spectrum(layer: LastLayer) -> tuple[Float[Array, " H"], Float[Array, "H H"]]:
    """Eigenvalues of the covariance (those below zero by rounding are zero) and eigenvectors as columns."""
    values, vectors = np.linalg.eigh(belief_covariance(layer))
    return np.maximum(values, 0.0), vectors


def belief_variances(layer: LastLayer) -> Float[Array, " N"]:
    """``v_n = ψ_nᵀΣψ_n`` on the training part, jitter included."""
    return np.maximum(((layer.features @ belief_covariance(layer)) * layer.features).sum(axis=1), 0.0)
