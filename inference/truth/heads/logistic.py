"""Logistic head: labels 0 and 1, P(y = 1 | f) = 1 / (1 + exp(-f)) (theory 6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter, require_codes
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class Logistic(Head):
    r"""$\log p(y\mid f)=-\mathrm{softplus}(-(2y-1)f)$.

    Example
    -------
    >>> float(np.exp(Logistic.log_prob(np.ones(1), np.zeros((1, 1)), {})[0, 0]).round(15))
    0.5
    """

    name: ClassVar[str] = "logistic"

    def parameters(self) -> dict[str, Parameter]:
        """None."""
        return {}

    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Labels 0 and 1."""
        require_codes(self.name, targets, 2)

    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """Nothing to guess."""
        return {}

    @classmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        r"""$-\log(1+e^{-sf})$ with the sign $s=2y-1$."""
        return -np.logaddexp(0.0, (1.0 - 2.0 * targets) * latent)

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same."""
        return -pt.softplus((1.0 - 2.0 * targets) * latent)
