"""The belief of a probit layer by the message passing of ``inference``; no rule of it is written here."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from corners.errors import TruthError
from corners.types import Array

if TYPE_CHECKING:
    from inference.building import Model

SHARE = 0.5
"""Variance of the noise that is put on f; the probit holds the rest of 1. Where it is put does not matter."""
SETTLED, SEARCHED, SCANNED = 1e-11, 1e-8, 1e-4
"""Change of the free energy, in nats, at which a run has settled: the answer's, in the search, in its scan."""
HALVINGS = 4
"""Sites that move all at once can run in a circle, as where saturated features repeat: then the step is halved."""
BOUNDS = (-10.0, 12.0)
"""Of the log prior precision (theory 5.7)."""
POINTS = 12


@dataclass(frozen=True, eq=False)
class EPLayer:
    """Gaussian on the weights of every head, what it says of each training row without it, and how the run ended."""

    mean: Float[Array, "K H"]
    covariance: Float[Array, "K H H"]
    cavity_mean: Float[Array, "N K"]
    cavity_var: Float[Array, "N K"]
    prior_precision: float
    log_evidence: float
    converged: bool
    reason: str


def ep_layer(
    features: Float[Array, "N H"],
    labels: Float[Array, " N"],
    classes: int,
    prior_precision: float,
    *,
    damping: float = 0.5,
    iterations: int = 500,
    settled: float = SETTLED,
) -> EPLayer:
    """The fixed point of expectation propagation at a prior precision α.

    Two classes have one head, whose 1 is class 1; more have one each, against the others. ``cavity_mean`` and
    ``cavity_var`` are those of ``wᵀψ_n``, without the noise of the link. A run that does not settle is made again with
    half the step, four times at most; ``reason`` says at which step it ended.

    Raises
    ------
    TruthError : a marginal became improper or left the range of float64.

    Example
    -------
    >>> layer = ep_layer(np.ones((1, 1)), np.ones(1), 2, 1.0)
    >>> round(layer.log_evidence, 9) == round(float(np.log(0.5)), 9)
    True
    """
    from inference import infer
    from inference.errors import InferenceError

    heads = np.ones(1) if classes == 2 else np.arange(float(classes))
    data = {"features": features, "labels": (labels[:, None] == heads).astype(np.float64), "precision": prior_precision}
    try:
        for halvings in range(HALVINGS + 1):
            step = damping * 0.5**halvings
            found = infer(_model(), data=data, damping=step, iterations=iterations, rtol=1e-13, atol=settled)
            if found.converged:
                break
        left = found.messages.without("labels")
    except InferenceError as error:
        raise TruthError(f"expectation propagation failed: {error}") from error
    weights = found.posteriors["weights"]
    assert found.free_energy is not None
    return EPLayer(
        weights.mean(),
        weights.covariance,  # pyright: ignore[reportAttributeAccessIssue]
        left.mean(),
        left.var() - SHARE,
        float(prior_precision),
        -float(found.free_energy[-1]),
        found.converged,
        f"{found.n_iter} iterations of step {step:g}" if found.converged else f"{found.reason} at step {step:g}",
    )


def at_best_evidence(
    features: Float[Array, "N H"],
    labels: Float[Array, " N"],
    classes: int,
    *,
    damping: float = 0.5,
    iterations: int = 500,
) -> EPLayer:
    """The layer at the prior precision of the largest evidence: a scan of ``log α``, then a root of its slope.

    At a fixed point ``2 ∂ log Z / ∂ log α = K H - α Σ_k (‖μ_k‖² + tr Σ_k)``: the sites do not move to first order.
    Where the slope has one sign around the best point of the scan, that is a bound, and the layer there is returned.
    """
    from scipy.optimize import brentq

    def at(log_precision: float, settled: float) -> EPLayer:
        return ep_layer(
            features, labels, classes, float(np.exp(log_precision)),
            damping=damping, iterations=iterations, settled=settled,
        )  # fmt: skip

    grid = np.linspace(*BOUNDS, POINTS)
    best = int(np.argmax([at(each, SCANNED).log_evidence for each in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, POINTS - 1)]
    if _slope(at(low, SEARCHED)) <= 0.0 or _slope(at(high, SEARCHED)) >= 0.0:
        return at(grid[best], SETTLED)
    root = brentq(lambda each: _slope(at(each, SEARCHED)), low, high, xtol=1e-6)
    return at(float(root), SETTLED)  # pyright: ignore[reportArgumentType]


def _slope(layer: EPLayer) -> float:
    """Twice the derivative of the log evidence with respect to ``log α``."""
    spread = np.square(layer.mean).sum() + np.trace(layer.covariance, axis1=-2, axis2=-1).sum()
    return float(layer.mean.size - layer.prior_precision * spread)


def _model() -> "Model":
    """Heads over rows: ``f = wᵀψ`` plus noise of variance ``SHARE``, the rest of the noise in the probit."""
    from inference import MvNormal, model

    @model
    def probit_layer(m, features, labels, *, precision):
        row, head = m.plate("row", len(labels)), m.plate("head", labels.shape[1])
        spread = np.full((labels.shape[1], features.shape[1]), 1.0 / precision)
        weights = m.prior("weights", MvNormal(np.zeros(spread.shape), diag=spread), plates=head)
        latent = m.softdot("latent", weights, features, 1.0 / SHARE, plates=(row, head))
        m.probit("labels", latent, noise_var=1.0 - SHARE, observed=labels)

    return probit_layer
