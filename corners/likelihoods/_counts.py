"""What the count heads share: which targets are counts, how exposure enters, and their predictive."""

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Params
from corners.errors import DataError
from corners.likelihoods._base import require_codes
from corners.likelihoods._quadrature import QuadratureLikelihood
from corners.predictive.count import CountPredictive
from corners.types import Array


def require_counts(targets: Float[Tensor, "B N"]) -> None:
    """Refuse targets that are not 0, 1, 2, ... with the first offender."""
    good = targets.isfinite() & (targets >= 0.0) & (targets == targets.floor())
    if not good.all():
        first = tuple(int(i) for i in (~good).nonzero()[0])
        raise DataError(
            f"counts must be whole numbers 0, 1, 2, ...; {int((~good).sum())} of {targets.numel()} are not (first in "
            f"row {first[-1]}: {float(targets[first]):g}); rates belong to an exposure, real numbers to 'gaussian'"
        )


def with_exposure(marginals: Marginals, exposure: Float[Tensor, "*B N"]) -> Marginals:
    """Marginals of ``f_n + log e_n``: the count of a datum seen for exposure ``e_n`` has mean ``e_n exp(f_n)``.

    An exposure (time at risk, area, population) differs from datum to datum, so it is no parameter of the likelihood:
    shift the marginals by it before they meet ``log_partition``, ``expected_log_prob`` or ``predictive``.

    Raises
    ------
    DataError : an exposure is zero, negative or not finite; a datum that was never exposed says nothing: drop its row.

    Example
    -------
    >>> import torch
    >>> marginals = Marginals(torch.zeros(1), torch.ones(1))
    >>> with_exposure(marginals, torch.ones(1)).mean.tolist()
    [0.0]
    """
    good = exposure.isfinite() & (exposure > 0.0)
    if not good.all():
        first = tuple(int(i) for i in (~good).nonzero()[0])
        raise DataError(
            f"exposures must be positive and finite; {int((~good).sum())} of {exposure.numel()} are not (first in row "
            f"{first[-1]}: {float(exposure[first]):g}); a datum that was never exposed says nothing: drop its row"
        )
    return Marginals(marginals.mean + exposure.log(), marginals.variance)


def count_predictive(
    likelihood: QuadratureLikelihood,
    params: Params,
    marginals: Marginals,
    target_mean: float,
    target_scale: float,
    size: float,
) -> CountPredictive:
    """The predictive whose log probabilities are the likelihood's own ``log_partition``."""
    require_codes(likelihood.name, target_mean, target_scale)
    at = Marginals(marginals.mean.detach().double(), marginals.variance.detach().double())
    own = {name: value.detach().double() for name, value in params.items()}

    def log_pmf(counts: Array) -> Array:
        return likelihood.log_partition(own, torch.tensor(counts, dtype=torch.float64), at).numpy()

    return CountPredictive(at.mean.numpy(), at.variance.numpy(), log_pmf, size)
