"""normal_gamma: the conjugate joint prior of weights and noise precision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from inference.distributions import Distribution, Gamma
from inference.distributions import NormalGamma as NormalGammaDistribution
from inference.errors import SpecError
from inference.inbox import Inbox
from inference.nodes._base import Message, Node
from inference.registry import LETTERS
from inference.structure import Held
from inference.terms import Quantity
from inference.types import Values

LOG_2PI = float(np.log(2.0 * np.pi))


@LETTERS.register
@dataclass(frozen=True, eq=False)
class NormalGamma(Node):
    """tau ~ Ga(shape, rate), w | tau ~ N(mean, (tau precision)^-1); w and tau are one cluster (message_passing 5.3).

    Example
    -------
    >>> NormalGamma.arguments(mean=0.0, precision=2.0, shape=1.0, rate=1.0)["precision"]
    array([[2.]])
    """

    mean: Values
    precision: Values
    shape: float
    rate: float
    scalar: bool = False

    letter = "normal_gamma"
    ports = {"w": "real", "tau": "positive"}  # noqa: RUF012
    outputs = ("w", "tau")
    couples = (frozenset({"w", "tau"}),)

    def __post_init__(self) -> None:
        if not (self.shape > 0 and self.rate > 0):
            raise SpecError(f"normal_gamma takes shape and rate above 0, not {self.shape} and {self.rate}")
        if np.linalg.eigvalsh(self.precision)[0] <= 0:
            raise SpecError("the precision of a normal_gamma is not positive definite")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """Numbers for mean and precision are spread over ``dim``; without ``dim`` w is a scalar."""
        call = super().arguments(*args, **given)
        missing = [name for name in ("mean", "precision", "shape", "rate") if name not in call]
        if missing:
            raise SpecError(f"normal_gamma lacks {', '.join(missing)}")
        sizes = [np.shape(call[k])[-1] for k in ("mean", "precision") if np.ndim(call[k]) > 0]
        dim = call.pop("dim", None)
        size = int(dim if dim is not None else sizes[0] if sizes else 1)
        precision = np.asarray(call["precision"], dtype=np.float64)
        call["precision"] = precision * np.eye(size) if precision.ndim < 2 else precision
        call["mean"] = np.broadcast_to(np.asarray(call["mean"], dtype=np.float64), (size,)).copy()
        call["scalar"] = dim is None and not sizes
        return call

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """Two weights, and one that is a scalar."""
        pair = {"precision": np.array([[2.1, 0.6], [0.6, 1.2]]), "shape": 4.0, "rate": 2.0}
        return {**pair, "mean": np.array([0.4, 0.2])}, {**pair, "mean": 0.4, "precision": 1.3}

    def output_event(self, port: str, held: Mapping[str, Held]) -> tuple[int, ...]:
        """w is as long as the mean; tau is a scalar."""
        return () if port == "tau" or self.scalar else (len(self.mean),)

    @property
    def distribution(self) -> NormalGammaDistribution:
        """The prior as a value."""
        return NormalGammaDistribution(self.mean, self.precision, self.shape, self.rate)

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log Ga(tau) + log N(w; mean, (tau precision)^-1)."""
        w = values["w"][..., None] if self.scalar else values["w"]
        tau, deviation, d = values["tau"], w - self.mean, len(self.mean)
        form = np.einsum("...i,ij,...j->...", deviation, self.precision, deviation)
        prior = self.shape * np.log(self.rate) - gammaln(self.shape) + (self.shape - 1) * np.log(tau) - self.rate * tau
        log_det = np.linalg.slogdet(self.precision)[1]
        return prior + 0.5 * (log_det + d * (np.log(tau) - LOG_2PI) - tau * form)

    def message(self, port: str, q: Inbox) -> Message:
        """Toward one of the two by itself there is none.

        Raises
        ------
        NoRule : always; w and tau are one cluster.
        """
        raise self.no_rule(port, "a split of the pair")

    def joint_message(self, ports: frozenset[str], q: Inbox) -> Message:
        """The prior's coefficients: (L m, L, shape - 1 + d/2 - d/2, rate + m'Lm/2)."""
        linear = self.precision @ self.mean
        rate = np.asarray(self.rate + 0.5 * self.mean @ linear)
        return linear, self.precision, np.asarray(self.shape - 1.0), rate

    def average_energy(self, q: Inbox) -> Quantity:
        """-E log p(w, tau), with E tau (w - m)'L(w - m) = E tau (mq - m)'L(mq - m) + tr(L Lq^-1)."""
        assert q.joint is not None
        joint, d = q.joint, len(self.mean)
        gamma: Gamma = joint.marginal_precision()
        deviation = joint.arrays()["mean"] - self.mean
        form = gamma.mean() * np.einsum("...i,ij,...j->...", deviation, self.precision, deviation)
        form = form + np.trace(np.linalg.solve(joint.precision, self.precision), axis1=-2, axis2=-1)
        log_det = np.linalg.slogdet(self.precision)[1]
        normal = 0.5 * (form - log_det + d * (LOG_2PI - gamma.mean_log()))
        constant = gammaln(self.shape) - self.shape * np.log(self.rate)
        return normal + constant - (self.shape - 1.0) * gamma.mean_log() + self.rate * gamma.mean()

    def forward(self, port: str, q: Inbox) -> Distribution:
        """The prior itself."""
        return self.distribution

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A draw of the pair."""
        w, tau = self.distribution.sample(int(np.prod(shape, dtype=np.int64)), rng)
        w = w.reshape(*shape, len(self.mean))
        return {"w": w[..., 0] if self.scalar else w, "tau": tau.reshape(shape)}
