"""Leave-one-out predictive densities estimated from posterior draws, with the points where they cannot be trusted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.types import Array, Float, Int


@dataclass(frozen=True, eq=False)
class PsisLoo:
    r"""Pareto-smoothed importance sampling estimate of $\log p(y_n\mid y_{\setminus n})$ (theory 10.3).

    Attributes
    ----------
    lpd : estimated log predictive density of every point left out, in nats.
    k_hat : tail shape of its importance ratios; ``-inf`` where the ratios are constant.
    draws : number S of draws behind the estimate.

    Example
    -------
    >>> loo = PsisLoo(np.array([-1.0, -2.0]), np.array([0.1, 0.9]), draws=4000)
    >>> loo.flagged.tolist(), loo.refitted(lambda n: -5.0).elpd
    ([1], -6.0)
    """

    lpd: Float[Array, " N"]
    k_hat: Float[Array, " N"]
    draws: int

    @property
    def threshold(self) -> float:
        r"""$\min(1-1/\log_{10}S, 0.7)$."""
        return min(1.0 - 1.0 / np.log10(self.draws), 0.7)

    @property
    def flagged(self) -> Int[Array, " K"]:
        """The points whose k-hat is above the threshold, or not a number."""
        return np.flatnonzero(~(self.k_hat <= self.threshold))

    @property
    def elpd(self) -> float:
        """Sum over the points: a total in nats, larger is better."""
        return float(self.lpd.sum())

    @property
    def se(self) -> float:
        r"""Standard error of the total over the points, $\sqrt{N\,\mathrm{var}}$."""
        return float(np.sqrt(len(self.lpd) * self.lpd.var(ddof=1))) if len(self.lpd) > 1 else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Total, its error and the flagged points, ready for JSON; None where the run failed and nothing is known."""
        if not np.isfinite(self.elpd):
            return {"elpd": None, "se": None, "flagged": None, "threshold": float(self.threshold)}
        flagged = [int(n) for n in self.flagged]
        return {"elpd": self.elpd, "se": self.se, "flagged": flagged, "threshold": float(self.threshold)}

    def refitted(self, refit: Callable[[int], float]) -> "PsisLoo":
        """The same with every flagged point replaced by ``refit(n)``: the log density of n under a fit without it."""
        lpd, k_hat = self.lpd.copy(), self.k_hat.copy()
        for n in self.flagged:
            lpd[n], k_hat[n] = refit(int(n)), -np.inf
        return PsisLoo(lpd, k_hat, self.draws)
