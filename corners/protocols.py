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
    "precision_start",
    "noise_start",
    "covariance_start",
)
"""Choices that are positive numbers, or None where None means "without"."""
NOT_NEGATIVE = ("threshold", "backbone_penalty", "jitter", "evidence_tied", "mean_start_var")
CHOICES = {
    "dtype": ("float64", "float32"),
    "reduction": ("sum", "mean"),
    "stopping": ("validation_nll", "combined"),
    "noise": ("learned", "validation"),
    "vbll_start": ("fair", "as_published"),
}
GRIDS = ("penalty_grid", "precision_grid", "vbll_weights")


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
    reduction : "sum" minimises the free energy over all points, "mean" that divided by their number; the penalty of the
        hidden weights is added undivided, so that it weighs N times as much beside a mean.
    stopping : what stops the cells early: "validation_nll", or "combined" with the calibration error (theory 7.4).
        References stop on validation NLL.
    precision_start, precision_bounded : where the prior precision of the cells starts, and whether the bounds of theory
        5.7 hold for it.
    noise_start : start of the noise scale in the units trained in; ``None`` takes ``σ² = var(y) / 2``.
    covariance_start, mean_start_var : a free belief starts at the covariance ``covariance_start² I`` and a mean drawn
        from ``N(0, mean_start_var / H)``.
    noise : of references that train a point, "learned" with it, or set to the "validation" mean squared error.
    precision_grid : fixed prior precisions of the cross-validated cells, chosen by validation NLL.
    vbll_start, vbll_weights : the start of vbll's noise and the weights of its KL term ("fair" takes ``1/N`` instead).
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
    reduction: str = "sum"
    stopping: str = "validation_nll"
    precision_start: float = 1.0
    precision_bounded: bool = True
    noise_start: float | None = None
    covariance_start: float = 0.1
    mean_start_var: float = 0.01
    noise: str = "learned"
    precision_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    vbll_start: str = "fair"
    vbll_weights: tuple[float, ...] = (0.1,)

    def __post_init__(self) -> None:
        for field, allowed in CHOICES.items():
            if getattr(self, field) not in allowed:
                spelt = " or ".join(map(repr, allowed))
                raise SpecError(f"{field} must be {spelt}; got {getattr(self, field)!r}")
        for field in POSITIVE:
            value = getattr(self, field)
            if value is not None and not 0.0 < value < math.inf:
                raise SpecError(f"{field} must be positive and finite; got {value}")
        for field in NOT_NEGATIVE:
            if not 0.0 <= getattr(self, field) < math.inf:
                raise SpecError(f"{field} must be at least 0 and finite; got {getattr(self, field)}")
        for field in GRIDS:
            require_grid(field, getattr(self, field), positive=field != "penalty_grid")

    def to_dict(self) -> dict[str, Any]:
        """Every choice by name, for provenance."""
        return asdict(self)


def require_penalty_grid(grid: tuple[float, ...]) -> None:
    """Refuse a grid of penalties that is empty or holds anything but finite numbers from 0."""
    require_grid("penalty_grid", grid)


def require_grid(name: str, grid: tuple[float, ...], *, positive: bool = False) -> None:
    """Refuse a grid that is empty or holds anything but finite numbers, from 0 or above it."""
    if not grid or not all(0.0 <= value < math.inf and (value > 0.0 or not positive) for value in grid):
        smallest = "above 0" if positive else "at least 0"
        raise SpecError(f"{name} must hold at least one number, each {smallest} and finite; got {grid}")


PAPER_V1 = Protocol(
    "paper_v1",
    scale_targets=False,
    hidden_bias=False,
    learning_rate=0.03,
    patience=50,
    precision_shape=None,
    noise_shape=None,
    penalty_grid=(0.1,),
    dtype="float32",
    precision_bounded=False,
    noise="validation",
    vbll_start="as_published",
)
"""The protocol of the direct Bethe minimisation paper, arXiv:2605.08446 (design, section 9).

Its open choices are taken as the sum over points, the starts of theory 5.8 and half of ``0.1 ‖w‖²`` as penalty.
"""

PROTOCOLS = {"default": Protocol("default"), "paper_v1": PAPER_V1}


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
