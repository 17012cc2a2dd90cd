"""Fixed features, one factorisation: every closed quantity in microseconds per pair of hyperparameters."""

import math
from functools import cached_property
from typing import NamedTuple

from numpy.typing import ArrayLike

from corners.exact import spectral
from corners.exact._inputs import as_new_features, as_problem, one_of, positive
from corners.exact.empirical_bayes import NOISE_VAR_FLOOR, EmpiricalBayes, maximise_evidence
from corners.exact.factorisation import Factorisation, factorise, mean_weights, shrink
from corners.exact.gradients import ClosedGradient, HyperGradient
from corners.exact.leave_one_out import LeaveOneOut, spectral_leave_one_out, spectral_leave_one_out_gradient
from corners.exact.leave_one_out_fit import LeaveOneOutFit, maximise_leave_one_out
from corners.exact.sequential import Sequential, sequential_predictives
from corners.exact.shared_closed import FAMILIES
from corners.exact.shared_closed_dense import SharedClosed, spectral_shared_closed, spectral_shared_closed_gradient
from corners.exact.shared_closed_restricted import restricted_shared_closed, restricted_shared_closed_gradient
from corners.types import Array, Float


class Posterior(NamedTuple):
    """``N(μ*, Σ*)`` of the weights."""

    mean: Float[Array, " H"]
    covariance: Float[Array, "H H"]


class PredictiveMoments(NamedTuple):
    """Means and variances of the target at new inputs, noise included."""

    means: Float[Array, " M"]
    variances: Float[Array, " M"]


class Evidence:
    """A Gaussian last layer with fixed features: evidence, posterior, cells and their gradients.

    ``y = Ψw + e``, ``w ~ N(0, I/α)``, ``e ~ N(0, σ²I)``. The singular value decomposition is made at first use and
    kept; every value below then costs ``O(k)`` to ``O(NH)`` with ``k = min(N, H)``. All results are float64 (float32
    is promoted) and every total is in nats; ``prior_precision`` is ``α`` (infinity is the null model where it is
    admitted), ``noise_scale`` the standard deviation ``σ``.

    Parameters
    ----------
    features : ``(N, H)``. targets : ``(N,)`` or ``(N, 1)``.

    Raises
    ------
    DataError : shapes that do not go together, NaN or infinity (with its row and column).
    SpecError : from the methods, for hyperparameters that are not positive.

    Reference: theory 1, 3.1.

    Example
    -------
    >>> e = Evidence([[1.0], [1.0]], [1.0, 3.0])
    >>> e.posterior(prior_precision=1.0, noise_scale=1.0).mean.round(12).tolist()  # (1 + 3)/(2 + 1)
    [1.333333333333]
    """

    def __init__(self, features: Float[Array, "N H"] | ArrayLike, targets: Float[Array, " N"] | ArrayLike) -> None:
        self.features, self.targets = (array.copy() for array in as_problem(features, targets))
        for array in (self.features, self.targets):
            array.flags.writeable = False  # the factorisation is kept: what it was made of must not change

    @cached_property
    def factorisation(self) -> Factorisation:
        """Thin singular value decomposition with the targets projected on it."""
        return factorise(self.features, self.targets)

    def log_evidence(self, prior_precision: float, noise_scale: float) -> float:
        """Log evidence ``log Z = log N(y; 0, σ²I + ΨΨᵀ/α)``, total nats; ``O(k)`` once factorised (theory 3.1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        return spectral.spectral_log_evidence(self.factorisation, precision, noise_var)

    def gradient(self, prior_precision: float, noise_scale: float) -> HyperGradient:
        """Gradient of :meth:`log_evidence` with respect to ``log α`` and ``log σ²`` (theory 3.1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        return spectral.spectral_gradient(self.factorisation, precision, noise_var)

    def value_and_gradient(self, prior_precision: float, noise_scale: float) -> tuple[float, HyperGradient]:
        """:meth:`log_evidence` and :meth:`gradient` together."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        value = spectral.spectral_log_evidence(self.factorisation, precision, noise_var)
        return value, spectral.spectral_gradient(self.factorisation, precision, noise_var)

    def feature_gradient(self, prior_precision: float, noise_scale: float) -> Float[Array, "N H"]:
        """``∂ log Z/∂Ψ = σ⁻²(r*μ*ᵀ − ΨΣ*)``; the decomposition itself is not differentiated (theory 3.1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        return spectral.spectral_feature_gradient(self.factorisation, precision, noise_var)

    def posterior(self, prior_precision: float, noise_scale: float) -> Posterior:
        """``Σ* = (αI + ΨᵀΨ/σ²)⁻¹``, ``μ* = Σ*Ψᵀy/σ²``; the null model gives zeros (theory 1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        mean = mean_weights(self.factorisation, shrink(self.factorisation, precision * noise_var))
        return Posterior(mean, spectral.posterior_covariance(self.factorisation, precision, noise_var))

    def predict(
        self, new_features: Float[Array, "M H"] | ArrayLike, prior_precision: float, noise_scale: float
    ) -> PredictiveMoments:
        """Predictive mean ``ψᵀμ*`` and variance ``σ² + ψᵀΣ*ψ`` of the target; no ``H × H`` matrix (theory 3.1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        rows = as_new_features(new_features, self.features.shape[1])
        mean = mean_weights(self.factorisation, shrink(self.factorisation, precision * noise_var))
        latent = spectral.latent_variances(self.factorisation, rows, precision, noise_var)
        return PredictiveMoments(rows @ mean, noise_var + latent)

    def leverage(self, prior_precision: float, noise_scale: float) -> Float[Array, " N"]:
        """``hₙ = ψₙᵀΣ*ψₙ/σ²`` in ``[0, 1)`` (theory 1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        return self.factorisation.left2 @ shrink(self.factorisation, precision * noise_var).kept

    def effective_dimension(self, prior_precision: float, noise_scale: float) -> float:
        """``γ = Σ s²/(s² + ασ²) = Σ hₙ`` (theory 3.1)."""
        precision, noise_var = _checked(prior_precision, noise_scale, infinite=True)
        return float(shrink(self.factorisation, precision * noise_var).kept.sum())

    def profile_noise_scale(self, ridge: float) -> float:
        """The ``σ`` that maximises the evidence at a fixed ridge: ``σ̂² = (‖r*‖² + λ‖μ*‖²)/N`` (theory 3.1)."""
        return math.sqrt(spectral.profile_noise_var(self.factorisation, positive("ridge", ridge)))

    def sequential(
        self,
        prior_precision: float,
        noise_scale: float,
        *,
        order: ArrayLike | None = None,
        method: str = "auto",
        block_size: int | None = None,
    ) -> Sequential:
        """Sequential predictives in any order, see :func:`~corners.exact.sequential.sequential_predictives`."""
        return sequential_predictives(
            self.features,
            self.targets,
            prior_precision,
            noise_scale,
            order=order,
            method=method,
            block_size=block_size,
        )

    def leave_one_out(self, prior_precision: float, noise_scale: float) -> LeaveOneOut:
        """Leave-one-out predictives, terms and total without refitting (theory 3.3)."""
        return spectral_leave_one_out(self.factorisation, self.targets, *_checked(prior_precision, noise_scale))

    def leave_one_out_gradient(self, prior_precision: float, noise_scale: float) -> ClosedGradient:
        """Gradient of the leave-one-out total (minimised) over ``log α``, ``log σ²`` and the features (theory 3.3)."""
        return spectral_leave_one_out_gradient(
            self.factorisation, self.targets, *_checked(prior_precision, noise_scale)
        )

    def shared_closed(self, prior_precision: float, noise_scale: float, *, family: str = "dense") -> SharedClosed:
        """Terms of the shared, closed cell, see :func:`~corners.exact.shared_closed.shared_closed_terms`."""
        checked = _checked(prior_precision, noise_scale)
        if one_of("family", family, FAMILIES) == "dense":
            return spectral_shared_closed(self.factorisation, self.targets, *checked)
        return restricted_shared_closed(self.factorisation, self.features, self.targets, *checked, family)

    def shared_closed_gradient(
        self, prior_precision: float, noise_scale: float, *, family: str = "dense"
    ) -> ClosedGradient:
        """Gradient of the shared, closed total (minimised) over ``log α``, ``log σ²`` and the features (theory 3.4)."""
        checked = _checked(prior_precision, noise_scale)
        if one_of("family", family, FAMILIES) == "dense":
            return spectral_shared_closed_gradient(self.factorisation, *checked)
        return restricted_shared_closed_gradient(self.factorisation, self.features, *checked, family)

    def maximise(
        self,
        *,
        noise_scale: float | None = None,
        noise_var_floor: float = NOISE_VAR_FLOOR,
        max_steps: int = 20_000,
    ) -> EmpiricalBayes:
        """Hyperparameters of type-II maximum likelihood; a given ``noise_scale`` is held fixed (theory 3.7)."""
        noise_var = None if noise_scale is None else positive("noise_scale", noise_scale) ** 2
        floor = positive("noise_var_floor", noise_var_floor)
        return maximise_evidence(self.factorisation, noise_var=noise_var, noise_var_floor=floor, max_steps=max_steps)

    def maximise_leave_one_out(self, *, noise_var_floor: float = NOISE_VAR_FLOOR) -> LeaveOneOutFit:
        """Hyperparameters that minimise the leave-one-out total (theory 3.3)."""
        floor = positive("noise_var_floor", noise_var_floor)
        return maximise_leave_one_out(self.factorisation, noise_var_floor=floor)


def _checked(prior_precision: float, noise_scale: float, *, infinite: bool = False) -> tuple[float, float]:
    """``(α, σ²)``."""
    return positive("prior_precision", prior_precision, infinite=infinite), positive("noise_scale", noise_scale) ** 2
