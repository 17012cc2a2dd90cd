"""The objective that the baselines made of networks share: a penalised likelihood of many networks at once."""

from dataclasses import dataclass, field, replace

from jaxtyping import Float
from torch import Tensor, minimum

from corners.backbones._base import Backbone
from corners.baselines._heads import Head
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.likelihoods.gaussian import LOG_NOISE_VAR

WEIGHTS = "weights"
"""The last layer: ``(B, H)`` for one latent function, ``(B, K, H)`` for K of them."""
OFFSET = "offset"
"""What is added to the latent function of a replicate, where its head has such a constant; never trained."""


def latent_values(weights: Tensor, features: Float[Tensor, "*B N H"]) -> Tensor:
    """``Wψ_n``: shape ``(*B, N)`` for weights ``(*B, H)``, ``(*B, K, N)`` for weights ``(*B, K, H)``."""
    if weights.dim() == features.dim():
        return weights @ features.mT
    return (features @ weights[..., None])[..., 0]


def shifted(params: Params, latent: Tensor) -> Tensor:
    """Latent values with the offset, where there is one."""
    return latent + params[OFFSET][..., None] if OFFSET in params else latent


@dataclass(frozen=True)
class MapProblem:
    """``Σ_n -log p(y_n | Wψ_n) + ½ λ ‖W‖² + λ_bb ‖W_hidden‖²`` for every pair of replicate and penalty λ.

    ``W`` has one row a latent function: one for real numbers and counts, K for classes.

    ``λ`` is halved: beside a log likelihood it is the precision of a Gaussian prior on ``w``. Where a publication says
    "penalty 0.1" without the half it may mean ``0.1 ‖w‖²``, which is ``λ = 0.2`` here.

    Parameters
    ----------
    noise : of a Gaussian head, "learned" by gradient; or "validation": the variance is 1 while training, so that the
        sum is half the sum of squared residuals (up to a constant), and the mean square of the validation residuals in
        all that is scored.
    reduction : "mean" divides the sum over points by their number, and leaves both penalties as they are.
    """

    backbone: Backbone
    likelihood: Head
    data: SplitBatch
    penalties: Float[Tensor, " B"]
    backbone_penalty: float
    noise: str = field(default="learned", kw_only=True)
    reduction: str = field(default="sum", kw_only=True)

    @property
    def count(self) -> int:
        """Number of pairs of replicate and penalty."""
        return self.data.count

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], None]:
        """The penalised negative log likelihood in nats, a total unless the reduction is a mean."""
        losses = self.losses(params, step)
        misfit = losses.mean(-1) if self.reduction == "mean" else losses.sum(-1)
        penalty = 0.5 * self.penalties * self.squared_norm(params)
        return misfit + penalty + self.backbone_penalty * self.backbone.penalty(params), None

    def validation(self, params: Params, state: None) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part."""
        return self._nll(self.scored(params), self.data.validation)

    def watched(self, params: Params, state: None) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL for the trace, and the noise scale where there is one."""
        own = self.scored(params)
        noise_scale = self.noise_scale(own)
        noise = {} if noise_scale is None else {"noise_scale": noise_scale * self.data.log_scale.exp()}
        return {"test_nll": self._nll(own, self.data.test), **noise}

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Clamp what the likelihood learns."""
        if self.noise != "learned":
            return
        for name, (low, high) in self.likelihood.bounds().items():
            params[name].clamp_(low, high)
        for name, bound in self.likelihood.ceiling(params).items():
            params[name].copy_(minimum(params[name], bound))

    def select(self, index: Tensor) -> "MapProblem":
        """The pairs ``index`` alone."""
        return replace(self, data=self.data.select(index), penalties=self.penalties[index])

    def scored(self, params: Params) -> Params:
        """The parameters that predictions are made with: those trained, with the noise of the validation residuals."""
        if self.noise == "learned":
            return params
        part, floor = self.data.validation, self.likelihood.bounds()[LOG_NOISE_VAR][0]
        mean_square = (part.targets - self.mean(params, part)).square().mean(-1)
        return params | {LOG_NOISE_VAR: mean_square.log().clamp(min=floor)}

    def mean(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Predictive mean of every point under a Gaussian head, in the units trained in."""
        return self.latent(params, part)

    def latent(self, params: Params, part: PartBatch) -> Float[Tensor, "B *K N"]:
        """``Wψ_n`` of every point, with the offset."""
        return shifted(params, latent_values(params[WEIGHTS], self.backbone.features(params, part.inputs)))

    def losses(self, params: Params, step: int) -> Float[Tensor, "B N"]:
        """What the objective sums over the training points."""
        return -self.log_prob(params, self.data.train)

    def log_prob(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Log predictive density of every point, in the units trained in."""
        return self.likelihood.log_prob(params, part.targets, self.latent(params, part))

    def squared_norm(self, params: Params) -> Float[Tensor, " B"]:
        """What the penalty λ multiplies, halved."""
        return params[WEIGHTS].square().flatten(1).sum(-1)

    def noise_scale(self, params: Params) -> Float[Tensor, " B"] | None:
        """σ in the units trained in; None where the head has no Gaussian noise."""
        noise_var = self.likelihood.noise_var(params)
        return None if noise_var is None else noise_var.detach().sqrt()

    def _nll(self, params: Params, part: PartBatch) -> Tensor:
        return -self.log_prob(params, part).mean(-1) + self.data.log_scale
