"""Laplace's approximation of a density that is not quadratic: damped Newton steps on differences of its gradient."""

import numpy as np

from inference.truth.whitening import LogDensity, repaired_inverse
from inference.types import Array, Float

STEPS = 60  # of Newton; log-concave heads need about ten
SETTLED = 1e-8  # of the Newton decrement: twice what the log density can still gain
HALVINGS = 30
RELATIVE_STEP = 1e-3  # of the difference quotients, in units of ``scale``


class Laplace:
    """Mode and curvature of the coordinates after the hyperparameters, found from where it last was.

    Parameters
    ----------
    start : where to look first.
    scale : for every coordinate a distance over which the density changes shape; it sets the difference quotients.

    Example
    -------
    >>> density = lambda x: (float(x[0] - np.exp(x[0])), 1.0 - np.exp(x))  # mode 0, curvature 1
    >>> mode, covariance, _, floored = Laplace(np.full(1, 3.0), np.ones(1))(density, np.empty(0), 1)
    >>> bool(abs(mode[0]) < 1e-3), bool(abs(covariance[0, 0] - 1.0) < 1e-3), floored
    (True, True, 0)
    """

    def __init__(self, start: Float[Array, " W"], scale: Float[Array, " W"]) -> None:
        self._last, self.start, self.scale = start, start, scale

    def __call__(
        self, density: LogDensity, hyper: Float[Array, " K"], weights: int
    ) -> tuple[Float[Array, " W"], Float[Array, "W W"], float, int]:
        """Mode, covariance, log normaliser and number of repairs at these hyperparameters."""

        def at(x: Array) -> tuple[float, Array]:
            value, slope = density(np.concatenate([hyper, x]))
            return float(value), slope[len(hyper) :]

        x = self._last if np.isfinite(at(self._last)[0]) else self.start
        value, slope = at(x)
        if not np.isfinite(value):
            return x, np.eye(weights), -np.inf, 0
        for _ in range(STEPS):
            covariance, log_determinant, floored = repaired_inverse(self._curvature(at, x))
            step = covariance @ slope
            gain = float(slope @ step)
            moved = _climb(at, x, value, step) if gain > SETTLED else None
            if moved is None:
                break
            x, value, slope = moved
        self._last = x
        return x, covariance, value - 0.5 * log_determinant, floored

    def _curvature(self, at: LogDensity, x: Array) -> Float[Array, "W W"]:
        curvature = np.empty((len(x), len(x)))
        for i, size in enumerate(RELATIVE_STEP * self.scale):
            offset = np.zeros(len(x))
            offset[i] = size
            curvature[i] = (at(x - offset)[1] - at(x + offset)[1]) / (2.0 * size)
        return 0.5 * (curvature + curvature.T)


def _climb(at: LogDensity, x: Array, value: float, step: Array) -> tuple[Array, float, Array] | None:
    """The first of the step and its halves that does not lose; None where all do: rounding ends the climb."""
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(HALVINGS):
            ahead, slope = at(x + step)
            if ahead >= value and np.isfinite(slope).all():
                return x + step, float(ahead), slope
            step = 0.5 * step
    return None
