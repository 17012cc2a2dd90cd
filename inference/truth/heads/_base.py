"""The contract of a head: what its targets may be, its parameters, and ``log p(y | f)`` in numpy and as a graph."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inference.errors import DataError, SpecError
from inference.truth.priors import Prior
from inference.types import Array, Float

Parameter = float | Prior


@dataclass(frozen=True)
class Head(ABC):
    r"""$p(y_n\mid f_n)$ with scalar parameters, each a number or a density (then it is sampled).

    ``log_prob`` and ``graph`` are written twice on purpose: the numpy formula judges the graph that is sampled.
    """

    name: ClassVar[str]
    real: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be any number; all others are positive and move in their logarithm."""

    def __post_init__(self) -> None:
        for name, value in self.parameters().items():
            self._check(name, value)

    def _check(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        real = name in self.real
        if isinstance(value, Prior):
            if value.positive == real:
                wanted = "Normal" if real else "a density on the positive numbers, such as Gamma or LogNormal"
                raise SpecError(f"{kind}: {name} takes {wanted}; got {value}")
        elif not (math.isfinite(value) and (real or value > 0)):
            raise SpecError(f"{kind}: {name} must be finite{'' if real else ' and positive'} but got {value}")

    @abstractmethod
    def parameters(self) -> dict[str, Parameter]:
        """The scalar parameters by name, in the order of the sampler's coordinates."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, float]) -> "Head":
        """The head with these parameters held at numbers; the inverse of ``parameters``.

        Raises
        ------
        SpecError : the parameters are not those of this head.
        """
        try:
            return cls(**{name: float(value) for name, value in parameters.items()})
        except TypeError as error:
            raise SpecError(f"{cls.__name__} does not have the parameters {', '.join(parameters)}: {error}") from error

    @abstractmethod
    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Refuse targets that are none of this likelihood (``DataError``)."""

    @abstractmethod
    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """Where the sampled parameters start looking for their mode."""

    @classmethod
    @abstractmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        """``log p(y_n | f_sn)`` in numpy; a parameter is a number or one a draw, ``(S, 1)``."""

    @classmethod
    @abstractmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same as a PyTensor vector, without :meth:`log_base`; ``pt`` is ``pytensor.tensor``."""

    def log_base(self, targets: Float[Array, " N"]) -> float:
        """The sum over the data of what depends on the targets alone; zero unless there is such a term."""
        return 0.0


def require_codes(name: str, targets: Float[Array, " N"], classes: int) -> None:
    """Refuse labels that are not 0..K-1."""
    wrong = (targets != np.floor(targets)) | (targets < 0) | (targets >= classes)
    if wrong.any():
        raise DataError(
            f"the labels of {name} must be 0 to {classes - 1}; {int(wrong.sum())} of {targets.size} are not (first in "
            f"row {int(np.argmax(wrong))}: {targets[np.argmax(wrong)]:g}); number the classes from 0"
        )


def require_counts(name: str, targets: Float[Array, " N"]) -> None:
    """Refuse targets that are not 0, 1, 2, ..."""
    wrong = (targets != np.floor(targets)) | (targets < 0)
    if wrong.any():
        raise DataError(
            f"the targets of {name} must be counts 0, 1, 2, ...; {int(wrong.sum())} of {targets.size} are not (first "
            f"in row {int(np.argmax(wrong))}: {targets[np.argmax(wrong)]:g})"
        )
