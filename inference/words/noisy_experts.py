"""Noisy experts: forecasts are noisy readings of predictions that are then gated."""

from typing import Any

from inference.building import Builder, model
from inference.words.precision_word import precision_word


@model
def noisy_experts(  # noqa: PLR0913  the data, and every prior of the model
    m: Builder,
    phi: Any,
    yhat: Any,
    y: Any,
    *,
    expert_noise: Any = (1.0, 1.0),
    weights_mean: Any = 0.0,
    weights_precision: Any = 0.01,
    noise: Any = (1.0, 1.0),
    rate_prior: Any = None,
    alpha: float = 1.0,
    jacobian: int = 0,
) -> None:
    """pred_ij ~ N(yhat_ij, 1/kappa_i) and y_j ~ N(pred_ij, 1/gamma_ij), gamma_ij a precision word (section 4.3).

    ``expert_noise`` is the (shape, rate) of kappa; everything else is as in
    :data:`inference.words.precision_gated`. In a prediction every expert sends N(yhat_i, 1/kappa_i + 1/gamma_i): the
    noise of the expert is kept, which mean field would drop.

    Example
    -------
    >>> import numpy as np
    >>> graph = noisy_experts.build(dict(phi=np.ones((4, 2)), yhat=np.zeros((4, 3)), y=np.zeros(4)))
    >>> graph.variables["kappa"]
    Variable('kappa', positive, plates (expert=3))
    """
    rows, experts = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    gamma = precision_word(
        m, "", phi, plates=(rows, experts), outer=experts, weights_mean=weights_mean,
        weights_precision=weights_precision, noise=noise, rate_prior=rate_prior, alpha=alpha, jacobian=jacobian,
    )  # fmt: skip
    shape, rate = expert_noise
    kappa = m.gamma("kappa", shape=float(shape), rate=float(rate), plates=experts)
    pred = m.normal("pred", mean=yhat, precision=kappa, plates=(rows, experts))
    m.normal("y", mean=pred, precision=gamma, observed=y, plates=(rows, experts))
