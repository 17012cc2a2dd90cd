"""Matrix-normal belief of several outputs, ``Σ = Σ_o ⊗ Σ_i`` (theory 5.5)."""

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import SpecError
from corners.exact._inputs import as_float64, positive
from corners.numerics import LOG_2PI
from corners.types import Array, Float


def kronecker_prior_term(
    mean: Float[Array, "K H"] | ArrayLike,
    output_covariance: Float[Array, "K K"] | ArrayLike,
    input_covariance: Float[Array, "H H"] | ArrayLike,
    prior_precision: float,
) -> float:
    """``−log Z_w`` without forming the ``KH × KH`` matrix, nats; weights are stacked by rows, index ``(k, h)``.

    ``½Σ_kh [log 2π(κ_k λ_h + 1/α) + T²_kh/(κ_k λ_h + 1/α)]`` with eigenpairs ``(κ, U_o)``, ``(λ, U_i)`` and ``T = U_oᵀ
    M U_i``.
    Reference: theory 5.5.

    Example
    -------
    >>> value = kronecker_prior_term(np.zeros((1, 2)), np.eye(1), np.eye(2), prior_precision=1.0)  # −log N(0; 0, 2I)
    >>> bool(np.isclose(value, np.log(4.0 * np.pi)))
    True
    """
    centre = as_float64("mean", mean)
    outer_matrix = as_float64("output_covariance", output_covariance)
    inner_matrix = as_float64("input_covariance", input_covariance)
    shapes = outer_matrix.shape, inner_matrix.shape
    if centre.ndim != 2 or shapes != ((centre.shape[0],) * 2, (centre.shape[1],) * 2):
        raise SpecError(
            f"a mean (K, H) needs covariances (K, K) and (H, H); got {centre.shape}, {shapes[0]} and {shapes[1]}"
        )
    outer, outer_basis = np.linalg.eigh(outer_matrix)
    inner, inner_basis = np.linalg.eigh(inner_matrix)
    spread = np.outer(np.maximum(outer, 0.0), np.maximum(inner, 0.0)) + 1.0 / positive(
        "prior_precision", prior_precision
    )
    rotated = outer_basis.T @ centre @ inner_basis
    return 0.5 * float((LOG_2PI + np.log(spread) + rotated**2 / spread).sum())


def kronecker_output_covariance(
    features: Float[Array, "N H"], output_covariance: Float[Array, "K K"], input_covariance: Float[Array, "H H"]
) -> Float[Array, "N K K"]:
    """Covariance of the outputs at each input, ``(ψᵀΣ_iψ) Σ_o``. Reference: theory 5.5.

    Example
    -------
    >>> kronecker_output_covariance(np.array([[2.0]]), np.eye(2), np.eye(1)).tolist()
    [[[4.0, 0.0], [0.0, 4.0]]]
    """
    scales = ((features @ input_covariance) * features).sum(axis=1)
    return scales[:, None, None] * output_covariance
