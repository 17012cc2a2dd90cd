"""Linear models on the standardised inputs: no network, no bias, fitted in closed form one split after another."""

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from corners.backbones._base import Backbone
from corners.backbones.identity import Identity
from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit
from corners.baselines._tasks import require_task
from corners.data.standardiser import Standardiser
from corners.exact import Evidence
from corners.method import Fit, FitStatus, Method, Trace, require_one_seed_a_split
from corners.optimise import Watcher
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class LinearMethod(Method):
    """``y = wᵀx + noise`` with standardised inputs and centred targets, in double precision; seeds play no part."""

    scale_targets: bool = True
    name: str = ""

    @classmethod
    def example(cls) -> "LinearMethod":
        """A small member for the law suite."""
        return cls()

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "LinearMethod":
        """As the protocol says of the targets; the backbone and the penalties of networks play no part."""
        return cls(scale_targets=protocol.scale_targets)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> GaussianHeadFit:
        """Fit one model a split, one after another."""
        require_task(self, splits)
        require_one_seed_a_split(splits, seeds)
        started = time.perf_counter()
        found: list[tuple[GaussianHead | None, FitStatus]] = []
        for split in splits:
            standardiser = Standardiser.fit(split.train, self.scale_targets)
            inputs, targets = standardiser.inputs(split.train.inputs), standardiser.targets(split.train.targets)
            found.append(self._fit_one(Evidence(inputs, targets), standardiser, split))
            if progress is not None:
                progress(len(found), len(splits) - len(found), float("nan"))
        return GaussianHeadFit(
            method=self.name,
            backbone=Identity(),
            seeds=tuple(seeds),
            statuses=tuple(status for _, status in found),
            heads=tuple(head for head, _ in found),
            trace=Trace(np.zeros(0)),
            seconds=time.perf_counter() - started,
        )

    @abstractmethod
    def _fit_one(
        self, evidence: Evidence, standardiser: Standardiser, split: "Split"
    ) -> tuple[GaussianHead | None, FitStatus]:
        """The belief on one split, whose training part ``evidence`` holds."""


def linear_head(
    standardiser: Standardiser,
    mean: Float[Array, " D"],
    covariance: Float[Array, "D D"],
    noise_var: float,
    learned: Mapping[str, float],
) -> GaussianHead:
    """A belief about the weights of a linear model; its noise scale in original units joins what was learned."""
    noise_scale = noise_var**0.5 * standardiser.target_scale
    return GaussianHead(
        {},
        standardiser,
        torch.tensor(mean),
        torch.tensor(covariance),
        noise_var,
        {"noise_scale": noise_scale, **learned},
    )
