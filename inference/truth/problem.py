"""What is sampled: features, targets, and for each hyperparameter either a number or a density. Checked once, here."""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.errors import DataError, SpecError
from inference.truth.priors import Hyperpriors, Prior
from inference.types import Array, Float


@dataclass(frozen=True, eq=False)
class LastLayerProblem:
    r"""$y_n\sim N(w^\top\psi_n,\sigma^2)$, $w\sim N(0,\alpha^{-1}I)$ (theory 1), $\alpha$ and $\sigma$ known or not.

    Attributes
    ----------
    features, targets : the data, float64 and finite.
    prior_precision : $\alpha$ as a number or as a density of the precision.
    noise : $\sigma$ as a number, or a density of the variable that ``noise_is_var`` names.
    noise_is_var : the noise density is one of the variance, not of the standard deviation.
    """

    features: Float[Array, "N H"]
    targets: Float[Array, " N"]
    prior_precision: float | Prior
    noise: float | Prior
    noise_is_var: bool

    @property
    def hyperparameters_known(self) -> bool:
        """Both hyperparameters are numbers."""
        return not isinstance(self.prior_precision, Prior) and not isinstance(self.noise, Prior)

    def fingerprint(self) -> str:
        """The sha256 of shape and bytes of features and targets."""
        digest = hashlib.sha256(repr(self.features.shape).encode())
        for array in (self.features, self.targets):
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The hyperparameters as numbers or densities, ready for JSON."""
        noise = "noise_var" if self.noise_is_var else "noise_scale"
        given = {"prior_precision": self.prior_precision, noise: self.noise}
        return {name: v.as_dict() if isinstance(v, Prior) else v for name, v in given.items()}


def last_layer_problem(
    features: Any,
    targets: Any,
    *,
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors | None = None,
) -> LastLayerProblem:
    """Check the arguments and gather them; each hyperparameter must come as a number or as a density, never as both."""
    matrix, vector = checked_data(features, targets)
    priors = hyperpriors.as_dict().keys() if hyperpriors else set()
    noise_prior = hyperpriors.noise_prior if hyperpriors else None
    precision_prior = hyperpriors.prior_precision if hyperpriors else None
    return LastLayerProblem(
        features=matrix,
        targets=vector,
        prior_precision=number_or_density("prior_precision", prior_precision, precision_prior),
        noise=number_or_density("noise_scale", noise_scale, noise_prior),
        noise_is_var="noise_var" in priors,
    )


def checked_data(features: Any, targets: Any) -> tuple[Float[Array, "N H"], Float[Array, " N"]]:
    """Features as (N, H) and targets as (N,) in float64; ``(N, 1)`` targets are accepted, anything else is refused."""
    matrix = np.ascontiguousarray(_as_float("features", features))
    vector = _as_float("targets", targets)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if matrix.ndim != 2 or vector.ndim != 1 or len(matrix) != len(vector) or matrix.size == 0:
        raise DataError(
            "features must have shape (N, H) with N, H >= 1 and targets (N,) or (N, 1), "
            f"but got {np.shape(features)} and {np.shape(targets)}"
        )
    _refuse_non_finite("features", matrix)
    _refuse_non_finite("targets", vector)
    return matrix, np.ascontiguousarray(vector)


def _as_float(name: str, values: Any) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers, but they cannot be read as float64: {error}") from error


def _refuse_non_finite(name: str, array: Array) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row = bad[0][0]
        place = f"row {row}" if array.ndim == 1 else f"row {row}, column {bad[0][1]}"
        value = array[tuple(bad[0])]
        raise DataError(
            f"{name} must be finite, but {len(bad)} are not (first {value} in {place}); drop or impute them"
        )


def number_or_density(name: str, number: float | None, density: Prior | None) -> float | Prior:
    """Whichever was given; exactly one must be."""
    if (number is None) == (density is None):
        given = "both" if density is not None else "neither"
        raise SpecError(
            f"{name} needs either a number or a density in hyperpriors, but {given} was given; "
            f"pass {name}=... to fix it, or hyperpriors=Hyperpriors(...) to infer it"
        )
    if number is None or density is not None:
        assert density is not None
        return density
    if not (math.isfinite(number) and number > 0):
        raise SpecError(f"{name} must be finite and positive but got {number}")
    return float(number)
