"""Draws from the normalised model of gated experts: no rate prior, targets given."""

from typing import NamedTuple

import numpy as np

from tests.support.gated_experts import Experts

Array = np.ndarray


class Simulated(NamedTuple):
    """Data with the priors they were drawn from, and the truth: ``w`` (K, d), ``tau`` (K,), ``z`` (N, K)."""

    experts: Experts
    w: Array
    tau: Array
    z: Array


def simulate(
    seed: int,
    *,
    rows: int,
    experts: int,
    d: int,
    w_precision: float = 1.0,
    tau: tuple[float, float] = (2.0, 0.5),
    kappa: tuple[float, float] | None = None,
) -> Simulated:
    """Standard normal features with a bias last, standard normal targets, then w, tau, z and the forecasts.

    Given ``y`` and ``phi`` the experts are independent, so K experts are K data sets of one expert. Gammas are
    (shape, rate), or ``(inf, value)`` where known. With ``kappa`` the forecasts are those of noisy experts: ``pred``
    lies around the target at ``gamma``, the forecast around ``pred`` at ``kappa``.
    """
    generator = np.random.default_rng(seed)
    phi = np.concatenate([generator.standard_normal((rows, d - 1)), np.ones((rows, 1))], axis=1)
    y = generator.standard_normal(rows)
    w = generator.standard_normal((experts, d)) / np.sqrt(w_precision)
    precision = _draw(generator, tau, experts)
    z = phi @ w.T + generator.standard_normal((rows, experts)) / np.sqrt(precision)
    yhat = y[:, None] + np.exp(-0.5 * z) * generator.standard_normal((rows, experts))
    if kappa:
        yhat = yhat + generator.standard_normal((rows, experts)) / np.sqrt(_draw(generator, kappa, experts))
    data = Experts(phi, yhat, y, w_precision=w_precision, tau=tau, kappa=kappa or (1.0, 1.0))
    return Simulated(data, w, precision, z)


def _draw(generator: np.random.Generator, prior: tuple[float, float], experts: int) -> Array:
    shape, rate = prior
    return np.full(experts, rate) if shape == np.inf else generator.gamma(shape, 1.0 / rate, experts)
