"""Bayesian linear probit regression by Laplace; its prior precision maximises the Laplace evidence."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from corners.baselines._probit import ProbitModes, Probits, find_modes
from corners.baselines._probit_linear import Head, ProbitMethod, ProbitReplicate, said_of, validation_nll
from corners.data.batch import PartBatch
from corners.data.standardiser import Standardiser
from corners.method import METHODS, FitStatus

LOG_PRECISIONS = (float(np.log(1e-5)), float(np.log(1e7)))
POINTS = 29
"""Values tried over the whole range; the range around the best is then searched in turn."""
ROUNDS, FINER = 14, 9
"""Every round looks at nine values between the neighbours of the best, which are four times as close after it."""
APPROXIMATE = "prior precision by the evidence of Laplace's approximation, which is not exact"


@METHODS.register("probit_eb")
@dataclass(frozen=True)
class ProbitEb(ProbitMethod):
    """``N(ŵ, A⁻¹)`` at the ``α`` of ``w ~ N(0, I/α)`` where Laplace's evidence is highest; ``P = Φ(m/√(1 + v))``.

    ``log Z ≈ log p(y, ŵ) + ½ P log 2π - ½ log|A|`` with the exact curvature ``A`` at the mode ``ŵ``: approximate, and
    the status says so. The intercept, of prior ``N(0, 10²)``, is among the ``P`` weights. Two classes are one probit;
    K > 2 are K of them with one ``α``, which maximises the sum of their evidences, and their probabilities are
    normalised. Validation plays no part but for a temperature.

    Parameters
    ----------
    temperature : fit one temperature on the validation part.

    Reference: MacKay (1992), The evidence framework applied to classification networks; theory 6.1.

    Example
    -------
    >>> ProbitEb().name
    'probit_eb'
    """

    name: str = "probit_eb"

    def _choose(
        self, train: Probits, validation: PartBatch, head: Head, standardisers: list[Standardiser]
    ) -> list[tuple[ProbitReplicate, FitStatus]]:
        log_precision, modes = maximise_evidence(train)
        covariance = torch.cholesky_inverse(torch.linalg.cholesky(modes.precision))
        nll = validation_nll(head, modes, validation, covariance=covariance)
        found = []
        for k, standardiser in enumerate(standardisers):
            learned = {
                "prior_precision": float(log_precision[k].exp()),
                "log_evidence": float(modes.log_evidence[k].sum()),
                "validation_nll": float(nll[k, 0]),
            }
            at_edge = min(abs(float(log_precision[k]) - edge) for edge in LOG_PRECISIONS) < 1e-3
            edge = ("evidence is highest at the edge of the precisions searched",) if at_edge else ()
            status = said_of(head, bool(modes.converged[k].all()), (APPROXIMATE, *edge))
            found.append((ProbitReplicate(standardiser, modes.weights[k, 0], covariance[k, 0], learned), status))
        return found


def maximise_evidence(train: Probits) -> tuple[Float[Tensor, " S"], ProbitModes]:
    """``log α`` of the highest sum of the heads' evidences, to 1e-8, and the modes there; all data sets at once."""
    sets, heads = train.signs.shape[:2]
    points = torch.linspace(*LOG_PRECISIONS, POINTS, dtype=torch.float64).expand(sets, -1)
    start = None
    for _ in range(ROUNDS):
        modes = find_modes(train, points.exp()[..., None].expand(-1, -1, heads), start)
        best = modes.log_evidence.sum(-1).argmax(-1)
        low, high = (_take(points, (best + side).clamp(0, points.shape[1] - 1)) for side in (-1, 1))
        start = modes.weights[torch.arange(sets), best][:, None].expand(-1, FINER, -1, -1)
        top = _take(points, best)
        share = torch.linspace(0.0, 1.0, FINER, dtype=torch.float64)
        points = low[:, None] + share * (high - low)[:, None]
    near = modes.weights[torch.arange(sets), best][:, None]
    return top, find_modes(train, top.exp()[:, None, None].expand(-1, 1, heads), near)


def _take(points: Float[Tensor, "S G"], index: Int[Tensor, " S"]) -> Float[Tensor, " S"]:
    return points.gather(1, index[:, None])[:, 0]
