"""Fits whose last layer is plain numbers a replicate: the peer that made them is not needed to predict."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import Fit, LastLayer
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@runtime_checkable
class TrainedHead(Protocol):
    """One replicate: the backbone below its last layer, the units it was trained in, and its hyperparameters."""

    @property
    def backbone_params(self) -> Params:
        """The backbone's own parameters in double precision."""
        ...

    @property
    def standardiser(self) -> Standardiser:
        """From original units and back."""
        ...

    @property
    def learned(self) -> Mapping[str, float]:
        """Hyperparameters by name."""
        ...


H = TypeVar("H", bound=TrainedHead)


class HeadFit(Fit, Generic[H]):
    """What such fits share; a subclass is a dataclass with these fields and says how a head predicts."""

    backbone: Backbone
    heads: tuple[H | None, ...]

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """Features of inputs in original units."""
        return self._features(inputs, self._usable(replicate)).numpy()

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: the belief belongs to no cell of the design space, whose conditions the comparison would check."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """Hyperparameters by name."""
        head = self.heads[replicate]
        return {} if head is None else dict(head.learned)

    def _features(self, inputs: Array, head: H) -> Tensor:
        with torch.no_grad():
            return self.backbone.features(head.backbone_params, torch.tensor(head.standardiser.inputs(inputs)))

    def _usable(self, replicate: int) -> H:
        head, status = self.heads[replicate], self.statuses[replicate]
        if head is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return head
