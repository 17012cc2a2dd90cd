"""Monte Carlo dropout on the last features of a MAP network with learned noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from corners.baselines._dropout import PREDICTION, DropoutMethod, pass_latents, passes_of, uniforms
from corners.baselines._gaussian_networks import GaussianNetworkMethod
from corners.baselines._network_fit import GaussianNetworkFit, validation_scores
from corners.baselines._network_problem import WEIGHTS
from corners.method import METHODS
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class McDropoutFit(GaussianNetworkFit):
    """Fit of :class:`McDropout`; features are those without dropout."""

    passes: int = 50

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> MixturePredictive:
        """``(1/S) Σ_s N((w ⊙ z_s)ᵀψ / (1 - rate), σ²)`` in original units.

        A pass drops the same features at every input: it is one function, and a point's predictive does not depend on
        the points beside it.
        """
        own = self._usable(replicate)
        features, weights = self._features(inputs, replicate), own.params[WEIGHTS]
        draws = uniforms(self.passes, weights.shape[-1], self.seeds[replicate], PREDICTION)
        rate = torch.tensor(own.chosen["rate"], dtype=weights.dtype)
        latents = pass_latents(features, passes_of(weights, draws, rate))
        means = own.standardiser.original_mean(latents.double().numpy())
        noise_var = np.full_like(means, float(self.likelihood.noise_var(own.params)))
        return MixturePredictive(means, own.standardiser.original_var(noise_var))

    def moments(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """The Gaussian with the mixture's mean and variance."""
        return self.predict(inputs, replicate=replicate).moment_matched


@METHODS.register("mc_dropout")
@dataclass(frozen=True)
class McDropout(DropoutMethod, GaussianNetworkMethod):
    """``map`` trained with dropout on its last features, predicting by the mixture over random passes.

    Parameters
    ----------
    rate_grid : probabilities, in [0, 1), that a feature is dropped; with the penalty, chosen by validation NLL of the
        mixture. Rate 0 is ``map``.
    passes : components of the mixture; their masks are derived from the replicate's seed.
    noise : "learned", or the mean square of the "validation" residuals of the mean over the passes.

    Reference: Gal and Ghahramani (2016), Dropout as a Bayesian approximation, section 4; dropout only where the cells
    of the design space are uncertain too, at the last layer.

    Example
    -------
    >>> McDropout().rate_grid, McDropout().passes
    ((0.1,), 50)
    """

    name: str = "mc_dropout"

    def _made(self, **fields: Any) -> McDropoutFit:
        return McDropoutFit(**fields, passes=self.passes)

    def _found(self, fit: McDropoutFit, replicate: int, split: "Split") -> Mapping[str, float]:
        return validation_scores(fit.predict(split.validation.inputs, replicate=replicate), split)
