"""Poisson head with a log link: y ~ Poisson(exp(f)) (theory 6.3, 10.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter, require_counts
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class Poisson(Head):
    r"""$\log p(y\mid f)=yf-e^f-\log y!$; an exposure $e_n$ is the offset $\log e_n$ of the problem.

    Example
    -------
    >>> float(Poisson.log_prob(np.ones(1), np.zeros((1, 1)), {})[0, 0])
    -1.0
    """

    name: ClassVar[str] = "poisson"

    def parameters(self) -> dict[str, Parameter]:
        """None."""
        return {}

    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Counts 0, 1, 2, ..."""
        require_counts(self.name, targets)

    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """Nothing to guess."""
        return {}

    def log_base(self, targets: Float[Array, " N"]) -> float:
        r"""$-\sum_n\log y_n!$."""
        return -float(special.gammaln(targets + 1.0).sum())

    @classmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        r"""$yf-e^f-\log y!$; $-\infty$ where the rate overflows."""
        with np.errstate(over="ignore"):
            return targets * latent - np.exp(latent) - special.gammaln(targets + 1.0)

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        r"""$yf-e^f$."""
        return targets * latent - pt.exp(latent)
