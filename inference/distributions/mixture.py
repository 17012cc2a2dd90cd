"""A weighted mixture of distributions of one family."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Distribution, Numbers
from inference.distributions._checks import levels, unit_interval
from inference.distributions._roots import invert
from inference.distributions.normal import Normal
from inference.errors import SpecError
from inference.types import Array

WEIGHT_SUM_ERROR = 1e-9


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mixture(Distribution):
    """``sum_m weight_m p_m(x)``; the first batch axis of ``components`` counts the M parts.

    ``weights`` are ``(M, *batch)``, or ``(M,)`` for the same ones everywhere; they sum to one over the first axis.

    Raises
    ------
    SpecError : components without a leading axis or of a joint family; weights outside [0, 1], of another shape, or
        that do not sum to one.

    Example
    -------
    >>> two = Mixture(Normal(mean=[-1.0, 1.0], var=1.0), weights=[0.5, 0.5])
    >>> float(two.mean()), float(two.var())
    (0.0, 2.0)
    """

    support: ClassVar[str] = "mixture"
    components: Distribution
    weights: Array

    def __init__(self, components: Distribution, weights: Numbers) -> None:
        if not components.batch_shape or components.support == "joint":
            raise SpecError(
                "Mixture: components must be one scalar or vector family with a batch whose first axis counts them; "
                f"got {components!r}"
            )
        held = unit_interval(type(self), "weights", weights)
        self._fill(components, _spread_over(held, components.batch_shape))
        gap = np.abs(self.weights.sum(axis=0) - 1.0)
        if (gap > WEIGHT_SUM_ERROR).any():
            first = tuple(int(i) for i in np.argwhere(gap > WEIGHT_SUM_ERROR)[0])
            total = self.weights.sum(axis=0)[first]
            raise SpecError(f"Mixture: weights must sum to 1 over their first axis but at {first} they sum to {total}")

    def _fill(self, components: Distribution, weights: Array) -> None:
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", np.broadcast_to(weights, components.batch_shape))

    @classmethod
    def _trusted(cls, components: Distribution, weights: Array) -> "Mixture":
        self = object.__new__(cls)
        self._fill(components, _spread_over(weights, components.batch_shape))
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The plates, without the axis of the parts."""
        return self.components.batch_shape[1:]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """That of the parts."""
        return self.components.event_shape

    def mean(self) -> Array:
        """``sum w_m mean_m``."""
        return self._averaged(self.components.mean())

    def var(self) -> Array:
        """Mean of the variances plus variance of the means."""
        return self._averaged(self.components.var() + np.square(self.components.mean() - self.mean()))

    def logpdf(self, x: Numbers) -> Array:
        """``log sum w_m p_m(x)``."""
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) + self.components.logpdf(self._beside_parts(x))
        return np.asarray(special.logsumexp(terms, axis=-1 - len(self.batch_shape)))

    def cdf(self, x: Numbers) -> Array:
        """``sum w_m F_m(x)``."""
        return np.asarray(np.minimum(self._averaged(self.components.cdf(self._beside_parts(x))), 1.0))

    def quantile(self, q: Numbers) -> Array:
        """Where the cdf reaches q: a root between the quantiles of the parts."""
        level = levels(type(self), q, self.batch_shape, self.event_shape)
        parts = self.components.quantile(np.asarray(q, np.float64))
        present, axis = self._event_weights() > 0.0, self._axis_of_parts()
        low = np.asarray(np.where(present, parts, np.inf).min(axis=axis))
        high = np.asarray(np.where(present, parts, -np.inf).max(axis=axis))
        start = self._averaged(np.where(present, parts, 0.0))
        return np.where(level > 0.0, invert(self.cdf, self._density, level, low, high, start), low)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Choose a part for every draw and batch entry, then draw from it."""
        batch = self.batch_shape
        bounds = np.cumsum(self.weights, axis=0)
        chosen = (rng.random((n, 1, *batch)) * bounds[-1] >= bounds).sum(axis=1)
        return self.components[(chosen, *np.indices(batch, sparse=True))].sample(1, rng)[0]

    def entropy(self) -> Array:
        """Refused: it has no closed form."""
        raise SpecError(
            "a mixture has no closed-form entropy; estimate it as minus the mean of logpdf over samples, "
            "or use the entropy of a single family with its moments"
        )

    def __getitem__(self, index: Any) -> "Mixture":
        parts = index if isinstance(index, tuple) else (index,)
        if not self.batch_shape:
            return self._trusted(self.components[(slice(None), *parts)], self.weights[(slice(None), *parts)])
        # One index array an axis, so that numpy leaves the axis of the parts in front.
        place = np.arange(int(np.prod(self.batch_shape))).reshape(self.batch_shape)[parts]
        picked = (slice(None), *np.unravel_index(place, self.batch_shape))
        return self._trusted(self.components[picked], self.weights[picked])

    def broadcast_to(self, batch_shape: tuple[int, ...]) -> "Mixture":
        """The same mixtures under a larger batch shape, without copies."""
        new = (slice(None), *(None,) * (len(batch_shape) - len(self.batch_shape)))
        shape = (len(self.weights), *batch_shape)
        return self._trusted(self.components[new].broadcast_to(shape), np.broadcast_to(self.weights[new], shape))

    def arrays(self) -> dict[str, Array]:
        """``weights``, and the arrays of the parts under ``components.<class>.<name>``."""
        family = type(self.components).__name__
        parts = {f"components.{family}.{name}": array for name, array in self.components.arrays().items()}
        return {"weights": self.weights, **parts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "Mixture":
        """Build again from :meth:`arrays`."""
        named = {tuple(key.split(".", 2)[1:]): array for key, array in arrays.items() if key != "weights"}
        family = next(iter(named))[0]
        parts = {name: array for (_, name), array in named.items()}
        return cls(Distribution.named(family).from_arrays(parts), arrays["weights"])

    @classmethod
    def example(cls) -> "Mixture":
        """Two skewed mixtures of three Gaussians, one with two modes."""
        mean = np.array([[-2.1, 0.3], [0.4, 0.9], [3.2, 2.0]])
        var = np.array([[0.3, 0.8], [0.5, 0.2], [1.1, 2.6]])
        return cls(Normal(mean, var), np.array([[0.2, 0.5], [0.5, 0.3], [0.3, 0.2]]))

    def __repr__(self) -> str:
        shape = f", batch={self.batch_shape}" if self.batch_shape else ""
        return f"Mixture({len(self.weights)} x {type(self.components).__name__}{shape})"

    def _axis_of_parts(self) -> int:
        return -1 - len(self.batch_shape) - len(self.event_shape)

    def _event_weights(self) -> Array:
        return self.weights[..., None] if self.event_shape else self.weights

    def _averaged(self, values: Array) -> Array:
        return np.asarray((self._event_weights() * values).sum(axis=self._axis_of_parts()))

    def _beside_parts(self, x: Numbers) -> Array:
        given = np.asarray(x, np.float64)
        missing = -1 - self._axis_of_parts() - given.ndim
        return np.expand_dims(given.reshape((1,) * missing + given.shape), self._axis_of_parts())

    def _density(self, x: Array) -> Array:
        if self.event_shape:  # logpdf is of the whole vector, a quantile of one coordinate: leave it to bisection
            return np.zeros(x.shape)
        return self._averaged(np.exp(self.components.logpdf(self._beside_parts(x))))


def _spread_over(weights: Array, batch_shape: tuple[int, ...]) -> Array:
    wide = weights.reshape(weights.shape + (1,) * (len(batch_shape) - weights.ndim))
    try:
        if weights.shape[:1] != batch_shape[:1]:
            raise ValueError
        return np.broadcast_to(wide, batch_shape)
    except ValueError:
        raise SpecError(
            f"Mixture: weights must have the shape of the components' batch, {batch_shape}, or {batch_shape[:1]}; "
            f"got {weights.shape}"
        ) from None
