"""Numerical primitives that more than one family needs; repairs are reported, never silent."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from corners.errors import NotPositiveDefiniteError
from corners.types import Array, Float

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class CholeskyFactor:
    """Lower factor ``L`` with ``L Lᵀ = A + jitter I``, and the jitter that was needed (0.0 if none)."""

    lower: Float[Array, "H H"]
    jitter: float

    @property
    def log_det(self) -> float:
        """``log|A + jitter I| = 2 Σ log L_ii``."""
        return 2.0 * float(np.log(np.diag(self.lower)).sum())


def safe_cholesky(matrix: Float[Array, "H H"], *, largest_jitter: float = 1e-6) -> CholeskyFactor:
    """Cholesky factor of a symmetric positive definite matrix, with the jitter that was added.

    Tries no jitter first, then 1e-12, 1e-10, ... up to ``largest_jitter``, each times the mean of the diagonal.

    Raises
    ------
    NotPositiveDefiniteError : the matrix holds NaN or is not positive definite even then; the message says by how much.

    Example
    -------
    >>> import numpy as np
    >>> safe_cholesky(np.diag([4.0, 9.0])).lower.diagonal().tolist()
    [2.0, 3.0]
    """
    if not np.isfinite(matrix).all():
        raise NotPositiveDefiniteError("the matrix holds NaN or infinity; check features and hyperparameters")
    lower, info = dpotrf(matrix, lower=1, clean=1)
    if info == 0:
        return CholeskyFactor(lower, 0.0)
    scale = max(float(np.abs(np.diag(matrix)).mean()), np.finfo(float).tiny)
    tried, relative = 0.0, 1e-12
    while relative <= largest_jitter * 1.0001:
        lower, info = dpotrf(matrix + relative * scale * np.eye(len(matrix)), lower=1, clean=1)
        if info == 0:
            return CholeskyFactor(lower, relative * scale)
        tried, relative = relative, relative * 100.0
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    raise NotPositiveDefiniteError(
        f"the matrix is not positive definite (smallest eigenvalue {smallest:.3g}) even with jitter "
        f"{tried * scale:.3g}; raise the prior precision or the noise, or drop collinear features"
    )
