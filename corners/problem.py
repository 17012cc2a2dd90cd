"""What a method hands to the optimiser: its problem, and the schedule it is trained under."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from corners.covariances._base import Params
from corners.errors import SpecError


@runtime_checkable
class Problem(Protocol):
    """What a method hands to :func:`train`; all tensors have one leading replicate dimension."""

    @property
    def count(self) -> int:
        """Number of replicates."""
        ...

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], Any]:
        """Objective (a total in nats, minimised) inside the graph, and a state that scoring can reuse."""
        ...

    def validation(self, params: Params, state: Any) -> Float[Tensor, " B"]:
        """Validation NLL in nats a point, original units."""
        ...

    def watched(self, params: Params, state: Any) -> dict[str, Float[Tensor, " B"]]:
        """Further quantities for the trace; they never influence training."""
        ...

    def adjust(self, params: Params, step: int, state: Any) -> None:
        """After a step, in place: clamp to bounds and make updates that are no gradient steps."""
        ...

    def select(self, index: Tensor) -> "Problem":
        """The problem of the replicates ``index`` alone."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """A problem that can also say how calibrated its validation predictions are."""

    def calibration_error(self, params: Params, state: Any) -> Float[Tensor, " B"]:
        """Mean of |coverage - level| over the levels of theory 11."""
        ...


@dataclass(frozen=True)
class Schedule:
    """Adam and early stopping; ``patience`` counts checks of the validation part, one every ``check_every`` steps.

    ``stopping``: what must fall, the validation NLL or, "combined", its running median of five checks plus the
    calibration error (theory 7.4).
    """

    learning_rate: float
    max_steps: int
    patience: int
    threshold: float
    check_every: int = 1
    trace_every: int = 10
    stopping: str = "validation_nll"

    def __post_init__(self) -> None:
        if self.stopping not in ("validation_nll", "combined"):
            raise SpecError(f"stopping must be 'validation_nll' or 'combined'; got {self.stopping!r}")
