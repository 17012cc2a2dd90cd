"""probit: y is 1 with probability Phi(f), the normal distribution function; its message to f is by moment matching."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from inference.contractions import lift
from inference.distributions import Bernoulli as BernoulliDistribution
from inference.distributions import Distribution, Normal, PointMass
from inference.errors import SpecError
from inference.inbox import Inbox, Moments
from inference.nodes._base import Match, Message, Node
from inference.registry import LETTERS
from inference.terms import Quantity
from inference.types import Values

SERIES_BELOW = -24.0
STEPS = np.linspace(-10.0, 10.0, 401)
WEIGHTS = np.exp(-0.5 * STEPS**2) / np.exp(-0.5 * STEPS**2).sum()


@LETTERS.register
@dataclass(frozen=True)
class Probit(Node):
    """Phi(s f / sqrt(noise_var)) with s = 2 y - 1, y in {0, 1}. A NaN among the observed y is predicted.

    No Gaussian is the message of this factor to f: it sends the Gaussian that, with the message f has from elsewhere
    (its cavity), has the mean and the variance of the true product: expectation propagation. What it adds to the free
    energy is the Bethe term of theory 3.8(h), so that F = -log Z_EP where the messages no longer change.

    Noise can be moved between this letter and the softdot before it: f ~ softdot(w, phi, tau = 2) with noise_var = 1/2
    is P(y = 1 | w) = Phi(w'phi), exactly.

    Raises
    ------
    SpecError : noise_var is not one number above 0.

    Example
    -------
    >>> import numpy as np
    >>> float(np.exp(Probit().log_density({"y": np.array(1.0), "f": np.array(0.0)})))
    0.5
    """

    noise_var: float = 1.0

    letter = "probit"
    ports = {"y": "binary", "f": "real"}  # noqa: RUF012
    outputs = ("y",)
    may_miss = ("y",)
    matches = ("f",)

    def __post_init__(self) -> None:
        value = self.noise_var
        if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < value < np.inf:
            raise SpecError(f"probit takes one number above 0 as noise_var, not {value!r}")

    @classmethod
    def examples(cls) -> tuple[Mapping[str, float], ...]:
        """The standard one, and one with less noise."""
        return {}, {"noise_var": 0.5}

    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log Phi(s f / sqrt(noise_var))."""
        return log_ndtr((2.0 * values["y"] - 1.0) * values["f"] / np.sqrt(self.noise_var))

    def message(self, port: str, q: Inbox) -> Message:
        """The log odds E log Phi(f) - E log Phi(-f) toward y, by quadrature.

        Raises
        ------
        NoRule : toward f, where E log Phi is no Gaussian; :meth:`match` has the rule.
        """
        if port != "y":
            raise self.no_rule(port, "mean-field marginals: toward f it is by moment matching, with y observed")
        f = self._gaussian(port, q)
        return (self._expected(f, 1.0) - self._expected(f, -1.0),)

    def average_energy(self, q: Inbox) -> Quantity:
        """U = -E y E log Phi(f) - (1 - E y) E log Phi(-f), by quadrature."""
        y, f = q["y"].mean, self._gaussian("its energy", q)
        return -(y * self._expected(f, 1.0) + (1.0 - y) * self._expected(f, -1.0))

    def match(self, port: str, q: Inbox, mean: Values, var: Values) -> Match:
        """log Z = log Phi(t), t = s m / D, D^2 = noise_var + v, from the cavity N(m, v), and the Gaussian it sends.

        With zeta = phi(t) / Phi(t) and k = 1 - zeta (zeta + t), the variance of a standard normal cut off at -t: the
        product has mean m + v s zeta / D and variance v (noise_var + v k) / D^2, so that the message has precision
        l = (1 - k) / (noise_var + v k), which is never negative, and linear term l m + (1 + v l) s zeta / D.

        Raises
        ------
        NoRule : y is latent.
        """
        if port != "f" or not q["y"].known:
            raise self.no_rule(port, "a latent y: pass observed=, NaN where it is missing")
        sign = 2.0 * q["y"].mean - 1.0
        spread = np.sqrt(self.noise_var + var)
        zeta, kept = hazard_and_variance(sign * mean / spread)
        precision = (1.0 - kept) / (self.noise_var + var * kept)
        linear = precision * mean + (1.0 + var * precision) * sign * zeta / spread
        return Match(linear, precision, log_ndtr(sign * mean / spread))

    def forward(self, port: str, q: Inbox) -> Distribution:
        """Bernoulli(Phi(m / sqrt(noise_var + v))) toward y, with f ~ N(m, v) integrated out."""
        if port != "y":
            raise self.no_rule(port, "the marginals of the others, forward")
        f = self._gaussian(port, q)
        return BernoulliDistribution(ndtr(f.mean / np.sqrt(self.noise_var + f.var)))

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """1.0 where f with its noise is above 0, else 0.0."""
        noise = rng.standard_normal(shape) * np.sqrt(self.noise_var)
        return {"y": np.asarray(values["f"] + noise > 0.0, dtype=np.float64)}

    def _gaussian(self, port: str, q: Inbox) -> Moments:
        """The moments of f, which all rules but the density take for those of a Gaussian."""
        f = q["f"]
        if not f.known and not isinstance(f.distribution, Normal | PointMass):
            raise self.no_rule(port, f"a {type(f.distribution).__name__} at port f, where a Gaussian is due")
        return f

    def _expected(self, f: Moments, sign: float) -> Values:
        """E log Phi(sign f / sqrt(noise_var)) by the trapezoid rule, ten standard deviations either side."""
        at = lift(f.mean, 1) + lift(np.sqrt(f.var), 1) * STEPS
        return log_ndtr(sign * at / np.sqrt(self.noise_var)) @ WEIGHTS


def hazard_and_variance(t: Values) -> tuple[Values, Values]:
    """zeta = phi(t) / Phi(t), and 1 - zeta (zeta + t), the variance of a standard normal x given x > -t.

    The second cancels where t is far below 0; there it is its asymptotic series in 1/t^2.

    Example
    -------
    >>> [round(float(part), 6) for part in hazard_and_variance(np.array(0.0))]
    [0.797885, 0.36338]
    """
    zeta = np.sqrt(2.0 / np.pi) / erfcx(-t / np.sqrt(2.0))
    e = 1.0 / np.minimum(t, SERIES_BELOW) ** 2
    series = e * (1.0 + e * (-6.0 + e * (50.0 + e * (-518.0 + e * (6354.0 - e * 89782.0)))))
    return zeta, np.where(t < SERIES_BELOW, series, 1.0 - zeta * (zeta + t))
