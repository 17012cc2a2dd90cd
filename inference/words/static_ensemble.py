"""Static ensemble: every expert has one precision, and the posterior is exact."""

from typing import Any

from inference.building import Builder, model
from inference.distributions import Gamma


@model
def static_ensemble(m: Builder, yhat: Any, y: Any, *, shape: Any = 1.0, rate: Any = 1.0) -> None:
    """gamma_i ~ Ga(shape, rate) and yhat_ij ~ N(y_j, 1/gamma_i); -F is the log evidence (message_passing 4.1).

    ``yhat`` (N, K) are forecasts of ``y`` (N,); ``shape`` and ``rate`` are numbers or one an expert. The posterior is
    Ga(shape + N/2, rate + sum_j (y_j - yhat_ij)^2 / 2).

    Example
    -------
    >>> from inference import infer
    >>> infer(static_ensemble, data=dict(yhat=[[1.0], [3.0]], y=[0.0, 3.0])).posteriors["gamma"][0]
    Gamma(shape=2, rate=1.5)
    """
    rows, experts = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    gamma = m.prior("gamma", Gamma(shape, rate), plates=experts)
    m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(rows, experts))
