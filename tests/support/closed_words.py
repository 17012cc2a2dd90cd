"""Words with a closed form: the static ensemble, the deterministic limit of the router, and parameter counts."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

Array = np.ndarray


class StaticEnsemble(NamedTuple):
    """Exact Gamma posteriors (K,) and the log evidence."""

    shape: Array
    rate: Array
    log_evidence: float

    def predict(self, yhat: Array) -> tuple[Array, float]:
        """Means (M,) and the one variance, at ``E gamma`` and a flat target."""
        weight = self.shape / self.rate
        return yhat @ weight / weight.sum(), float(1.0 / weight.sum())


def static_ensemble(y: Array, yhat: Array, shape: Array, rate: Array) -> StaticEnsemble:
    """``gamma_i ~ Ga``, ``yhat_ij ~ N(y_j, 1/gamma_i)`` (message passing 4.1)."""
    new_shape, new_rate = shape + 0.5 * len(y), rate + 0.5 * ((y[:, None] - yhat) ** 2).sum(0)
    prior, posterior = shape * np.log(rate) - gammaln(shape), new_shape * np.log(new_rate) - gammaln(new_shape)
    return StaticEnsemble(new_shape, new_rate, float(np.sum(prior - posterior - 0.5 * len(y) * np.log(2.0 * np.pi))))


class Routed(NamedTuple):
    """``h`` and ``m`` of every expert (K,), and mean and variance of the target."""

    h: Array
    m: Array
    mean: float
    var: float


def router_limit(phi: Array, v: Array, left: Array, right: Array, yhat: Array) -> Routed:
    """All precisions infinite: ``k = e^(+-h)`` weigh the two branch scores, ``e^m`` the experts (message passing 4.4).

    ``v``, ``left`` and ``right`` are (K, d).
    """
    h = v @ phi
    k_left, k_right = np.exp(h), np.exp(-h)
    m = (k_left * (left @ phi) + k_right * (right @ phi)) / (k_left + k_right)
    return Routed(h, m, float(np.exp(m) @ yhat / np.exp(m).sum()), float(1.0 / np.exp(m).sum()))


def parameter_counts(experts: int, d: int, hidden: int) -> dict[str, int]:
    """Two numbers a Gamma or scalar Gaussian, with the rate prior (message passing 4.8)."""
    gammas, full = 2 * experts, experts * (d + d * (d + 1) // 2)
    return {
        "static": gammas,
        "moe": experts * (d + 1),
        "moe_big": hidden * (d + 1) + experts * (hidden + 1),
        "dynamic_diag": 2 * d * experts + 2 * gammas,
        "noisy_diag": 2 * d * experts + 3 * gammas,
        "dynamic": full + 2 * gammas,
        "noisy": full + 3 * gammas,
    }
