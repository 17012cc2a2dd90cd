"""Networks with Gaussian noise: how their targets are scaled, and where their noise comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from corners.baselines._heads import Head
from corners.baselines._network_problem import MapProblem
from corners.baselines._networks import NetworkMethod, require_choice
from corners.covariances._base import Params
from corners.data.batch import SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR, Gaussian
from corners.protocols import Protocol

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class GaussianNetworkMethod(NetworkMethod):
    """A :class:`NetworkMethod` for regression; ``noise`` is that of :class:`MapProblem`."""

    likelihood: Gaussian = field(default_factory=Gaussian)
    scale_targets: bool = True
    noise: str = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("noise", self.noise)
        if self.noise == "validation" and self.likelihood.noise_scale is not None:
            raise SpecError(
                f"noise='validation' takes the noise from the validation residuals, but the likelihood gives "
                f"noise_scale={self.likelihood.noise_scale}; leave one of the two out"
            )

    @classmethod
    def _from_protocol(cls, protocol: Protocol) -> dict[str, Any]:
        return {"scale_targets": protocol.scale_targets, "noise": protocol.noise}

    def _head(self, splits: "Sequence[Split]") -> Gaussian:
        return self.likelihood

    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        return stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)

    def _problem(self, head: Head, data: SplitBatch, seeds: list[int], size: int) -> MapProblem:
        return replace(super()._problem(head, data, seeds, size), noise=self.noise)

    def _frozen(self, head: Head) -> frozenset[str]:
        return super()._frozen(head) | ({LOG_NOISE_VAR} if self.noise == "validation" else set())

    def _init(self, head: Head, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params = super()._init(head, data, generators)
        if self.noise == "validation":
            params[LOG_NOISE_VAR] = torch.zeros_like(params[LOG_NOISE_VAR])
        return params
