"""What is sampled of a full small network: data, stated inputs, priors of every weight, and the noise. Checked here."""

import hashlib
import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from inference.errors import DataError, SpecError
from inference.truth.priors import Prior
from inference.truth.problem import checked_data
from inference.types import Array, Float


@dataclass(frozen=True)
class NetworkPrior:
    r"""Independent Gaussians of mean zero over the weights of $f(x)=w_2^\top\tanh(W_1x+b_1)+b_2$.

    $W_1$ has standard deviation ``hidden_scale``/√D, $b_1$ ``hidden_bias_scale``, $w_2$ ``output_scale``/√U and $b_2$
    ``output_bias_scale``, with D inputs and U units: the spread of f depends on neither. The defaults are for
    standardised inputs and targets.

    Raises
    ------
    SpecError : a scale that is not positive and finite.

    Example
    -------
    >>> NetworkPrior(hidden_scale=2.0).scales(columns=4, units=1).tolist()  # W_1, b_1, w_2, b_2
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    hidden_scale: float = 1.0
    hidden_bias_scale: float = 1.0
    output_scale: float = 1.0
    output_bias_scale: float = 1.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (math.isfinite(value) and value > 0):
                raise SpecError(f"NetworkPrior: {name} must be finite and positive but got {value}")

    def scales(self, columns: int, units: int) -> Float[Array, " P"]:
        """The standard deviation of every weight: $W_1$ input by input, $b_1$, $w_2$, $b_2$."""
        parts = (
            np.full(columns * units, self.hidden_scale / math.sqrt(columns)),
            np.full(units, self.hidden_bias_scale),
            np.full(units, self.output_scale / math.sqrt(units)),
            np.full(1, self.output_bias_scale),
        )
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    r"""$y_n\sim N(f(x_n),\sigma^2)$ with every weight of f unknown, judged by f at the stated inputs ``at``.

    Attributes
    ----------
    inputs, targets : the data, float64 and finite.
    units : U, hidden tanh units.
    at : (M, D), where f is stored and judged.
    noise_scale : $\sigma$ as a number or a density.
    prior : of the weights.
    """

    inputs: Float[Array, "N D"]
    targets: Float[Array, " N"]
    units: int
    at: Float[Array, "M D"]
    noise_scale: float | Prior
    prior: NetworkPrior = field(default_factory=NetworkPrior)

    @property
    def noise_family(self) -> str | None:
        """The family of the noise's density; None where it is a number."""
        return self.noise_scale.family if isinstance(self.noise_scale, Prior) else None

    @property
    def scales(self) -> Float[Array, " P"]:
        """Prior standard deviation of every weight."""
        return self.prior.scales(self.inputs.shape[1], self.units)

    def fingerprint(self) -> str:
        """The sha256 of shape and bytes of inputs and targets."""
        digest = hashlib.sha256(repr(self.inputs.shape).encode())
        for array in (self.inputs, self.targets):
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Noise and prior, ready for JSON."""
        noise = self.noise_scale.as_dict() if isinstance(self.noise_scale, Prior) else self.noise_scale
        return {"noise_scale": noise, "weights": {"family": "normal", **asdict(self.prior)}}

    def function(self, weights: Float[Array, "S P"], inputs: Float[Array, "M D"]) -> Float[Array, "S M"]:
        """Values of f under every row of weights.

        Example
        -------
        >>> problem = network_problem(np.zeros((2, 1)), np.zeros(2), units=1, at=np.zeros((1, 1)), noise_scale=1.0)
        >>> problem.function(np.array([[0.0, 100.0, 2.0, 0.5]]), np.zeros((1, 1))).tolist()  # 2 tanh(100) + 0.5
        [[2.5]]
        """
        columns, units = self.inputs.shape[1], self.units
        cuts = np.cumsum([columns * units, units, units])
        hidden, bias, output, shift = np.split(weights, cuts, axis=1)
        values = np.empty((len(weights), len(inputs)))
        for row, matrix in enumerate(hidden.reshape(-1, columns, units)):
            values[row] = np.tanh(inputs @ matrix + bias[row]) @ output[row] + shift[row]
        return values


def network_problem(
    inputs: Any,
    targets: Any,
    *,
    units: int,
    at: Any,
    noise_scale: float | Prior,
    prior: NetworkPrior | None = None,
) -> NetworkProblem:
    """Check the arguments and gather them.

    Raises
    ------
    DataError : shapes that do not fit, not finite, no stated inputs or with another number of columns.
    SpecError : no units, a noise that is no positive number or a density of one.
    """
    matrix, vector = checked_data(inputs, targets)
    stated = np.ascontiguousarray(at, dtype=np.float64)
    if stated.ndim != 2 or not len(stated) or stated.shape[1] != matrix.shape[1] or not np.isfinite(stated).all():
        raise DataError(
            f"the stated inputs must be finite with shape (M, {matrix.shape[1]}), M >= 1, like the inputs; got shape "
            f"{stated.shape}"
        )
    if units < 1:
        raise SpecError(f"units is the number of hidden units and must be at least 1; got {units}")
    if isinstance(noise_scale, Prior):
        if not noise_scale.positive:
            raise SpecError(f"noise_scale needs a density on the positive numbers, but got {noise_scale}")
    elif not (math.isfinite(noise_scale) and noise_scale > 0):
        raise SpecError(f"noise_scale must be finite and positive, or a density; got {noise_scale}")
    return NetworkProblem(matrix, vector, int(units), stated, noise_scale, prior or NetworkPrior())
