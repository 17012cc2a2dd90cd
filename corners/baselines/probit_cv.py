"""Linear probit regression on the inputs, for classes; its penalty is chosen by validation NLL."""

from dataclasses import dataclass

import numpy as np
import torch

from corners.baselines._probit import Probits, find_modes
from corners.baselines._probit_linear import Head, ProbitMethod, ProbitReplicate, said_of, validation_nll
from corners.data.batch import PartBatch
from corners.data.standardiser import Standardiser
from corners.method import METHODS, FitStatus
from corners.protocols import require_grid
from corners.selection import NOT_FINITE, best_candidate, choice_remarks

GRID = tuple(float(f"{value:.12g}") for value in np.logspace(-3.0, 3.0, 10))
"""Ten penalties from 0.001 to 1000, evenly spaced in their logarithm."""


@METHODS.register("probit_cv")
@dataclass(frozen=True)
class ProbitCv(ProbitMethod):
    """``(w, b) = argmin -Σ log Φ(s_n (wᵀx_n + b)) + ½ λ ‖w‖² + ½ b²/10²`` and ``P(y = 1) = Φ(wᵀx + b)``, a point.

    ``λ`` is the precision of a Gaussian prior on ``w``. Two classes are one exact probit; K > 2 are K of them, one
    against all others, and their probabilities are normalised: the loss is then no score of the predictive.

    Parameters
    ----------
    penalty_grid : the λ that validation NLL of the predictive chooses from.
    temperature : fit one temperature on the validation part.

    Reference: Bliss (1934), The method of probits; theory 6.1.

    Example
    -------
    >>> len(ProbitCv().penalty_grid), ProbitCv().penalty_grid[0], ProbitCv().penalty_grid[-1]
    (10, 0.001, 1000.0)
    """

    name: str = "probit_cv"
    penalty_grid: tuple[float, ...] = GRID

    def __post_init__(self) -> None:
        require_grid("penalty_grid", self.penalty_grid, positive=True)

    def _choose(
        self, train: Probits, validation: PartBatch, head: Head, standardisers: list[Standardiser]
    ) -> list[tuple[ProbitReplicate, FitStatus]]:
        sets, heads = train.signs.shape[:2]
        grid = torch.tensor(self.penalty_grid, dtype=torch.float64)
        modes = find_modes(train, grid[:, None].expand(sets, -1, heads))
        scores = validation_nll(head, modes, validation)
        found = []
        for k, standardiser in enumerate(standardisers):
            best = best_candidate(scores[k])
            if best is None:
                found.append((None, FitStatus("failed", NOT_FINITE)))
                continue
            remarks = choice_remarks([{"penalty": penalty} for penalty in self.penalty_grid], scores[k], best)
            learned = {"penalty": self.penalty_grid[best], "validation_nll": float(scores[k, best])}
            status = said_of(head, bool(modes.converged[k, best].all()), remarks)
            found.append((ProbitReplicate(standardiser, modes.weights[k, best], None, learned), status))
        return found
