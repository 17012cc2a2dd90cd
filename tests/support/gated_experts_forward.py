"""Forward prediction of gated experts: nothing flows back from an unobserved target (message passing 4.6)."""

from typing import NamedTuple

import numpy as np

from tests.support.gated_experts import Experts, Options, mean_of
from tests.support.link_oracle import gaussian_link

Array = np.ndarray


class Prediction(NamedTuple):
    """``E gamma`` (M, K), the predictive (M,), and the message to ``z`` (M, K)."""

    gamma: Array
    mean: Array
    var: Array
    message_mean: Array
    message_var: Array


class Globals(NamedTuple):
    """What training hands over: ``w`` (K, d), (K, d, d); Gammas (2, K)."""

    mean_w: Array
    cov_w: Array
    tau: Array
    beta: Array | None = None
    kappa: Array | None = None


def forward(x: Experts, o: Options, q: Globals, phi: Array, yhat: Array) -> Prediction:
    """New rows one by one, experts one by one."""
    shape = yhat.shape
    gamma, mean, var = np.empty(shape), np.empty(shape), np.empty(shape)
    for n, features in enumerate(phi):
        for k in range(shape[1]):
            mean[n, k] = features @ q.mean_w[k]
            var[n, k] = features @ q.cov_w[k] @ features + 1.0 / mean_of(q.tau)[k]
            gamma[n, k] = expected_precision(x, o, q, k, mean[n, k], var[n, k])
    weight = gamma
    if o.noisy and q.kappa is not None:
        weight = 1.0 / (1.0 / gamma + 1.0 / mean_of(q.kappa))
    return Prediction(gamma, (weight * yhat).sum(1) / weight.sum(1), 1.0 / weight.sum(1), mean, var)


def expected_precision(x: Experts, o: Options, q: Globals, k: int, mean: float, var: float) -> float:
    """``E e^z`` from the message ``N(mean, var)``, the Jacobian and, where there is one, the rate prior of expert k."""
    if o.gamma_factor and q.beta is not None:
        link = gaussian_link(1.0 / var, mean, x.alpha - 1.0 + o.jacobian, mean_of(q.beta)[k])
        return float(np.exp(link.mean + 0.5 * link.var))
    return float(np.exp(mean + (0.5 + o.jacobian) * var))
