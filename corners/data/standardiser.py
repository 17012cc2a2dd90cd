"""Centring and scaling learnt on the training part, and the way back to original units."""

import math
from dataclasses import dataclass

import numpy as np

from corners.data._arrays import FrozenArrays, frozen
from corners.data.split import Part
from corners.errors import DataError
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class Standardiser(FrozenArrays):
    """``x' = (x - input_mean) / input_scale`` and ``y' = (y - target_mean) / target_scale``.

    Parameters
    ----------
    input_mean, input_scale : (D,), units of the inputs; the scale of a constant column is 1.
    target_mean, target_scale : units of the target; the scale is 1 where targets are only centred, or constant.
    constant_target : the training targets were all the same, so nothing could be scaled.

    Example
    -------
    >>> from corners.data.split import Part
    >>> s = Standardiser.fit(Part([[1.0], [3.0]], [10.0, 30.0]), scale_targets=True)
    >>> s.inputs([[5.0]]).tolist(), s.targets([30.0]).tolist(), s.original_var(np.array([1.0])).tolist()
    ([[3.0]], [1.0], [100.0])
    """

    input_mean: Float[Array, " D"]
    input_scale: Float[Array, " D"]
    target_mean: float
    target_scale: float
    constant_target: bool = False

    def __post_init__(self) -> None:
        for name in ("input_mean", "input_scale"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not (np.all(self.input_scale > 0) and self.target_scale > 0):
            raise DataError("a scale is zero or negative; scales must be positive (1 for a constant column)")

    @classmethod
    def fit(cls, part: Part, scale_targets: bool, *, codes: bool = False) -> "Standardiser":
        """Means and standard deviations (ddof 0) of one part; targets are centred, and scaled only when asked.

        Targets that are ``codes``, labels or counts, are neither. Several outputs are for ``OutputStandardiser``.

        A multiplication of the targets by a power of two multiplies ``target_mean`` and ``target_scale`` exactly, so
        that the scaled targets are the same to the last bit.
        """
        if part.n == 0:
            raise DataError("a part without rows has no mean; at least one row is needed")
        if part.outputs > 1:
            raise DataError(
                f"targets have shape {part.targets.shape}, and here only one output is taken: (N,); the cells take "
                f"several, with likelihood Gaussian(outputs={part.outputs})"
            )
        input_mean, input_scale = _location_scale(part.inputs)
        if codes:
            return cls(input_mean, input_scale, 0.0, 1.0)
        target_mean, target_scale = (float(each[0]) for each in _location_scale(part.targets[:, None]))
        constant = _is_constant(part.targets[:, None])
        scale = target_scale if scale_targets else 1.0
        return cls(input_mean, input_scale, target_mean, scale, constant_target=bool(constant[0]))

    def inputs(self, inputs: object) -> Float[Array, "N D"]:
        """Standardised inputs; (N,) is taken as one column."""
        x = np.asarray(inputs, dtype=np.float64)
        wide = x[:, None] if x.ndim == 1 else x
        if wide.ndim != 2 or wide.shape[1] != len(self.input_mean):
            columns = len(self.input_mean)
            raise DataError(
                f"inputs have shape {x.shape}; the standardiser was fitted on (N, {columns}): give as many columns"
            )
        if not np.isfinite(wide).all():
            row, column = (int(each) for each in np.argwhere(~np.isfinite(wide))[0])
            raise DataError(
                f"inputs hold NaN or infinity (first in row {row}, column {column}); drop or fill such entries"
            )
        return (wide - self.input_mean) / self.input_scale

    def targets(self, targets: object) -> Float[Array, " N"]:
        """Centred and scaled targets; (N, 1) is taken as (N,)."""
        y = np.asarray(targets, dtype=np.float64)
        flat = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if flat.ndim != 1:
            raise DataError(f"targets have shape {y.shape}; they must be (N,) or (N, 1)")
        return (flat - self.target_mean) / self.target_scale

    def original_mean(self, mean: Float[Array, "*B N"]) -> Float[Array, "*B N"]:
        """``target_mean + target_scale * mean``: a predictive mean in the target's unit."""
        return mean * self.target_scale + self.target_mean

    def original_var(self, var: Float[Array, "*B N"]) -> Float[Array, "*B N"]:
        """``target_scale**2 * var``: a predictive variance in the squared unit of the target."""
        return var * self.target_scale**2

    @property
    def log_scale(self) -> float:
        """``log target_scale``: what a change to original units adds to a negative log density, in nats a point."""
        return math.log(self.target_scale)


@dataclass(frozen=True, eq=False)
class OutputStandardiser(Standardiser):
    """The same for P outputs, each centred and scaled by itself: ``target_mean`` and ``target_scale`` are (P,).

    ``constant_target`` says that one of the outputs is constant in the training part.

    Example
    -------
    >>> from corners.data.split import Part
    >>> s = OutputStandardiser.fit(Part([[1.0], [3.0]], [[10.0, 0.0], [30.0, 1.0]], outputs=2), scale_targets=True)
    >>> s.targets([[30.0, 0.5]]).tolist(), s.original_var(np.ones((1, 2))).tolist()
    ([[1.0, 0.0]], [[100.0, 0.25]])
    """

    # One output has numbers here; every formula above holds for arrays as it stands.
    target_mean: Float[Array, " P"]  # type: ignore[assignment]
    target_scale: Float[Array, " P"]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("input_mean", "input_scale", "target_mean", "target_scale"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not (np.all(self.input_scale > 0) and np.all(self.target_scale > 0)):
            raise DataError("a scale is zero or negative; scales must be positive (1 for a constant column)")

    @classmethod
    def fit(cls, part: Part, scale_targets: bool, *, codes: bool = False) -> "OutputStandardiser":
        """Means and standard deviations (ddof 0) of one part, every output by itself; outputs are never ``codes``."""
        if part.n == 0 or part.outputs == 1 or codes:
            raise DataError(
                f"several outputs are (N, P) real numbers with P > 1 and at least one row; got targets of shape "
                f"{part.targets.shape}" + (" that are codes" if codes else "")
            )
        target_mean, target_scale = _location_scale(part.targets)
        scale = target_scale if scale_targets else np.ones_like(target_scale)
        constant = bool(_is_constant(part.targets).any())
        return cls(*_location_scale(part.inputs), target_mean, scale, constant_target=constant)

    def targets(self, targets: object) -> Float[Array, "N P"]:
        """Centred and scaled targets, (N, P)."""
        y = np.asarray(targets, dtype=np.float64)
        if y.ndim != 2 or y.shape[1] != len(self.target_mean):
            raise DataError(f"targets have shape {y.shape}; they must be (N, {len(self.target_mean)})")
        return (y - self.target_mean) / self.target_scale

    @property
    def log_scale(self) -> float:
        """``Σ_p log target_scale_p``: what original units add to a joint negative log density, in nats a point."""
        return float(np.log(self.target_scale).sum())


def _is_constant(columns: Float[Array, "N D"]) -> Array:
    """All rows equal, up to the rounding of their own mean: a scale-free test."""
    spread = columns.max(axis=0) - columns.min(axis=0)
    return spread <= 8.0 * np.finfo(np.float64).eps * np.abs(columns).max(axis=0)


def _location_scale(columns: Float[Array, "N D"]) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
    """Mean and standard deviation (ddof 0) of each column; 1 where it is constant.

    The deviations are divided by a power of two before they are squared: exact, and neither 1e-200 nor 1e200 is lost.
    """
    constant = _is_constant(columns)
    mean = np.where(constant, columns[0], columns.mean(axis=0))
    deviation = columns - mean
    _, exponent = np.frexp(np.abs(deviation).max(axis=0))
    scale = np.ldexp(np.sqrt(np.mean(np.ldexp(deviation, -exponent) ** 2, axis=0)), exponent)
    return mean, np.where(constant, 1.0, scale)
