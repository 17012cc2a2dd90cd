"""Probit head: labels 0 and 1, P(y = 1 | f) = Φ(f) (theory 6.1, 10.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from scipy import special

from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter, require_codes
from inference.truth.heads._graphs import log_ndtr
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class Probit(Head):
    r"""$\log p(y\mid f)=\log\Phi((2y-1)f)$.

    Example
    -------
    >>> import numpy as np
    >>> float(np.exp(Probit.log_prob(np.ones(1), np.zeros((1, 1)), {})[0, 0]))
    0.5
    """

    name: ClassVar[str] = "probit"

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
        r"""$\log\Phi(sf)$ with the sign $s=2y-1$."""
        return special.log_ndtr((2.0 * targets - 1.0) * latent)

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same, by erfcx in the lower tail."""
        return log_ndtr(pt, (2.0 * targets - 1.0) * latent)
