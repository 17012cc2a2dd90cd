"""The objective that the baselines made of networks share: a penalised likelihood of many networks at once."""

from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor, minimum

from corners.backbones._base import Backbone
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.likelihoods.gaussian import LOG_NOISE_VAR, Gaussian

WEIGHTS = "weights"


@dataclass(frozen=True)
class MapProblem:
    """``Σ_n -log p(y_n | wᵀψ_n) + ½ λ ‖w‖² + λ_bb ‖W_hidden‖²`` for every pair of replicate and penalty λ."""

    backbone: Backbone
    likelihood: Gaussian
    data: SplitBatch
    penalties: Float[Tensor, " B"]
    backbone_penalty: float

    @property
    def count(self) -> int:
        """Number of pairs of replicate and penalty."""
        return self.data.count

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], None]:
        """The penalised negative log likelihood, a total in nats."""
        penalty = 0.5 * self.penalties * self.squared_norm(params)
        return self.losses(params, step).sum(-1) + penalty + self.backbone_penalty * self.backbone.penalty(params), None

    def validation(self, params: Params, state: None) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part."""
        return self._nll(params, self.data.validation)

    def watched(self, params: Params, state: None) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL and noise scale for the trace."""
        noise_scale = self.noise_scale(params) * self.data.log_scale.exp()
        return {"test_nll": self._nll(params, self.data.test), "noise_scale": noise_scale}

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Clamp the noise."""
        for name, (low, high) in self.likelihood.bounds().items():
            params[name].clamp_(low, high)
        for name, bound in self.likelihood.ceiling(params).items():
            params[name].copy_(minimum(params[name], bound))

    def select(self, index: Tensor) -> "MapProblem":
        """The pairs ``index`` alone."""
        return replace(self, data=self.data.select(index), penalties=self.penalties[index])

    def losses(self, params: Params, step: int) -> Float[Tensor, "B N"]:
        """What the objective sums over the training points."""
        return -self.log_prob(params, self.data.train)

    def log_prob(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Log predictive density of every point, in the units trained in."""
        latent = (self.backbone.features(params, part.inputs) @ params[WEIGHTS][..., None])[..., 0]
        return self.likelihood.log_prob(params, part.targets, latent)

    def squared_norm(self, params: Params) -> Float[Tensor, " B"]:
        """What the penalty λ multiplies, halved."""
        return params[WEIGHTS].square().sum(-1)

    def noise_scale(self, params: Params) -> Float[Tensor, " B"]:
        """σ in the units trained in."""
        return (0.5 * params[LOG_NOISE_VAR].detach()).exp()

    def _nll(self, params: Params, part: PartBatch) -> Tensor:
        return -self.log_prob(params, part).mean(-1) + self.data.log_scale
