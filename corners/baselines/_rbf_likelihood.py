"""Marginal likelihood of a Gaussian process with one length scale, and its slope, in one factorisation."""

import math

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs
from scipy.spatial.distance import cdist

from corners.numerics import LOG_2PI
from corners.types import Array


class NegativeLogLikelihood:
    """``-log N(y; 0, C)`` in total nats, ``C = a² exp(-‖x - x'‖²/2ℓ²) + σ²I``, with its slope in ``log (a², ℓ, σ²)``.

    The slope along θ is ``½ tr[(C⁻¹ - C⁻¹yyᵀC⁻¹) ∂C/∂θ]`` (Rasmussen and Williams 2006, equation 5.9). scikit-learn has
    it too, but solves for N unit vectors and holds three ``N x N`` slopes: at 2000 rows that takes three times as long.

    Example
    -------
    >>> value, slope = NegativeLogLikelihood(np.zeros((1, 1)), np.zeros(1))(np.zeros(3))
    >>> round(value - 0.5 * math.log(4.0 * math.pi), 12), slope.round(12).tolist()  # N(0; 0, 2)
    (0.0, [0.25, 0.0, 0.25])
    """

    def __init__(self, inputs: Float[Array, "N D"], targets: Float[Array, " N"]) -> None:
        self.squares, self.targets = cdist(inputs, inputs, "sqeuclidean"), targets
        self.factor, self.solve, self.invert = get_lapack_funcs(("potrf", "potrs", "potri"), (self.squares,))

    def __call__(self, theta: Float[Array, " 3"]) -> tuple[float, Float[Array, " 3"]]:
        """Value and slope; infinite and zero where rounding leaves ``C`` indefinite."""
        amplitude2, length_scale, noise_var = (math.exp(each) for each in theta)
        gram = amplitude2 * np.exp(self.squares * (-0.5 / length_scale**2))
        # Symmetric, so that its transpose is the Fortran-ordered copy that LAPACK may overwrite.
        root, indefinite = self.factor((gram + noise_var * np.eye(len(gram))).T, lower=1, clean=0, overwrite_a=1)
        if indefinite:
            return math.inf, np.zeros(3)
        solved = self.solve(root, self.targets, lower=1)[0].reshape(-1)
        value = 0.5 * self.targets @ solved + np.log(np.diag(root)).sum() + 0.5 * LOG_2PI * len(gram)
        inverse = np.tril(self.invert(root, lower=1, overwrite_c=1)[0])
        diagonal = np.diag(inverse).copy()

        def slope(of_gram: Float[Array, "N N"]) -> float:
            """``½ (tr C⁻¹G - yᵀC⁻¹GC⁻¹y)``; the trace from the lower half of both."""
            trace = 2.0 * np.vdot(inverse, of_gram) - diagonal @ np.diag(of_gram)
            return 0.5 * float(trace - solved @ of_gram @ solved)

        along_amplitude = slope(gram)
        gram *= self.squares / length_scale**2
        along_noise = 0.5 * noise_var * float(diagonal.sum() - solved @ solved)
        return float(value), np.array([along_amplitude, slope(gram), along_noise])
