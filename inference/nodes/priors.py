"""prior: a distribution of a conjugate family as a factor with one port, as carried posteriors enter a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln

from inference.distributions import Beta, Distribution, Gamma, MvNormal, Normal
from inference.errors import SpecError
from inference.families import naturals_of
from inference.inbox import Inbox, Moments
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.structure import Held
from inference.terms import Quantity
from inference.types import Values

LOG_2PI = float(np.log(2.0 * np.pi))
TYPES = {Normal: "real", MvNormal: "real", Gamma: "positive", Beta: "probability"}


@LETTERS.register
@dataclass(frozen=True, eq=False)
class Prior(Node):
    """A Normal, MvNormal, Gamma or Beta as a factor (message_passing 1, letter "prior").

    Example
    -------
    >>> Prior(Gamma(2.0, 1.0)).port_types()
    {'x': 'positive'}
    """

    distribution: Distribution

    letter = "prior"
    ports = {"x": "real"}  # noqa: RUF012
    outputs = ("x",)

    def __post_init__(self) -> None:
        if type(self.distribution) not in TYPES:
            allowed = ", ".join(t.__name__ for t in TYPES)
            raise SpecError(f"prior takes one of {allowed}, not {type(self.distribution).__name__}")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """The distribution may come by place."""
        return cls.by_name(("distribution",), args, given)

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """One of each family, a Gaussian vector in both forms."""
        several = (
            Normal(0.3, 0.7),
            MvNormal([0.3, 1.0], cov=[[0.8, 0.2], [0.2, 0.5]]),
            MvNormal([0.3, 1.0], diag=[0.8, 0.5]),
            Gamma(2.0, 3.0),
            Beta(2.0, 3.0),
        )
        return tuple({"distribution": distribution} for distribution in several)

    def port_types(self) -> Mapping[str, str]:
        """That of the distribution."""
        return {"x": TYPES[type(self.distribution)]}

    def output_event(self, port: str, held: Mapping[str, Held]) -> tuple[int, ...]:
        """That of the distribution."""
        return tuple(self.distribution.event_shape)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """The distribution's own."""
        return self.distribution.logpdf(values["x"])

    def message(self, port: str, q: Inbox) -> Message:
        """The distribution's natural coefficients."""
        return naturals_of(self.distribution)

    def average_energy(self, q: Inbox) -> Quantity:
        """U = -E log p(x)."""
        return _ENERGIES[type(self.distribution)](self.distribution, q["x"])

    def forward(self, port: str, q: Inbox) -> Distribution:
        """The distribution."""
        return self.distribution

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A draw of it."""
        return {"x": self.distribution.broadcast_to(shape).sample(1, rng)[0]}


def _normal(p: Any, x: Moments) -> Values:
    return 0.5 * (LOG_2PI + np.log(p.var()) + ((x.mean - p.mean()) ** 2 + x.var) / p.var())


def _mv_normal(p: Any, x: Moments) -> Values:
    deviation = x.mean - p.mean()
    form = np.einsum("...i,...ij,...j->...", deviation, p.precision, deviation)
    if x.covariance is not None:
        spread = x.covariance[..., None] * np.eye(deviation.shape[-1]) if x.diagonal else x.covariance
        form = form + np.einsum("...ij,...ij->...", p.precision, spread)
    return 0.5 * (deviation.shape[-1] * LOG_2PI + p.log_det_covariance + form)


def _gamma(p: Any, x: Moments) -> Values:
    return gammaln(p.shape) - p.shape * np.log(p.rate) - (p.shape - 1.0) * x.mean_log + p.rate * x.mean


def _beta(p: Any, x: Moments) -> Values:
    return betaln(p.a, p.b) - (p.a - 1.0) * x.mean_log - (p.b - 1.0) * x.mean_log1m


_ENERGIES = {Normal: _normal, MvNormal: _mv_normal, Gamma: _gamma, Beta: _beta}
