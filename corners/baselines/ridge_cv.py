"""Ridge regression on the inputs; its penalty is chosen by validation NLL, its noise is that of the residuals."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corners.baselines._gaussian_head import GaussianHead
from corners.baselines._linear import LinearMethod, linear_head
from corners.data.standardiser import Standardiser
from corners.exact import NOISE_VAR_FLOOR, Evidence
from corners.exact.factorisation import mean_weights, residuals, shrink
from corners.method import METHODS, FitStatus
from corners.protocols import require_grid
from corners.selection import NOT_FINITE, best_candidate, choice_remarks

if TYPE_CHECKING:
    from corners.data.split import Split

GRID = tuple(float(f"{value:.12g}") for value in np.logspace(-3.0, 3.0, 10))
"""Ten penalties from 0.001 to 1000, evenly spaced in their logarithm."""


@METHODS.register("ridge_cv")
@dataclass(frozen=True)
class RidgeCv(LinearMethod):
    """``w = argmin ‖y - Xw‖² + λ ‖w‖²`` and ``N(wᵀx, σ²)``, a point: the variance is the noise alone.

    ``λ`` is the penalty: what scikit-learn's ``Ridge`` calls alpha. It is ``λ = α σ²`` with the prior precision ``α``
    of ``w ~ N(0, I/α)``: a penalty here is not one of ``map``, whose penalty is ``α`` itself. ``σ²`` is the maximum
    likelihood estimate given ``w``, the mean square of the training residuals: divided by N, not by N - D.

    Parameters
    ----------
    penalty_grid : the λ that validation NLL chooses from; one alone is a fixed ridge, ``(1.0,)`` the usual one.

    Reference: Hoerl and Kennard (1970), Ridge regression: biased estimation for nonorthogonal problems; theory 8.

    Example
    -------
    >>> len(RidgeCv().penalty_grid), RidgeCv().penalty_grid[0], RidgeCv().penalty_grid[-1]
    (10, 0.001, 1000.0)
    """

    name: str = "ridge_cv"
    penalty_grid: tuple[float, ...] = GRID

    def __post_init__(self) -> None:
        require_grid("penalty_grid", self.penalty_grid, positive=True)

    def _fit_one(
        self, evidence: Evidence, standardiser: Standardiser, split: "Split"
    ) -> tuple[GaussianHead | None, FitStatus]:
        heads = [_ridge(evidence, standardiser, penalty) for penalty in self.penalty_grid]
        scores = np.array([_validation_nll(head, split) for head in heads])
        best = best_candidate(scores)
        if best is None:
            return None, FitStatus("failed", NOT_FINITE)
        remarks = choice_remarks([{"penalty": penalty} for penalty in self.penalty_grid], scores, best)
        if heads[best].noise_var == NOISE_VAR_FLOOR:
            remarks += ("noise variance is at its floor: the line interpolates the training targets",)
        learned = {**heads[best].learned, "validation_nll": float(scores[best])}
        return replace(heads[best], learned=learned), FitStatus("exact", remarks=remarks)


def _ridge(evidence: Evidence, standardiser: Standardiser, penalty: float) -> GaussianHead:
    """The point at one penalty, as a belief without spread."""
    factorisation = evidence.factorisation
    shrinkage = shrink(factorisation, penalty)
    mean = mean_weights(factorisation, shrinkage)
    noise_var = max(float(np.mean(residuals(factorisation, shrinkage) ** 2)), NOISE_VAR_FLOOR)
    learned = {"penalty": penalty, "prior_precision": penalty / noise_var}
    return linear_head(standardiser, mean, np.zeros((len(mean), len(mean))), noise_var, learned)


def _validation_nll(head: GaussianHead, split: "Split") -> float:
    """Mean NLL of the validation part, nats a point in original units."""
    part, scale = split.validation, head.standardiser
    errors = scale.targets(part.targets) - scale.inputs(part.inputs) @ head.mean.numpy()
    nll = 0.5 * (math.log(2.0 * math.pi * head.noise_var) + np.mean(errors**2) / head.noise_var)
    return float(nll) + scale.log_scale
