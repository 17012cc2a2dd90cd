"""Dense truth about a Gaussian last layer, written from the definition: no factorisation is shared with the package."""

from dataclasses import dataclass

import numpy as np
from scipy import integrate
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from inference.truth.priors import Hyperpriors


def posterior(features, targets, precision, scale):
    """Mean and covariance of the weights at fixed hyperparameters (theory 1)."""
    covariance = np.linalg.inv(precision * np.eye(features.shape[1]) + features.T @ features / scale**2)
    return covariance @ features.T @ targets / scale**2, covariance


def log_evidence(features, targets, precision, scale):
    """The density of the targets with the weights integrated out (theory 3.1, dense form)."""
    marginal = scale**2 * np.eye(len(targets)) + features @ features.T / precision
    return float(multivariate_normal(np.zeros(len(targets)), marginal).logpdf(targets))


def log_joint(features, targets, weights, precision, scale):
    """log p(y | w) + log p(w)."""
    likelihood = norm.logpdf(targets, features @ weights, scale).sum()
    return float(likelihood + norm.logpdf(weights, 0.0, precision**-0.5).sum())


def log_prior(hyperpriors: Hyperpriors, precision, scale):
    """Log density of the unconstrained coordinates: densities times the Jacobians of the logarithms."""
    total = 0.0
    if hyperpriors.prior_precision is not None:
        total += hyperpriors.prior_precision.log_density(precision) + np.log(precision)
    if hyperpriors.noise_scale is not None:
        total += hyperpriors.noise_scale.log_density(scale) + np.log(scale)
    if hyperpriors.noise_var is not None:
        total += hyperpriors.noise_var.log_density(scale**2) + np.log(scale**2)
    return float(total)


@dataclass(frozen=True)
class Quadrature:
    """Moments over a fine grid of (log precision, log scale): theory 10.2."""

    log_evidence: float
    mean_log: np.ndarray
    sd_log: np.ndarray
    mean_weights: np.ndarray
    cov_weights: np.ndarray


def quadrature(features, targets, hyperpriors: Hyperpriors, precision_range, scale_range, points=81) -> Quadrature:
    """Simpson's rule in both logarithms; the ranges must hold all of the mass."""
    log_a, log_s = np.linspace(*np.log(precision_range), points), np.linspace(*np.log(scale_range), points)
    weight = np.ones(points)
    weight[1:-1:2], weight[2:-1:2] = 4.0, 2.0
    cells = np.log(weight)[:, None] + np.log(weight) + 2.0 * np.log(1.0 / 3.0)
    cells = cells + np.log(log_a[1] - log_a[0]) + np.log(log_s[1] - log_s[0])
    log_values, means, covs = np.empty((points, points)), {}, {}
    for i, a in enumerate(np.exp(log_a)):
        for j, s in enumerate(np.exp(log_s)):
            # of log variance where the density is one of the variance
            log_values[i, j] = log_evidence(features, targets, a, s) + log_prior(hyperpriors, a, s)
            means[i, j], covs[i, j] = posterior(features, targets, a, s)
    if hyperpriors.noise_var is not None:
        log_values += np.log(2.0)  # d log variance = 2 d log scale
    log_mass = log_values + cells
    total = logsumexp(log_mass)
    mass = np.exp(log_mass - total)
    grid = np.stack(np.meshgrid(log_a, log_s, indexing="ij"))
    mean_log = (grid * mass).sum(axis=(1, 2))
    sd_log = np.sqrt((grid**2 * mass).sum(axis=(1, 2)) - mean_log**2)
    mean = sum(mass[key] * value for key, value in means.items())
    second = sum(mass[key] * (covs[key] + np.outer(value, value)) for key, value in means.items())
    return Quadrature(float(total), mean_log, sd_log, mean, second - np.outer(mean, mean))


def integral_of(density, lower, upper):
    """One-dimensional integral of exp(log density)."""
    return integrate.quad(lambda x: np.exp(density(x)), lower, upper, limit=200)[0]
