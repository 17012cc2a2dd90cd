"""Named, versioned protocols: every choice of training and evaluation that is not a method's own."""

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from corners.errors import SpecError, UnknownNameError
from corners.registry import unknown_name_message

POSITIVE = (
    "learning_rate",
    "max_steps",
    "patience",
    "batch_size",
    "precision_shape",
    "precision_cap",
    "noise_shape",
    "noise_relative_scale",
)
"""Choices that are positive numbers, or None where None means "without"."""
NOT_NEGATIVE = ("threshold", "backbone_penalty", "jitter", "evidence_tied")


@dataclass(frozen=True)
class Protocol:
    """How every method of a comparison is trained and scored.

    Parameters
    ----------
    scale_targets : divide centred targets by their training standard deviation; scores stay on the original scale.
    hidden_bias : biases in hidden layers; never a bias column among the last layer's features.
    learning_rate, max_steps, patience, threshold : Adam, and early stopping on validation NLL (nats a point).
    batch_size : rows of a mini-batch for the shared free cells; ``None`` is full batch.
    backbone_penalty : weight of the squared norm of hidden weights, added to the summed objective.
    jitter : ε added to Σ in the shared cells and the free covariances (theory 5.6).
    precision_shape, precision_cap : Gamma hyperprior of the prior precision where the objective has a prior term;
        ``None`` means no hyperprior.
    noise_shape, noise_relative_scale : inverse-gamma hyperprior of the noise variance there; ``None`` means none.
    evidence_tied : steps between MacKay updates of the prior precision; 0 learns it by gradient (theory 7.4).
    penalty_grid : last-layer penalties of the references, chosen by validation NLL.
    dtype : "float64" or "float32".
    """

    name: str
    scale_targets: bool = True
    hidden_bias: bool = True
    learning_rate: float = 0.01
    max_steps: int = 5000
    patience: int = 100
    threshold: float = 1e-6
    batch_size: int | None = None
    backbone_penalty: float = 0.01
    jitter: float = 1e-4
    precision_shape: float | None = 2.0
    precision_cap: float = 100.0
    noise_shape: float | None = 1.0
    noise_relative_scale: float = 0.01
    evidence_tied: int = 0
    penalty_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.dtype not in ("float64", "float32"):
            raise SpecError(f"dtype must be 'float64' or 'float32'; got {self.dtype!r}")
        for field in POSITIVE:
            value = getattr(self, field)
            if value is not None and not 0.0 < value < math.inf:
                raise SpecError(f"{field} must be positive and finite; got {value}")
        for field in NOT_NEGATIVE:
            if not 0.0 <= getattr(self, field) < math.inf:
                raise SpecError(f"{field} must be at least 0 and finite; got {getattr(self, field)}")
        require_penalty_grid(self.penalty_grid)

    def to_dict(self) -> dict[str, Any]:
        """Every choice by name, for provenance."""
        return asdict(self)


def require_penalty_grid(grid: tuple[float, ...]) -> None:
    """Refuse a grid of penalties that is empty or holds anything but finite numbers from 0."""
    if not grid or not all(0.0 <= penalty < math.inf for penalty in grid):
        raise SpecError(f"penalty_grid must hold at least one penalty, each at least 0 and finite; got {grid}")


PROTOCOLS = {"default": Protocol("default")}


def get_protocol(name: str | Protocol) -> Protocol:
    """The protocol called ``name``, or the protocol itself.

    Example
    -------
    >>> get_protocol("default").patience
    100
    """
    if isinstance(name, Protocol):
        return name
    if name not in PROTOCOLS:
        raise UnknownNameError(unknown_name_message("protocol", name, sorted(PROTOCOLS)))
    return PROTOCOLS[name]


def with_options(protocol: Protocol, **options: Any) -> Protocol:
    """The protocol with some choices replaced; its name says so.

    Example
    -------
    >>> with_options(get_protocol("default"), patience=20).name
    'default (patience=20)'
    """
    if not options:
        return protocol
    known = [field.name for field in fields(protocol) if field.name != "name"]
    for name in options:
        if name not in known:
            raise SpecError(unknown_name_message("choice of a protocol", name, known))
    changed = ", ".join(f"{name}={value}" for name, value in options.items())
    return replace(protocol, name=f"{protocol.name} ({changed})", **options)
