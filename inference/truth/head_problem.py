"""What is sampled under a head that is not Gaussian noise: data, offset, prior and the head itself. Checked here."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.errors import DataError, SpecError
from inference.truth.heads._base import Head
from inference.truth.priors import Hyperpriors, Prior
from inference.truth.problem import checked_data, number_or_density
from inference.types import Array, Float


@dataclass(frozen=True, eq=False)
class HeadProblem:
    r"""$y_n\sim p(y\mid f_n)$, $f_n=w^\top\psi_n+o_n$, $w\sim N(0,\alpha^{-1}I)$ (theory 1, 6).

    Attributes
    ----------
    features, targets : the data, float64 and finite; labels and counts as whole numbers.
    offset : $o_n$, known, zero unless there is an exposure or the like.
    prior_precision : $\alpha$ as a number or a density.
    head : the likelihood, its parameters numbers or densities.
    """

    features: Float[Array, "N H"]
    targets: Float[Array, " N"]
    offset: Float[Array, " N"]
    prior_precision: float | Prior
    head: Head

    def hyperparameters(self) -> dict[str, float | Prior]:
        """``prior_precision`` and the head's parameters, in the order of the sampler's coordinates."""
        return {"prior_precision": self.prior_precision, **self.head.parameters()}

    def fingerprint(self) -> str:
        """The sha256 of shape and bytes of features, targets and, unless it is zero, offset."""
        digest = hashlib.sha256(repr(self.features.shape).encode())
        arrays = [self.features, self.targets, *([self.offset] if self.offset.any() else [])]
        for array in arrays:
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The hyperparameters as numbers or densities, ready for JSON."""
        return {n: v.as_dict() if isinstance(v, Prior) else float(v) for n, v in self.hyperparameters().items()}


def head_problem(
    features: Any,
    targets: Any,
    head: Head,
    *,
    offset: Any = None,
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors | None = None,
) -> HeadProblem:
    """Check the arguments and gather them.

    Raises
    ------
    DataError : shapes that do not fit, not finite, targets that are none of this head.
    SpecError : a noise scale (the head has its own parameters), a precision given twice or not at all.
    """
    if noise_scale is not None or (hyperpriors is not None and hyperpriors.noise_prior is not None):
        raise SpecError(
            f"noise_scale belongs to Gaussian noise; the parameters of {type(head).__name__} stand in the head itself, "
            "as numbers or densities"
        )
    matrix, vector = checked_data(features, targets)
    head.check_targets(vector)
    density = hyperpriors.prior_precision if hyperpriors else None
    return HeadProblem(
        features=matrix,
        targets=vector,
        offset=checked_offset(offset, len(vector)),
        prior_precision=number_or_density("prior_precision", prior_precision, density),
        head=head,
    )


def checked_offset(offset: Any, count: int) -> Float[Array, " N"]:
    """The offset as (N,) float64; zeros for None."""
    if offset is None:
        return np.zeros(count)
    vector = np.asarray(offset, dtype=np.float64)
    if vector.shape != (count,) or not np.isfinite(vector).all():
        raise DataError(f"offset must be finite with shape ({count},), one number a point; got shape {vector.shape}")
    return np.ascontiguousarray(vector)
