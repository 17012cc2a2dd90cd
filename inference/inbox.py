"""What a rule is given: the moments of every port, aligned with the plates of the factor.

``q["w"].mean`` has one axis a plate of the factor, of size 1 where the variable does not have it, then its event.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from inference.contractions import Axes
from inference.distributions import Distribution, MvNormal, NormalGamma
from inference.structure import Factor, Held, Known, Plate, Variable
from inference.types import Values


def align(array: Values, held: Held, plates: tuple[Plate, ...]) -> Values:
    """An array over the plates of ``held``'s variable as one over ``plates``, size 1 where it does not vary.

    Example
    -------
    >>> row, expert = Plate("row", 3), Plate("expert", 2)
    >>> align(np.ones((2, 5)), Variable("w", "real", (expert,), (5,)), (row, expert)).shape
    (1, 2, 5)
    """
    if isinstance(held, Variable) and held.gather is not None:
        array = held.gather.take(array, held.root.plates.index(held.gather.source))
    own = [p.name for p in held.plates]
    names = [p.name for p in plates]
    order = sorted(range(len(own)), key=lambda k: names.index(own[k]))
    if order != list(range(len(own))):
        array = array.transpose(*order, *range(len(own), array.ndim))
    if len(own) == len(names):
        return array
    sizes = iter(array.shape)
    shape = [next(sizes) if name in own else 1 for name in names]
    return array.reshape(*shape, *array.shape[len(own) :])


class Moments:
    """Expectations of one port, computed when they are asked for; ``memory`` is for rules, as long as they hold."""

    def __init__(
        self, held: Held, marginal: Distribution | None, plates: tuple[Plate, ...], kept: dict[Axes, Values]
    ) -> None:
        self._held, self._marginal, self._plates = held, marginal, plates
        self.kept = kept if marginal is None else None
        self.event_ndim = len(held.event)
        self.memory: dict[str, Any] = {}

    def of(self, marginal: Distribution | None) -> bool:
        """Whether these are the moments of this very marginal, so that they can serve again."""
        return self._marginal is marginal

    @property
    def known(self) -> bool:
        """Whether the value is given, so that it has no variance."""
        return self._marginal is None

    @property
    def distribution(self) -> Distribution:
        """The marginal over the variable's own plates; a point mass where the value is known."""
        if self._marginal is None:
            raise TypeError(f"{self._held} is known and has no marginal")
        return self._marginal

    def aligned(self, array: Values) -> Values:
        """An array over the variable's plates, aligned with the factor's."""
        return align(array, self._held, self._plates)

    @cached_property
    def mean(self) -> Values:
        """E x."""
        values = self._held.filled if isinstance(self._held, Known) else self.distribution.mean()
        if self.scaled and not self.event_ndim:
            values = values[..., 0]
        return self.aligned(values)

    @cached_property
    def var(self) -> Values:
        """Var x of a scalar, zero where it is known."""
        if self.known:
            return np.zeros((1,) * len(self._plates))
        if isinstance(self._marginal, NormalGamma):
            return self.aligned(_scaled_spread(self._marginal)[..., 0, 0])
        return self.aligned(self.distribution.var())

    @property
    def scaled(self) -> bool:
        """Whether the port is the Gaussian half of a normal-gamma pair.

        Its spread is then L^-1 / E tau: E tau times it is E tau (w - m)(w - m)', so that rules which multiply a spread
        by E tau hold as they are.
        """
        return isinstance(self._marginal, NormalGamma)

    @property
    def diagonal(self) -> bool:
        """Whether the covariance of a vector is given by its diagonal."""
        return isinstance(self._marginal, MvNormal) and self._marginal.is_diagonal

    @cached_property
    def covariance(self) -> Values | None:
        """Cov x of a vector (its diagonal where :attr:`diagonal` holds), or None where it is known."""
        if self.known:
            return None
        distribution: Any = self.distribution
        if self.diagonal:
            return self.aligned(distribution.var())
        if isinstance(distribution, MvNormal):
            return self.aligned(distribution.covariance)
        if isinstance(distribution, NormalGamma):
            return self.aligned(_scaled_spread(distribution))
        return np.zeros((1,) * len(self._plates) + self._held.event * 2)  # a point mass

    @cached_property
    def mean_log(self) -> Values:
        """E log x of a positive variable or a probability."""
        if self.known:
            return np.log(self.mean)
        distribution: Any = self.distribution
        return self.aligned(distribution.mean_log())

    @cached_property
    def mean_log1m(self) -> Values:
        """E log(1 - x) of a probability."""
        if self.known:
            return np.log1p(-self.mean)
        distribution: Any = self.distribution
        return self.aligned(distribution.mean_log1m())


def _scaled_spread(joint: NormalGamma) -> Values:
    held = joint.arrays()
    return np.linalg.inv(held["precision"]) * (held["rate"] / held["shape"])[..., None, None]


@dataclass(frozen=True, eq=False)
class Pair:
    """Joint moments of the two ports that a structured factor couples: its output and ``map(input)``.

    For a softdot the map is phi'w, a scalar; for a transition it is A u. ``entropy`` is that of the eliminated
    variable given the other, over the plates of the factor. ``between`` forms Cov(output, input), of the event of the
    input where the output is a scalar: a rule toward an uncertain coefficient needs it. ``gap`` is E (output - map)^2
    of two scalars where it is known without taking their moments from one another: two that a precision of 1e60 ties
    agree to every digit, and what their moments leave over is noise.
    """

    ports: tuple[str, str]
    mapped_mean: Values
    mapped_var: Values
    cross: Values
    entropy: Values
    between: Callable[[], Values] | None = None
    gap: Values | None = None

    def squared_gap(self, mean: Values, var: Values) -> Values:
        """E (output - map)^2, the output having this mean and variance."""
        if self.gap is not None:
            return self.gap
        return (mean - self.mapped_mean) ** 2 + var + self.mapped_var - 2.0 * self.cross


@dataclass(frozen=True, eq=False)
class Inbox(Mapping[str, Moments]):
    """The moments of every port; ``pair`` and ``joint`` are there where ports are not independent."""

    moments: dict[str, Moments]
    pair: Pair | None = None
    joint: NormalGamma | None = None

    def __getitem__(self, port: str) -> Moments:
        return self.moments[port]

    def __iter__(self) -> Iterator[str]:
        return iter(self.moments)

    def __len__(self) -> int:
        return len(self.moments)


def read(
    factor: Factor,
    marginals: Mapping[str, Distribution],
    kept: Mapping[str, dict[Axes, Values]],
    pair: Pair | None = None,
    joint: NormalGamma | None = None,
    without: tuple[str, ...] = (),
    earlier: dict[str, Moments] | None = None,
) -> Inbox:
    """The inbox of a factor under these marginals.

    ``kept`` holds what is remembered of each known port, ``earlier`` the moments read last: those of a marginal that
    has not been replaced since serve again, and the new ones take their place.
    """
    last = {} if earlier is None else earlier
    moments: dict[str, Moments] = {}
    for port, held in factor.ports.items():
        if port in without:
            continue
        marginal = marginals[held.name] if isinstance(held, Variable) else None
        before = last.get(port)
        same = before is not None and before.of(marginal)
        last[port] = before if same and before is not None else Moments(held, marginal, factor.plates, kept[port])
        moments[port] = last[port]
    return Inbox(moments, pair, joint)
