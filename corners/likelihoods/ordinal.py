"""Ordinal probit likelihood: ordered classes cut out of one noisy latent by thresholds (theory 6.1)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import DataError, SpecError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, require_codes, zero_penalty
from corners.likelihoods._expectation import gaussian_expectation
from corners.likelihoods._special import log_ndtr_difference
from corners.predictive.categorical import CategoricalPredictive, require_labels

FIRST_THRESHOLD, LOG_GAPS = "first_threshold", "log_threshold_gaps"
LOG_GAP_BOUNDS = (-18.0, 6.0)
"""Gaps between thresholds from 1.5e-8 to 403, in units of the link's noise: those of a log scale (theory 5.7)."""
FEWEST = 0.5
"""What a class that is missing from the training labels counts for at the start."""


@LIKELIHOODS.register("ordinal")
@dataclass(frozen=True)
class Ordinal(Likelihood):
    """Ordered classes 0..K-1: ``P(y = k | f) = Φ(τ_{k+1} - f) - Φ(τ_k - f)``, under ``f ~ N(m, v)`` both over √(1 + v).

    ``τ_0 = -∞``, ``τ_1`` is a parameter, ``τ_{j+1} = τ_j + exp(δ_j)``, ``τ_K = ∞``. With two classes this is the binary
    probit with margin ``m - τ_1``: the same loss only where ``τ_1 = 0``.

    Parameters
    ----------
    classes : K, at least 2; None takes the largest training label plus 1. Give it where a split may lack a class: a
        missing class counts half a datum when the thresholds start.
    fix_first_threshold : hold ``τ_1 = 0``. Do so where a feature is constant: its weight moves all thresholds together
        and ``τ_1`` would be redundant.

    Raises
    ------
    SpecError : K < 2.
    DataError : a label is not one of 0..K-1; or K is to be found and class 0, or every other class, is missing,
        or a later label is beyond it (:meth:`init`, :meth:`check`).

    Example
    -------
    >>> import torch
    >>> params = Ordinal().init(torch.tensor([[0.0, 1.0, 1.0, 2.0]], dtype=torch.float64))
    >>> log_prob = Ordinal().log_prob(params, torch.tensor([[1.0]]), torch.zeros(1, 1, dtype=torch.float64))
    >>> round(float(log_prob.exp()), 12)
    0.5
    """

    classes: int | None = None
    fix_first_threshold: bool = False
    name: ClassVar[str] = "ordinal"
    conjugate: ClassVar[bool] = False
    log_concave: ClassVar[bool] = True
    task: ClassVar[str] = "classification"

    def __post_init__(self) -> None:
        if self.classes is not None and self.classes < 2:
            raise SpecError(f"classes counts the classes and must be at least 2, or None; got {self.classes}")

    @classmethod
    def example(cls) -> "Ordinal":
        """A member for the law suite."""
        return cls(classes=4)

    @staticmethod
    def example_targets(shape: tuple[int, ...]) -> Tensor:
        """Labels 0, 1, 2, 3, 0, ... of this shape."""
        return (torch.arange(torch.Size(shape).numel()) % 4).double().reshape(shape)

    @property
    def frozen(self) -> frozenset[str]:
        """The first threshold where it is fixed."""
        return frozenset({FIRST_THRESHOLD}) if self.fix_first_threshold else frozenset()

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse a label that is not one of 0..K-1; where K was found in the training labels, ``params`` know it."""
        labels = require_labels(targets.detach().cpu().numpy(), self.classes)
        if self.classes is None and params is not None and labels.max() >= params[LOG_GAPS].shape[-1] + 2:
            raise DataError(
                f"class {labels.max():g} is not among the {params[LOG_GAPS].shape[-1] + 2} classes of the training "
                f"labels; give their number: Ordinal(classes={int(labels.max()) + 1})"
            )

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """Thresholds at the probit quantiles of the class frequencies (theory 5.8), shifted where ``τ_1`` is fixed."""
        labels = require_labels(targets.detach().cpu().numpy(), self.classes)
        classes = int(labels.max()) + 1 if self.classes is None else self.classes
        if classes < 2 or (self.classes is None and labels.min() > 0.0):
            raise DataError(
                f"the training labels run from {labels.min():g} to {labels.max():g}; without a number of classes they "
                "must start at 0 and hold another class: number the classes from 0, or give classes"
            )
        codes = torch.arange(classes, dtype=targets.dtype, device=targets.device)
        counts = (targets[..., None] == codes).sum(-2).to(targets.dtype).clamp(min=FEWEST)
        below = (counts / counts.sum(-1, keepdim=True)).cumsum(-1)[..., :-1]
        thresholds = torch.special.ndtri(below)
        first = torch.zeros_like(thresholds[..., 0]) if self.fix_first_threshold else thresholds[..., 0].clone()
        return {FIRST_THRESHOLD: first, LOG_GAPS: thresholds.diff(dim=-1).log().clamp(*LOG_GAP_BOUNDS)}

    def bounds(self) -> Bounds:
        """Of the logarithms of the gaps."""
        return {LOG_GAPS: LOG_GAP_BOUNDS}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """None."""
        return {}

    def noise_var(self, params: Params) -> None:
        """None: the noise is that of the link."""

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Zero."""
        return zero_penalty(params, FIRST_THRESHOLD)

    def thresholds(self, params: Params) -> Float[Tensor, "*B J"]:
        """``τ_1, ..., τ_{K-1}``, increasing."""
        first = params[FIRST_THRESHOLD][..., None]
        return torch.cat((first, first + params[LOG_GAPS].exp().cumsum(-1)), -1)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log(Φ(τ_{y+1} - f) - Φ(τ_y - f))``."""
        return log_ndtr_difference(*self._ends(params, targets, latent, torch.ones_like(latent)))

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log(Φ((τ_{y+1} - m)/D) - Φ((τ_y - m)/D))``, ``D = √(1 + v)``."""
        shrink = (1.0 + marginals.variance).rsqrt()
        return log_ndtr_difference(*self._ends(params, targets, marginals.mean, shrink))

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``E log P(y | f)`` by quadrature; error below 1e-12 (1 + |value|) for ``v ≤ 10``, 1e-10 for ``v ≤ 100``."""
        lower, upper, width = self._ends(params, targets, marginals.mean, torch.ones_like(marginals.mean))
        middle = torch.where(lower.isinf(), upper, torch.where(upper.isinf(), lower, 0.5 * (lower + upper)))
        return gaussian_expectation(log_ndtr_difference, (lower, upper), (width,), marginals.variance, middle)

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CategoricalPredictive:
        """Probabilities of all classes; the target transform must be 0 and 1 (``SpecError``)."""
        require_codes(self.name, target_mean, target_scale)
        double = {key: value.double() for key, value in params.items()}
        at = Marginals(marginals.mean.double(), marginals.variance.double())
        classes = range(params[LOG_GAPS].shape[-1] + 2)
        each = [self.log_partition(double, torch.full_like(at.mean, k), at) for k in classes]
        return CategoricalPredictive.from_logarithms(torch.stack(each, -1).numpy())

    def _ends(self, params: Params, targets: Tensor, mean: Tensor, shrink: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``(τ_y - m)/D``, ``(τ_{y+1} - m)/D`` and their distance, which keeps its digits where m dwarfs the gap."""
        thresholds = self.thresholds(params)
        one = torch.ones_like(thresholds[..., :1])
        gaps = torch.cat((one, params[LOG_GAPS].exp(), one), -1)
        # Finite stand-ins at the open ends: infinity times zero would be NaN in the gradient of ``shrink``.
        lowers = torch.cat((thresholds[..., :1] - one, thresholds), -1)
        uppers = torch.cat((thresholds, thresholds[..., -1:] + one), -1)
        code = targets.long()
        batch = torch.broadcast_shapes(code.shape[:-1], gaps.shape[:-1])
        at = code.expand(*batch, -1)
        lower, upper, gap = (each.expand(*batch, -1).gather(-1, at) for each in (lowers, uppers, gaps))
        lower = torch.where(code == 0, -math.inf, (lower - mean) * shrink)
        upper = torch.where(code == gaps.shape[-1] - 1, math.inf, (upper - mean) * shrink)
        return lower, upper, gap * shrink
