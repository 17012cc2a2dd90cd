"""Entropy of class predictions, split into what more data could remove and what they could not."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.errors import DataError
from corners.types import Array, Float

SUM_TOLERANCE = 1e-6
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class EntropySplit:
    """Nats a data point: ``total = aleatoric + epistemic``, none of them negative."""

    total: Float[Array, " N"]
    aleatoric: Float[Array, " N"]
    epistemic: Float[Array, " N"]


def mean_parts(split: EntropySplit) -> tuple[float, float]:
    """Mean aleatoric and epistemic entropy over the points; an epistemic part that is rounding alone is zero.

    Example
    -------
    >>> import numpy as np
    >>> mean_parts(EntropySplit(np.ones(2), np.ones(2), np.array([0.0, 2e-17])))
    (1.0, 0.0)
    """
    epistemic = float(split.epistemic.mean())
    return float(split.aleatoric.mean()), epistemic if epistemic > ROUNDING else 0.0


def entropy_split(draws: Float[Array, "S N K"]) -> EntropySplit:
    """Split of the entropy of ``p̄_n = mean_s p_sn`` over draws of class probabilities.

    ``total = H(p̄_n)``, ``aleatoric = mean_s H(p_sn)``, and ``epistemic = mean_s KL(p_sn ‖ p̄_n)``, the mutual
    information of the class and the draw: zero if all draws agree, at most ``log S``. With few draws it is too small,
    and exactly zero with one.

    Reference: Depeweg, Hernández-Lobato, Doshi-Velez and Udluft (2018), Decomposition of uncertainty in Bayesian deep
    learning.

    Raises
    ------
    DataError : another shape than (S, N, K), a negative value, or probabilities that do not add to one (within 1e-6).

    Example
    -------
    >>> import numpy as np
    >>> split = entropy_split(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    >>> split.aleatoric.tolist(), bool(np.isclose(split.epistemic[0], np.log(2.0)))
    ([0.0], True)
    """
    require_draws(draws)
    draws = np.minimum(draws, 1.0)  # rounding may leave a probability of one an ulp above it: its entropy is zero
    mean = draws.mean(axis=0)
    aleatoric = special.entr(draws).sum(axis=-1).mean(axis=0)
    # Term by term p log(p/p̄) - p + p̄ ≥ 0: total minus aleatoric would lose every digit where the draws nearly agree.
    # A mean of zero has draws of zero, or of denormal numbers whose mean underflowed.
    divergence = np.where(mean > 0.0, np.maximum(special.kl_div(draws, mean), 0.0), 0.0)
    epistemic = divergence.sum(axis=-1).mean(axis=0)
    return EntropySplit(special.entr(mean).sum(axis=-1), aleatoric, epistemic)


def require_draws(draws: Array) -> None:
    """Refuse what are no class probabilities of shape (S, N, K), naming the first draw and point."""
    if draws.ndim != 3 or draws.size == 0:
        raise DataError(f"draws of class probabilities must have shape (S, N, K), none of them 0; got {draws.shape}")
    good = (draws >= 0.0).all(axis=-1) & (np.abs(draws.sum(axis=-1) - 1.0) <= SUM_TOLERANCE)
    if not good.all():
        draw, point = (int(i) for i in np.argwhere(~good)[0])
        raise DataError(
            f"class probabilities must lie in [0, 1] and add to 1; draw {draw} of point {point} is "
            f"{draws[draw, point].tolist()}: normalise them, or pass probabilities instead of logits"
        )
