"""Gaussian latent values inside a predictive: unlike a predictive variance, theirs may be zero."""

import numpy as np

from corners.errors import DataError
from corners.types import Array


def require_latent_moments(means: Array, variances: Array) -> tuple[Array, Array]:
    """Means and variances as float64 of one shape (N,), finite, variances not negative; ``DataError`` otherwise."""
    means, variances = np.asarray(means, np.float64), np.asarray(variances, np.float64)
    if means.ndim != 1 or means.shape != variances.shape or means.size == 0:
        raise DataError(
            f"latent means and variances must share one shape (N,) with at least one entry; "
            f"got {means.shape} and {variances.shape}"
        )
    good = np.isfinite(means) & np.isfinite(variances) & (variances >= 0.0)
    if not good.all():
        first = int(np.argmin(good))
        raise DataError(
            "latent means must be finite, latent variances finite and not negative; "
            f"{int((~good).sum())} of {good.size} points are not "
            f"(first at point {first}: {means[first]}, {variances[first]}); the fit diverged"
        )
    return means, variances
