"""Bayesian linear regression on the inputs; prior precision and noise by type-II maximum likelihood, exactly."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corners.baselines._gaussian_head import GaussianHead
from corners.baselines._linear import LinearMethod, linear_head
from corners.data.standardiser import Standardiser
from corners.exact import Evidence
from corners.method import METHODS, FitStatus

if TYPE_CHECKING:
    from corners.data.split import Split


@METHODS.register("ridge_eb")
@dataclass(frozen=True)
class RidgeEb(LinearMethod):
    """``N(wᵀx; μ*ᵀx, xᵀΣ*x + σ²)`` with the ``α`` and ``σ`` of ``w ~ N(0, I/α)`` where the evidence is highest.

    ``μ*`` is the ridge solution at the penalty ``λ = α σ²``, which ``learned`` calls ``penalty`` as ``ridge_cv`` does;
    ``prior_precision`` is ``α``, in the units trained in. Where no finite α has a higher evidence than a mean of zero,
    the model is that of noise alone: it says so and has no prior precision or penalty. Validation plays no part.

    Reference: theory 3.7 (:meth:`corners.exact.Evidence.maximise`); MacKay (1992), Bayesian interpolation.

    Example
    -------
    >>> RidgeEb().name
    'ridge_eb'
    """

    name: str = "ridge_eb"

    def _fit_one(
        self, evidence: Evidence, standardiser: Standardiser, split: "Split"
    ) -> tuple[GaussianHead | None, FitStatus]:
        best = evidence.maximise()
        belief = evidence.posterior(best.prior_precision, best.noise_scale)
        learned = {"effective_dimension": best.effective_dimension}
        if math.isfinite(best.prior_precision):
            learned |= {"prior_precision": best.prior_precision, "penalty": best.prior_precision * best.noise_var}
        head = linear_head(standardiser, belief.mean, belief.covariance, best.noise_var, learned)
        detail = best.status.removeprefix("converged: ")
        return head, FitStatus("converged" if best.converged else "unfinished", detail)
