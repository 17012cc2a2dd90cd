"""Sequential predictives of the closed cell: plates scored by the posterior of those before (theory 3.2)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import SpecError
from corners.exact._inputs import as_order, as_problem, one_of, positive
from corners.exact.cholesky_form import log_evidence_of
from corners.exact.sequential_forms import METHODS, Scaled, default_block_size, scaled_predictives
from corners.numerics import LOG_2PI
from corners.types import Array, Float, Int

AGREEMENT = 1e-8
"""Largest relative disagreement allowed between the sum of the terms and the evidence of theory 3.1."""


@dataclass(frozen=True, eq=False)
class Sequential:
    """Predictives in visiting order.

    ``means`` and ``variances`` are of ``y`` given the plates visited before (noise included), ``terms`` their ``−log
    p`` in nats. ``method`` is the form that computed them, ``disagreement`` its relative distance from the evidence of
    theory 3.1, and ``note`` says in a sentence when another form than the one asked for had to be used (empty
    otherwise).
    """

    order: Int[Array, " N"] | None
    means: Float[Array, " N"]
    variances: Float[Array, " N"]
    terms: Float[Array, " N"]
    method: str
    disagreement: float
    note: str = ""

    @property
    def total(self) -> float:
        """``F_seq = −log Z``, the same for every order, nats."""
        return float(self.terms.sum())

    def block_terms(self, sizes: int | list[int]) -> Float[Array, " B"]:
        """``−log p(y_b | blocks before)`` of consecutive blocks; an integer cuts blocks of that size.

        A block's term is the sum of its plates' terms: the chain rule, exact for every partition.
        """
        count = len(self.terms)
        cuts = list(range(0, count, sizes)) if isinstance(sizes, int) else [0, *np.cumsum(sizes)[:-1].tolist()]
        if not isinstance(sizes, int) and (sum(sizes) != count or min(sizes) < 1):
            raise SpecError(f"block sizes must be positive and add up to {count}; got {sizes}")
        return np.add.reduceat(self.terms, cuts)


def sequential_predictives(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
    *,
    order: Int[Array, " N"] | ArrayLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
) -> Sequential:
    """All sequential predictives ``p(y_(j) | y_(1..j−1))``, in any order.

    ``method`` names a form; all give the same numbers in exact arithmetic:

    - ``"block"``: the precision ``λI + ΨᵀΨ`` grows block by block, the Cholesky factor of a block's marginal
      covariance holds its predictives (``V = L²_jj``, ``m = y − L_jj u_j``, ``u = L⁻¹e``). ``O(NH²)`` in matrix
      products.
    - ``"cholesky"``: the same with one block, the factor of ``σ²I + ΨΨᵀ/α``. ``O(N³)``.
    - ``"rank_one"``: the covariance is downdated plate by plate. ``O(NH²)`` in matrix-vector products.
    - ``"square_root"``: blocks with orthogonal updates of the factor; no product of features is ever formed, so it
      keeps its digits where ``ασ²`` is far below the squared singular values. Slower.
    - ``"auto"``: ``"block"`` (``"cholesky"`` where one block holds all plates), and where its sum disagrees with
      theory 3.1 by more than 1e-8 relative, ``"square_root"``; ``method`` and ``note`` of the result say so.

    A named method is used as named; its ``disagreement`` is in the result.

    Raises
    ------
    SpecError : ``order`` is no permutation, unknown ``method``, ``block_size < 1``.

    Reference: theory 3.2.

    Example
    -------
    >>> steps = sequential_predictives([[1.0], [1.0]], [2.0, 4.0], prior_precision=1.0, noise_scale=1.0)
    >>> steps.means.round(12).tolist(), steps.variances.round(12).tolist()  # N(0, 1+1), then N(2/2, 1+1/2)
    ([0.0, 1.0], [2.0, 1.5])
    """
    matrix, vector = as_problem(features, targets)
    precision, scale = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale)
    visiting = as_order(order, len(vector))
    if visiting is not None:
        matrix, vector = matrix[visiting], vector[visiting]
    size = default_block_size(matrix.shape[1]) if block_size is None else block_size
    if size < 1:
        raise SpecError(f"block_size must be at least 1; got {block_size}")
    wanted = one_of("method", method, ("auto", *METHODS))
    first = wanted if wanted != "auto" else ("block" if len(vector) > size else "cholesky")
    evidence = log_evidence_of(matrix, vector, precision, scale**2)
    problem = (matrix, vector, precision * scale**2, size)
    result = _scored(scaled_predictives(first, *problem), vector, scale, evidence, visiting, first)
    if wanted != "auto" or result.disagreement <= AGREEMENT:
        return result
    note = (
        f"the {first} form disagreed with the evidence by {result.disagreement:.1e} relative (the ridge ασ² "
        "is far below the squared singular values of the features); these numbers come from the square-root form"
    )
    return _scored(scaled_predictives("square_root", *problem), vector, scale, evidence, visiting, "square_root", note)


def _scored(
    scaled: Scaled,
    targets: Float[Array, " N"],
    noise_scale: float,
    evidence: float,
    order: Int[Array, " N"] | None,
    method: str,
    note: str = "",
) -> Sequential:
    """Back from units of the noise: variances, terms and the cross-check."""
    ratios, errors = scaled
    quadratic = errors / ratios
    quadratic *= errors
    quadratic /= noise_scale**2
    terms = np.log(ratios)
    terms += quadratic
    terms += LOG_2PI + 2.0 * math.log(noise_scale)
    terms *= 0.5
    total = float(terms.sum())
    gap = abs(total + evidence) / max(abs(evidence), 1.0)
    disagreement = gap if math.isfinite(gap) else math.inf
    return Sequential(order, targets - errors, noise_scale**2 * ratios, terms, method, disagreement, note)
