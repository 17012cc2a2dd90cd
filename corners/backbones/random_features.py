"""Random Fourier features: a fixed random basis whose length scale alone is trained."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones import BACKBONES
from corners.backbones._base import PREFIX, Backbone, Params
from corners.errors import SpecError

FREQUENCY, PHASE, LOG_LENGTH = f"{PREFIX}frequency", f"{PREFIX}phase", f"{PREFIX}log_length_scale"


@BACKBONES.register("random_features")
@dataclass(frozen=True)
class RandomFeatures(Backbone):
    """``ψ_h(x) = √2 cos(ω_hᵀx / ℓ + b_h)``, ``ω ~ N(0, I)``, ``b ~ U(0, 2π)``.

    ``ψᵀψ'/H`` tends to the squared-exponential kernel of length scale ``ℓ`` as H grows (Rahimi and Recht 2007,
    "Random features for large-scale kernel machines"). ``ℓ`` starts at ``√D`` unless given.

    Example
    -------
    >>> RandomFeatures(count=100).count
    100
    """

    count: int = 50
    length_scale: float | None = None
    learned: bool = True
    name: ClassVar[str] = "random_features"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SpecError(f"count is the number of features and must be at least 1; got {self.count}")
        if self.length_scale is not None and not 0.0 < self.length_scale < float("inf"):
            raise SpecError(f"length_scale must be positive and finite; got {self.length_scale}")

    @classmethod
    def example(cls) -> "RandomFeatures":
        """A member for the law suite."""
        return cls(count=6)

    @property
    def frozen(self) -> frozenset[str]:
        """Frequencies and phases always; the length scale when it is fixed."""
        fixed = {FREQUENCY, PHASE}
        return frozenset(fixed if self.learned else fixed | {LOG_LENGTH})

    def init(self, columns: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """One random basis a replicate."""
        frequency = [torch.randn(columns, self.count, generator=each, dtype=torch.float64) for each in generators]
        phase = [torch.rand(1, self.count, generator=each, dtype=torch.float64) for each in generators]
        start = torch.tensor(self.length_scale or columns**0.5, dtype=dtype).log()
        return {
            FREQUENCY: torch.stack(frequency).to(dtype),
            PHASE: (2.0 * torch.pi * torch.stack(phase)).to(dtype),
            LOG_LENGTH: start.expand(len(generators)).clone(),
        }

    def features(self, params: Params, inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N H"]:
        """``√2 cos(x ω / ℓ + b)``."""
        angle = (inputs @ params[FREQUENCY]) * (-params[LOG_LENGTH]).exp()[..., None, None]
        return 2.0**0.5 * torch.cos(angle + params[PHASE])

    def penalty(self, params: Params) -> float:
        """Zero: nothing grows with training."""
        return 0.0
