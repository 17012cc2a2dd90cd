"""Exact posterior under hyperpriors by quadrature over the evidence: the reference of NUTS (theory 10.2)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corners.errors import SpecError
from corners.exact.evidence import Evidence
from corners.exact.factorisation import Factorisation
from corners.numerics import LOG_2PI
from corners.types import Array, Float

LogPrior = Callable[[float, float], float]
ZOOM_POINTS = 41
NEGLIGIBLE = -32.0
"""Log density below the mode at which the grid is cut: what lies beyond is under 1e-13 of the mass per cell."""


@dataclass(frozen=True, eq=False)
class HyperPosterior:
    """Moments of ``log α``, ``log σ`` and the weights with the hyperparameters integrated out; nats."""

    mean_log_prior_precision: float
    sd_log_prior_precision: float
    mean_log_noise_scale: float
    sd_log_noise_scale: float
    mean_weights: Float[Array, " H"]
    covariance_weights: Float[Array, "H H"]
    log_evidence: float


def integrate_hyperparameters(
    evidence: Evidence,
    log_prior: LogPrior,
    *,
    points: int = 81,
    box: tuple[tuple[float, float], tuple[float, float]] = ((-20.0, 20.0), (-14.0, 14.0)),
) -> HyperPosterior:
    """``∫ p(y|α,σ) p(α,σ) dα dσ`` by the trapezoid rule over ``(log α, log σ)``.

    For a smooth peak that fits the grid it converges geometrically.

    Parameters
    ----------
    log_prior : ``(log α, log σ) ↦ log p(log α, log σ)``, normalised, the Jacobian ``ασ`` of densities in ``α`` and
        ``σ`` included.
    points : nodes along each axis, laid over the part of ``box`` where the density exceeds e⁻³² of its mode.

    Raises
    ------
    SpecError : the density reaches the edge of ``box``: widen it, or the posterior is improper.

    Reference: theory 10.2.

    Example
    -------
    >>> normal = lambda a, s: -0.5 * (a * a + s * s) - math.log(2 * math.pi)
    >>> tilted = integrate_hyperparameters(Evidence([[0.0]], [0.0]), normal)  # N(0; 0, σ²) ∝ 1/σ moves log σ by −1
    >>> round(tilted.mean_log_prior_precision, 6) + 0.0, round(tilted.mean_log_noise_scale, 6)
    (0.0, -1.0)
    """
    nodes = [np.linspace(*edges, ZOOM_POINTS) for edges in box]
    first = True
    while True:
        table = _log_density(evidence.factorisation, log_prior, *nodes)
        closer = [_support(table.max(axis=1 - axis), nodes[axis], box[axis] if first else None) for axis in (0, 1)]
        shrunk = min((high - low) / (old[-1] - old[0]) for (low, high), old in zip(closer, nodes, strict=True))
        if shrunk > 0.5:
            break
        nodes, first = [np.linspace(*edges, ZOOM_POINTS) for edges in closer], False
    axes = [np.linspace(*edges, points) for edges in closer]
    return _moments(evidence.factorisation, _log_density(evidence.factorisation, log_prior, *axes), *axes)


def _support(
    profile: Float[Array, " G"], nodes: Float[Array, " G"], edges: tuple[float, float] | None
) -> tuple[float, float]:
    """Where a log profile is not negligible, one node wider on each side; at the edges of the box it must be."""
    alive = np.flatnonzero(profile > profile.max() + NEGLIGIBLE)
    if edges is not None and (alive[0] == 0 or alive[-1] == len(nodes) - 1):
        raise SpecError(f"the posterior reaches the edge of the box {edges}; widen it or use proper hyperpriors")
    return float(nodes[max(alive[0] - 1, 0)]), float(nodes[min(alive[-1] + 1, len(nodes) - 1)])


def _log_density(
    factorisation: Factorisation, log_prior: LogPrior, log_precision: Float[Array, " A"], log_noise: Float[Array, " S"]
) -> Float[Array, "A S"]:
    """Log joint density of the targets and the two logarithms on a grid, row by row (theory 3.1)."""
    noise = np.exp(2.0 * log_noise)
    alone = factorisation.spare * 2.0 * log_noise + factorisation.outside2 / noise
    alone += len(factorisation.left) * LOG_2PI
    table = np.array([[log_prior(float(a), float(s)) for s in log_noise] for a in log_precision])
    for index, precision in enumerate(np.exp(log_precision)):
        scales = factorisation.singular2 / precision + noise[:, None]
        table[index] -= 0.5 * (alone + (np.log(scales) + factorisation.projected2 / scales).sum(axis=1))
    return table


def _moments(
    factorisation: Factorisation,
    table: Float[Array, "A S"],
    log_precision: Float[Array, " A"],
    log_noise: Float[Array, " S"],
) -> HyperPosterior:
    """Sums over the grid, the hyperparameters here and the weights below."""
    shares = np.exp(table - table.max())
    cell = float((log_precision[1] - log_precision[0]) * (log_noise[1] - log_noise[0]))
    total = float(shares.sum())
    shares /= total
    along = [(log_precision, shares.sum(axis=1)), (log_noise, shares.sum(axis=0))]
    centres = [float(nodes @ mass) for nodes, mass in along]
    spreads = [math.sqrt(float((nodes - c) ** 2 @ mass)) for (nodes, mass), c in zip(along, centres, strict=True)]
    mean, covariance = _weight_moments(factorisation, shares, np.exp(log_precision), np.exp(2.0 * log_noise))
    log_evidence = float(table.max()) + math.log(total * cell)
    return HyperPosterior(centres[0], spreads[0], centres[1], spreads[1], mean, covariance, log_evidence)


def _weight_moments(
    factorisation: Factorisation,
    shares: Float[Array, "A S"],
    precisions: Float[Array, " A"],
    noise: Float[Array, " S"],
) -> tuple[Float[Array, " H"], Float[Array, "H H"]]:
    """Mean of the means; mean of the covariances plus covariance of the means, in the basis of the right vectors."""
    count, width = factorisation.right.shape
    mean, second, loose = np.zeros(count), np.zeros((count, count)), 0.0
    for mass, precision in zip(shares, precisions, strict=True):
        inverse = 1.0 / (factorisation.singular2 + precision * noise[:, None])
        centres = factorisation.singular * factorisation.projected * inverse
        mean += mass @ centres
        second += (centres.T * mass) @ centres + np.diag(mass @ (noise[:, None] * inverse))
        loose += float(mass.sum()) / float(precision)
    right = factorisation.right
    covariance = right.T @ (second - np.outer(mean, mean)) @ right
    if count < width:
        covariance += loose * (np.eye(width) - right.T @ right)
    return mean @ right, covariance
