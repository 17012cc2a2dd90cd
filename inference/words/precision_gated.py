"""Precision-gated experts: how far each forecast is to be trusted depends on features."""

from typing import Any

from inference.building import Builder, model
from inference.constraints import Constraint, Form, MeanField
from inference.words.precision_word import precision_word


@model
def precision_gated(
    m: Builder,
    phi: Any,
    yhat: Any,
    y: Any,
    *,
    weights_mean: Any = 0.0,
    weights_precision: Any = 0.01,
    noise: Any = (1.0, 1.0),
    rate_prior: Any = None,
    alpha: float = 1.0,
    jacobian: int = 0,
) -> None:
    """yhat_ij ~ N(y_j, 1/gamma_ij), gamma_ij a precision word of phi_j and expert i (message_passing 4.2).

    ``phi`` (N, d) with a constant column for the bias, ``yhat`` (N, K), ``y`` (N,); the variables are ``w``, ``tau``,
    ``z``, ``gamma`` and, with a rate prior, ``beta``, the options those of :func:`inference.words.precision_word`. The
    plan without constraints is q(w, z)q(tau), whose intervals for w are near nominal; ``MeanField()`` is faster and far
    too sure of w; ``Form("w", "diagonal")`` goes with it. ``tau`` is weakly identified: judge w, not tau (section 3).
    Predict with ``result.predict(dict(phi=..., yhat=...), mode="mixture")``.

    Example
    -------
    >>> import numpy as np
    >>> graph = precision_gated.build(dict(phi=np.ones((4, 2)), yhat=np.zeros((4, 3)), y=np.zeros(4)))
    >>> graph.variables["gamma"]
    Variable('gamma', positive, plates (row=4, expert=3))
    """
    rows, experts = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    gamma = precision_word(
        m, "", phi, plates=(rows, experts), outer=experts, weights_mean=weights_mean,
        weights_precision=weights_precision, noise=noise, rate_prior=rate_prior, alpha=alpha, jacobian=jacobian,
    )  # fmt: skip
    m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(rows, experts))


def published_priors(rate: float = 1e3) -> dict[str, Any]:
    """The priors of the published experiments, for ``bind``: with the extra Gamma on gamma (message_passing 3, 0.3).

    ``rate`` is that of beta ~ Ga(1, rate), 1e3 to 1e4 as published. The model is a product of two opinions on gamma,
    and its weights shrink.

    Example
    -------
    >>> precision_gated.bind(**published_priors()).required
    ('phi', 'yhat', 'y')
    """
    return {"weights_precision": 0.01, "noise": (1.0, 1.0), "rate_prior": (1.0, rate), "alpha": 1.0}


def published_constraints(diagonal: bool = False) -> list[Constraint]:
    """The published approximation, for comparison only: mean field, z and gamma projected by themselves (0.1, 0.2).

    The two projections are no push-forwards of each other and the Jacobian is counted twice: ``infer`` warns
    (:class:`inference.DualProjection`) and reports a ``free_energy_diagnostic`` in place of a free energy. Published
    runs took 5 iterations. ``diagonal`` keeps the covariance of w diagonal.

    Example
    -------
    >>> published_constraints()
    [MeanField(variables=()), Form(variable='z', form='dual')]
    """
    return [MeanField(), Form("z", "dual"), *([Form("w", "diagonal")] if diagonal else [])]
