"""The free energy of a cell, term by term (theory 2)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class FreeEnergy:
    """``F = data + prior + hyperprior + penalty``: totals in nats, minimised, one a replicate.

    data : ``Σ_n -log Z_n`` under the cavity's marginals (scaled up to all data in a mini-batch).
    prior : ``-log Z_w``, zero in the sequential and leave-one-out corners, where the prior enters through the cavity.
    hyperprior : negative log hyperpriors of precision and noise, constants dropped; never rescaled in a mini-batch.
    penalty : weight times the squared norm of the hidden weights; never rescaled either.
    """

    data: Float[Tensor, "*B"]
    prior: Float[Tensor, "*B"]
    hyperprior: Float[Tensor, "*B"]
    penalty: Float[Tensor, "*B"]

    @property
    def total(self) -> Float[Tensor, "*B"]:
        """What is minimised."""
        return self.data + self.prior + self.hyperprior + self.penalty
