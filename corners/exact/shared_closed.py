"""Shared cavity, closed routing: the bound belief scores the plates it has already seen (theory 3.4)."""

from numpy.typing import ArrayLike

from corners.exact._inputs import as_problem, one_of, positive
from corners.exact.factorisation import factorise
from corners.exact.gradients import ClosedGradient
from corners.exact.shared_closed_dense import SharedClosed, spectral_shared_closed, spectral_shared_closed_gradient
from corners.exact.shared_closed_restricted import restricted_shared_closed, restricted_shared_closed_gradient
from corners.types import Array, Float

FAMILIES = ("dense", "diagonal", "none")


def shared_closed_terms(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
    *,
    family: str = "dense",
) -> SharedClosed:
    """Terms of ``F_sc = −log Z_w(μ*, Σ) + Σ −log N(yₙ; m*ₙ, σ² + vₙ)`` with the belief bound to the data, nats.

    ``family`` names the binding: ``"dense"`` is the conjugate posterior (``vₙ = σ²hₙ``), ``"diagonal"`` has ``s_d =
    1/A_dd``, ``"none"`` has ``Σ = 0``; the mean is ``μ*`` in all. It is not ``−log Z`` and has no lower bound in ``α``
    (theory 7.1, 13.1). Reference: theory 3.4.

    Example
    -------
    >>> cell = shared_closed_terms([[1.0]], [2.0], prior_precision=1.0, noise_scale=1.0)  # posterior N(1, 1/2), h = 1/2
    >>> cell.means.round(12).tolist(), cell.variances.round(12).tolist()
    ([1.0], [1.5])
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    factorisation = factorise(matrix, vector)
    if one_of("family", family, FAMILIES) == "dense":
        return spectral_shared_closed(factorisation, vector, precision, noise_var)
    return restricted_shared_closed(factorisation, matrix, vector, precision, noise_var, family)


def shared_closed_gradient(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
    *,
    family: str = "dense",
) -> ClosedGradient:
    """Gradient of the total over ``log α``, ``log σ²`` and the features.

    The binding is differentiated, not detached.

    Arguments as :func:`shared_closed_terms`. Reference: theory 3.4, 14.

    Example
    -------
    >>> gradient = shared_closed_gradient([[0.0]], [2.0], prior_precision=1.0, noise_scale=1.0)
    >>> gradient.log_noise_var  # an empty feature: ½(1 − y²/σ²)
    -1.5
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    factorisation = factorise(matrix, vector)
    if one_of("family", family, FAMILIES) == "dense":
        return spectral_shared_closed_gradient(factorisation, precision, noise_var)
    return restricted_shared_closed_gradient(factorisation, matrix, precision, noise_var, family)
