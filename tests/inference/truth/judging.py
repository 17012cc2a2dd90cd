"""Draws against an exact reference, in Monte Carlo standard errors (theory 10.3)."""

import numpy as np


def assert_moments(reference, mean, cov):
    """Means within 4.5 sd/sqrt(ESS_mean), sds within 4.5/sqrt(2 ESS_sd), covariance within three of its units."""
    draws, sd = reference.flat(), np.sqrt(np.diag(cov))
    z_mean = (reference.mean() - mean) / sd * np.sqrt(reference.ess_mean)
    z_sd = (draws.std(axis=0, ddof=1) / sd - 1.0) * np.sqrt(2.0 * reference.ess_sd)
    assert np.abs(z_mean).max() <= 4.5, f"means off by {z_mean} standard errors"
    assert np.abs(z_sd).max() <= 4.5, f"standard deviations off by {z_sd} standard errors"
    assert whitened_error(reference, mean, cov) <= 3.0


def whitened_error(reference, mean, cov):
    """Frobenius error of the covariance of L^-1 (w - mean), in units of sqrt(H (H+1) / min ESS of the sds)."""
    size = len(mean)
    whitened = np.linalg.solve(np.linalg.cholesky(cov), (reference.flat() - mean).T)
    unit = np.sqrt(size * (size + 1) / reference.ess_sd.min())
    return np.linalg.norm(np.cov(whitened) - np.eye(size)) / unit


def assert_log_moments(reference, mean_log, sd_log):
    """The same for the logarithms of the sampled hyperparameters."""
    diagnostics, size = reference.diagnostics, reference.weights.shape[2]
    for i, name in enumerate(("prior_precision", "noise_scale")):
        logs = np.log(reference.hyperparameters[name])
        z_mean = (logs.mean() - mean_log[i]) / sd_log[i] * np.sqrt(diagnostics.ess_mean[size + i])
        z_sd = (logs.std(ddof=1) / sd_log[i] - 1.0) * np.sqrt(2.0 * diagnostics.ess_sd[size + i])
        assert abs(z_mean) <= 4.5, f"mean of log {name} off by {z_mean} standard errors"
        assert abs(z_sd) <= 4.5, f"sd of log {name} off by {z_sd} standard errors"
