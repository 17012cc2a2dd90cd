"""Ordinal probit head: ordered classes cut out of one noisy latent by thresholds (theory 6.1, 6.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from inference.errors import SpecError
from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter, require_codes
from inference.truth.heads._graphs import log_ndtr
from inference.truth.heads._graphs import log_ndtr_difference as difference_graph
from inference.truth.heads._special import log_ndtr_difference
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class Ordinal(Head):
    r"""$P(y=k\mid f)=\Phi(\tau_{k+1}-f)-\Phi(\tau_k-f)$, classes 0..K-1, $\tau_0=-\infty$, $\tau_K=\infty$.

    Parameters
    ----------
    first_threshold : $\tau_1$, a number or a ``Normal`` density.
    gaps : the K-2 distances $\tau_{j+1}-\tau_j$, each a positive number or a density on the positive numbers.

    Raises
    ------
    SpecError : a threshold that is not finite, a gap that is not positive and finite.

    Example
    -------
    >>> head = Ordinal.at([-1.0, 0.5])
    >>> head.classes, head.parameters()
    (3, {'first_threshold': -1.0, 'gap_1': 1.5})
    """

    first_threshold: Parameter = 0.0
    gaps: tuple[Parameter, ...] = ()
    name: ClassVar[str] = "ordinal"
    real: ClassVar[frozenset[str]] = frozenset({"first_threshold"})

    @classmethod
    def at(cls, thresholds: Sequence[float]) -> "Ordinal":
        """Thresholds held at increasing numbers, K-1 of them."""
        if len(thresholds) < 1:
            raise SpecError("Ordinal.at needs the K-1 thresholds of K >= 2 classes; got none")
        return cls(float(thresholds[0]), tuple(float(gap) for gap in np.diff(np.asarray(thresholds, np.float64))))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, float]) -> "Ordinal":
        """Of ``first_threshold``, ``gap_1``, ..."""
        if set(parameters) != {"first_threshold", *_gap_names(parameters)}:
            raise SpecError(f"Ordinal has first_threshold, gap_1, gap_2, ...; got {', '.join(parameters)}")
        return cls(float(parameters["first_threshold"]), tuple(float(parameters[n]) for n in _gap_names(parameters)))

    @property
    def classes(self) -> int:
        """K."""
        return len(self.gaps) + 2

    def parameters(self) -> dict[str, Parameter]:
        """``first_threshold``, ``gap_1``, ..., ``gap_{K-2}``."""
        return {"first_threshold": self.first_threshold, **{f"gap_{j + 1}": gap for j, gap in enumerate(self.gaps)}}

    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Labels 0..K-1."""
        require_codes(self.name, targets, self.classes)

    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """Probit quantiles of the class frequencies; a missing class counts half a datum."""
        counts = np.maximum([(targets == k).sum() for k in range(self.classes)], 0.5)
        cuts = special.ndtri(np.cumsum(counts / counts.sum())[:-1])
        gaps = {f"gap_{j + 1}": max(float(gap), 1e-3) for j, gap in enumerate(np.diff(cuts))}
        return {"first_threshold": float(cuts[0]), **gaps}

    @classmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        r"""$\log(\Phi(\tau_{y+1}-f)-\Phi(\tau_y-f))$ by stable differences."""
        gaps = [np.asarray(parameters[name]) for name in _gap_names(parameters)]
        cuts = [np.asarray(parameters["first_threshold"])]
        for gap in gaps:
            cuts.append(cuts[-1] + gap)
        value = np.empty(np.broadcast_shapes(latent.shape, targets.shape))
        ends = [np.asarray(-np.inf), *cuts, np.asarray(np.inf)]
        widths = [np.asarray(np.inf), *gaps, np.asarray(np.inf)]
        for k in range(len(ends) - 1):
            own = targets == k
            at = latent[..., own]
            value[..., own] = log_ndtr_difference(ends[k] - at, ends[k + 1] - at, widths[k])
        return value

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same; the open ends are one-sided, and the middle sees finite stand-ins for them."""
        gaps = [parameters[name] for name in _gap_names(parameters)]
        cuts = [parameters["first_threshold"]]
        for gap in gaps:
            cuts.append(cuts[-1] + gap)
        first, last = pt.eq(targets, 0.0), pt.eq(targets, float(len(cuts)))
        outer = log_ndtr(pt, pt.switch(first, cuts[0] - latent, latent - cuts[-1]))
        if not gaps:
            return outer
        code = pt.cast(pt.switch(pt.or_(first, last), 1.0, targets), "int64") - 1
        width, low = pt.stack(gaps)[code], pt.stack(cuts)[code]
        high = pt.stack(cuts)[code + 1]
        return pt.switch(pt.or_(first, last), outer, difference_graph(pt, low - latent, high - latent, width))


def _gap_names(parameters: Mapping[str, object]) -> list[str]:
    return [f"gap_{j + 1}" for j in range(sum(name.startswith("gap_") for name in parameters))]
