"""Second-order quantities of the free objective over ``(log σ², log s)``, diagonal family (theory 7.3)."""

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_features, as_problem, as_vector, positive
from corners.types import Array, Float


def attribution_hessian(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    scales: Float[Array, " H"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
    *,
    jitter: float = 0.0,
) -> Float[Array, "P P"]:
    """Exact Hessian of ``F`` over ``(log σ², log s₁, …, log s_H)`` for ``Σ = diag(s) + εI``, nats (``P = H + 1``).

    With ``J = [σ², s_d ψ²ₙd]``, ``ℓ_V = ½(1 − ρ)/V``, ``ℓ_VV = ½(2ρ − 1)/V²``, ``ρ = r²/V``: ``Jᵀ diag(ℓ_VV) J +
    diag(Jᵀℓ_V)``, and on the diagonal of each ``s_d`` the prior's ``s φ' + s² φ''`` with ``φ(t) = ½(log t + μ²/t)`` at
    ``t = s + ε + 1/α``. Reference: theory 7.3.

    Example
    -------
    >>> hessian = attribution_hessian([[0.0]], [1.0], [0.0], [1.0], prior_precision=1.0, noise_scale=1.0)
    >>> hessian.tolist()  # plate: ½ r²/σ² = ½; prior: ½ s/(s+1) − ½ (s/(s+1))² = ⅛
    [[0.5, 0.0], [0.0, 0.125]]
    """
    matrix, vector = as_problem(features, targets)
    width = matrix.shape[1]
    centre, spread = as_vector("mean", mean, width), as_vector("scales", scales, width)
    noise_var = positive("noise_scale", noise_scale) ** 2
    slopes = attribution_slopes(matrix, spread, noise_var)
    total = noise_var + matrix**2 @ (spread + jitter)
    ratio = (vector - matrix @ centre) ** 2 / total
    hessian = (slopes.T * (0.5 * (2.0 * ratio - 1.0) / total**2)) @ slopes
    diagonal = slopes.T @ (0.5 * (1.0 - ratio) / total)
    reach = spread + jitter + 1.0 / positive("prior_precision", prior_precision)
    share, pull = spread / reach, centre**2 / reach
    diagonal[1:] += 0.5 * share * (1.0 - pull) + 0.5 * share**2 * (2.0 * pull - 1.0)
    hessian.flat[:: width + 2] += diagonal
    return hessian


def attribution_information(
    features: Float[Array, "N H"] | ArrayLike,
    scales: Float[Array, " H"] | ArrayLike,
    noise_scale: float,
    *,
    jitter: float = 0.0,
) -> Float[Array, "P P"]:
    """Fisher information per plate over ``(log σ², log s)``: ``Jᵀ diag(V⁻²) J / 2N`` with ``J = [σ², s_d ψ²ₙd]``.

    Singular where the attribution of variance to noise or to weights is not identified. Reference: theory 7.3,
    ``fim_per_plate``.

    Example
    -------
    >>> attribution_information([[1.0]], [1.0], noise_scale=1.0).tolist()  # V = 2 and both shares are one half
    [[0.125, 0.125], [0.125, 0.125]]
    """
    matrix = as_features(features)
    spread = as_vector("scales", scales, matrix.shape[1])
    noise_var = positive("noise_scale", noise_scale) ** 2
    shares = attribution_slopes(matrix, spread, noise_var) / (noise_var + matrix**2 @ (spread + jitter))[:, None]
    return 0.5 / len(matrix) * shares.T @ shares


def attribution_slopes(
    features: Float[Array, "N H"], scales: Float[Array, " H"], noise_var: float
) -> Float[Array, "N P"]:
    """``J = ∂V/∂(log σ², log s) = [σ², s_d ψ²ₙd]``; the jitter is a constant and has no column.

    Example
    -------
    >>> attribution_slopes(np.array([[2.0]]), np.array([3.0]), 0.5).tolist()
    [[0.5, 12.0]]
    """
    return np.column_stack([np.full(len(features), noise_var), features**2 * scales])
