"""Negative binomial head: mean exp(f), variance exp(f) + exp(2f)/r (theory 6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter, require_counts
from inference.truth.heads._graphs import log_rising as log_rising_graph
from inference.truth.heads._special import log_rising
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class NegativeBinomial(Head):
    r"""$\log p(y\mid f)=\log\frac{\Gamma(y+r)}{\Gamma(r)y!}+yf+r\log r-(y+r)\log(r+e^f)$, ``size`` r.

    Example
    -------
    >>> float(np.exp(NegativeBinomial.log_prob(np.zeros(1), np.zeros((1, 1)), {"size": 1.0})[0, 0]).round(15))
    0.5
    """

    size: Parameter = 1.0
    name: ClassVar[str] = "negative_binomial"

    def parameters(self) -> dict[str, Parameter]:
        """The size r."""
        return {"size": self.size}

    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Counts 0, 1, 2, ..."""
        require_counts(self.name, targets)

    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """A size of 1: neither near zero nor a Poisson."""
        return {"size": 1.0}

    def log_base(self, targets: Float[Array, " N"]) -> float:
        r"""$-\sum_n\log y_n!$."""
        return -float(special.gammaln(targets + 1.0).sum())

    @classmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        r"""With $\log\frac{\Gamma(y+r)}{\Gamma(r)r^y}-\log y!+yf-(y+r)\,\mathrm{softplus}(f-\log r)$."""
        size = parameters["size"]
        lift = np.logaddexp(0.0, latent - np.log(size))
        constant = log_rising(targets, size) - special.gammaln(targets + 1.0)
        return constant + targets * latent - (targets + size) * lift

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same without ``-log y!``."""
        size = parameters["size"]
        lift = pt.softplus(latent - pt.log(size))
        return log_rising_graph(pt, targets, size) + targets * latent - (targets + size) * lift
