"""Priors on the hyperparameters and the parameters of a head, as small values that can be written into a certificate.

Every density is one of the variable it is given for: ``Hyperpriors(noise_var=InverseGamma(...))`` is a density of the
noise *variance*, ``Hyperpriors(noise_scale=HalfNormal(...))`` one of the *standard deviation*. No Jacobian is left to
the reader.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from inference.errors import SpecError
from inference.types import Array, Float


@dataclass(frozen=True)
class Prior(ABC):
    """A density with one or two parameters, on the positive numbers unless ``positive`` is False."""

    family: ClassVar[str]
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            allowed = math.isfinite(value) and (value > 0 or name in ("mean", "mean_log"))
            if not allowed:
                raise SpecError(f"{type(self).__name__}: {name} must be finite and positive but got {value}")

    def parameters(self) -> tuple[float, ...]:
        """The parameters in the order of their declaration."""
        return tuple(asdict(self).values())

    @abstractmethod
    def log_density(self, value: float) -> float:
        """Natural logarithm of the normalised density at ``value``."""

    def as_dict(self) -> dict[str, Any]:
        """Family and parameters, ready for JSON."""
        return {"family": self.family, **asdict(self)}


@dataclass(frozen=True)
class Gamma(Prior):
    r"""$p(x)=\frac{b^a}{\Gamma(a)}x^{a-1}e^{-bx}$ with ``shape`` $a$ and ``rate`` $b$ (theory 7.4, 10.1).

    Example
    -------
    >>> Gamma(shape=1.0, rate=2.0).log_density(0.5) == math.log(2.0) - 1.0
    True
    """

    shape: float
    rate: float
    family: ClassVar[str] = "gamma"

    def log_density(self, value: float) -> float:
        r"""$a\log b-\log\Gamma(a)+(a-1)\log x-bx$."""
        a, b = self.shape, self.rate
        return a * math.log(b) - math.lgamma(a) + (a - 1) * math.log(value) - b * value


@dataclass(frozen=True)
class InverseGamma(Prior):
    r"""$p(x)=\frac{b^a}{\Gamma(a)}x^{-a-1}e^{-b/x}$ with ``shape`` $a$ and ``scale`` $b$ (theory 7.4).

    Example
    -------
    >>> InverseGamma(shape=1.0, scale=2.0).log_density(1.0) == math.log(2.0) - 2.0
    True
    """

    shape: float
    scale: float
    family: ClassVar[str] = "inverse_gamma"

    def log_density(self, value: float) -> float:
        r"""$a\log b-\log\Gamma(a)-(a+1)\log x-b/x$."""
        a, b = self.shape, self.scale
        return a * math.log(b) - math.lgamma(a) - (a + 1) * math.log(value) - b / value


@dataclass(frozen=True)
class HalfNormal(Prior):
    r"""$p(x)=\sqrt{2/\pi}\,s^{-1}e^{-x^2/2s^2}$ with ``scale`` $s$ (theory 10.1).

    Example
    -------
    >>> HalfNormal(scale=1.0).log_density(1.0) == 0.5 * math.log(2.0 / math.pi) - 0.5
    True
    """

    scale: float
    family: ClassVar[str] = "half_normal"

    def log_density(self, value: float) -> float:
        r"""$\frac12\log\frac2\pi-\log s-\frac{x^2}{2s^2}$."""
        return 0.5 * math.log(2.0 / math.pi) - math.log(self.scale) - 0.5 * (value / self.scale) ** 2


@dataclass(frozen=True)
class LogNormal(Prior):
    r"""$\log x\sim N(\text{mean\_log},\text{sd\_log}^2)$.

    Example
    -------
    >>> LogNormal(mean_log=0.0, sd_log=1.0).log_density(1.0) == -0.5 * math.log(2.0 * math.pi)
    True
    """

    mean_log: float
    sd_log: float
    family: ClassVar[str] = "log_normal"

    def log_density(self, value: float) -> float:
        r"""$-\frac12\log2\pi-\log s-\log x-\frac12z^2$ with $z=(\log x-m)/s$."""
        z = (math.log(value) - self.mean_log) / self.sd_log
        return -0.5 * math.log(2.0 * math.pi) - math.log(self.sd_log) - math.log(value) - 0.5 * z * z


@dataclass(frozen=True)
class Normal(Prior):
    r"""$x\sim N(\text{mean},\text{sd}^2)$ on all real numbers: for a threshold, not for a scale or a precision.

    Example
    -------
    >>> Normal(mean=0.0, sd=1.0).log_density(0.0) == -0.5 * math.log(2.0 * math.pi)
    True
    """

    mean: float
    sd: float
    family: ClassVar[str] = "normal"
    positive: ClassVar[bool] = False

    def log_density(self, value: float) -> float:
        r"""$-\frac12\log2\pi-\log s-\frac12z^2$ with $z=(x-m)/s$."""
        z = (value - self.mean) / self.sd
        return -0.5 * math.log(2.0 * math.pi) - math.log(self.sd) - 0.5 * z * z


@dataclass(frozen=True)
class Hyperpriors:
    """Which hyperparameters are unknown, and the density of each; one that is left ``None`` stays a given number.

    Parameters
    ----------
    prior_precision : density of the prior precision of the weights.
    noise_scale : density of the noise standard deviation, or
    noise_var : density of the noise variance; not both.

    Raises
    ------
    SpecError : both noise densities are given, or none at all; a density that is not one of positive numbers.

    Example
    -------
    >>> Hyperpriors(prior_precision=Gamma(2.0, 1.0), noise_scale=HalfNormal(1.0)).noise_prior
    HalfNormal(scale=1.0)
    """

    prior_precision: Prior | None = None
    noise_scale: Prior | None = None
    noise_var: Prior | None = None

    def __post_init__(self) -> None:
        if self.noise_scale is not None and self.noise_var is not None:
            raise SpecError("Hyperpriors: noise_scale and noise_var are the same noise; give a density to one of them")
        for name in ("prior_precision", "noise_scale", "noise_var"):
            density = getattr(self, name)
            if density is not None and not density.positive:
                raise SpecError(f"Hyperpriors: {name} needs a density on the positive numbers, but got {density}")
        if self.prior_precision is None and self.noise_prior is None:
            raise SpecError("Hyperpriors: no density was given; give one, or leave hyperpriors=None for fixed numbers")

    @property
    def noise_prior(self) -> Prior | None:
        """The density of the noise, whichever variable it is a density of."""
        return self.noise_scale if self.noise_scale is not None else self.noise_var

    @classmethod
    def default(cls, features: Float[Array, "N H"], targets: Float[Array, "..."]) -> "Hyperpriors":
        r"""Gamma(2, (H/2+1)/100) on the precision, inverse-gamma(1, 0.01 var y) on the noise variance (theory 7.4).

        Example
        -------
        >>> import numpy as np
        >>> Hyperpriors.default(np.ones((2, 4)), np.array([-1.0, 1.0])).noise_var
        InverseGamma(shape=1.0, scale=0.01)
        """
        spread = float(targets.var())
        if not spread > 0:
            raise SpecError("Hyperpriors.default: constant targets set no scale for the noise; give noise_var yourself")
        rate = (features.shape[1] / 2 + 1) / 100
        return cls(prior_precision=Gamma(2.0, rate), noise_var=InverseGamma(1.0, 0.01 * spread))

    def as_dict(self) -> dict[str, Any]:
        """The densities that are given, by the variable they are densities of, ready for JSON."""
        given = {name: getattr(self, name) for name in ("prior_precision", "noise_scale", "noise_var")}
        return {name: prior.as_dict() for name, prior in given.items() if prior is not None}
