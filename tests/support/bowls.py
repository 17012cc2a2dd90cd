"""A training problem with a known minimum in every replicate, which can be made to fail at a chosen step."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from corners.covariances._base import Params
from tests.support.problems import normal

NEVER = 10**9


@dataclass
class Bowls:
    """Objective ``‖x - centre‖²`` and validation ``‖x - optimum‖²``, one bowl a replicate.

    ``nan_from``: step from which a replicate's objective is NaN; ``blind_from``: the same for its validation.
    """

    centre: Tensor
    optimum: Tensor
    nan_from: Tensor
    blind_from: Tensor
    steps_seen: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    now: int = 0

    @property
    def count(self) -> int:
        return len(self.centre)

    def objective(self, params: Params, step: int) -> tuple[Tensor, Any]:
        self.now = step
        self.sizes.append(self.count)
        value = (params["x"] - self.centre).square().sum(-1)
        return torch.where(step >= self.nan_from, torch.nan, value), None

    def validation(self, params: Params, state: Any) -> Tensor:
        value = (params["x"] - self.optimum).square().sum(-1)
        return torch.where(self.now >= self.blind_from, torch.nan, value)

    def watched(self, params: Params, state: Any) -> dict[str, Tensor]:
        return {"first": params["x"][:, 0].detach()}

    def adjust(self, params: Params, step: int, state: Any) -> None:
        self.steps_seen.append(step)
        params["x"].clamp_(max=50.0)

    def select(self, index: Tensor) -> "Bowls":
        parts = [part[index] for part in (self.centre, self.optimum, self.nan_from, self.blind_from)]
        return type(self)(*parts, steps_seen=self.steps_seen, sizes=self.sizes, now=self.now)


def bowls(count: int = 3, *, apart: float = 0.0, seed: int = 1) -> Bowls:
    """``count`` bowls; the validation optimum lies ``apart`` from the minimum, so that training overshoots it."""
    centre = normal(seed, count, 2) + 2.0
    never = torch.full((count,), NEVER)
    return Bowls(centre, centre - apart, never, never.clone())


def start(count: int = 3) -> Params:
    """All replicates at the origin, and a parameter that may be frozen."""
    return {"x": torch.zeros(count, 2, dtype=torch.float64), "still": torch.ones(count, dtype=torch.float64)}
