"""Monte Carlo dropout on the last features of a cross-entropy network."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.baselines._dropout import PREDICTION, DropoutMethod, pass_latents, passes_of, uniforms
from corners.baselines._network_problem import WEIGHTS
from corners.baselines._softmax_networks import SoftmaxNetworkFit, SoftmaxNetworkMethod
from corners.method import METHODS
from corners.types import Array


@dataclass(frozen=True)
class SoftmaxDropoutFit(SoftmaxNetworkFit):
    """Fit of :class:`SoftmaxDropout`; features are those without dropout."""

    passes: int = 50

    def _draws(self, inputs: Array, replicate: int) -> Float[Tensor, "S K N"]:
        """A pass drops the same features at every input and for every class: it is one function."""
        own = self._usable(replicate)
        weights = own.params[WEIGHTS]
        draws = uniforms(self.passes, weights.shape[-1], self.seeds[replicate], PREDICTION)
        rate = torch.tensor(own.chosen["rate"], dtype=weights.dtype)
        return pass_latents(self._features(inputs, replicate), passes_of(weights, draws, rate))


@METHODS.register("softmax_dropout")
@dataclass(frozen=True)
class SoftmaxDropout(DropoutMethod, SoftmaxNetworkMethod):
    """``softmax`` trained with dropout on its last features, predicting by the mixture over random passes.

    Parameters
    ----------
    rate_grid : probabilities, in [0, 1), that a feature is dropped; with the penalty, chosen by validation NLL of the
        mixture. Rate 0 is ``softmax``.
    passes : components of the mixture; their masks are derived from the replicate's seed.
    temperature : fit one temperature of the mixture on the validation part.

    Reference: Gal and Ghahramani (2016), Dropout as a Bayesian approximation, section 4; dropout only where the cells
    of the design space are uncertain too, at the last layer.

    Example
    -------
    >>> SoftmaxDropout().rate_grid, SoftmaxDropout().passes
    ((0.1,), 50)
    """

    name: str = "softmax_dropout"

    def _made(self, **fields: Any) -> SoftmaxDropoutFit:
        return SoftmaxDropoutFit(**fields, passes=self.passes)
