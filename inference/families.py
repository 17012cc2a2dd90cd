"""The exponential families that messages of each type belong to: natural coefficients in, distributions out.

A message is a tuple of coefficients, one a sufficient statistic; the message is exp of their inner product, and a
product of messages is a sum of coefficients (message_passing 1.8). A single message may be improper, a marginal not.

============ ==================== ============================== =========================
type         statistics           coefficients                   marginal
============ ==================== ============================== =========================
real         x, -x x'/2           linear h, precision L          Normal or MvNormal
positive     log x, -x            shape - 1, rate                Gamma
probability  log x, log(1-x)      a - 1, b - 1                   Beta
binary       x                    log odds                       Bernoulli
============ ==================== ============================== =========================
"""

import numpy as np
from scipy.special import expit, logit

from inference.distributions import Bernoulli, Beta, Distribution, Gamma, MvNormal, Normal
from inference.errors import ImproperMarginal
from inference.structure import Variable
from inference.types import Values

Naturals = tuple[Values, ...]

_COEFFICIENTS = {"real": (1, 2), "positive": (0, 0), "probability": (0, 0), "binary": (0,)}


def event_ndims(variable: Variable) -> tuple[int, ...]:
    """How many event axes each coefficient of a message to ``variable`` has.

    Example
    -------
    >>> event_ndims(Variable("w", "real", (), (3,)))
    (1, 2)
    """
    return tuple(k * len(variable.event) for k in _COEFFICIENTS[variable.type])


def flat(variable: Variable) -> Naturals:
    """The unity message: all coefficients zero.

    Example
    -------
    >>> [c.shape for c in flat(Variable("w", "real", (), (3,)))]
    [(3,), (3, 3)]
    """
    plates = tuple(p.size for p in variable.plates)
    return tuple(np.zeros(plates + variable.event * k) for k in _COEFFICIENTS[variable.type])


def marginal(variable: Variable, naturals: Naturals) -> Distribution:
    """The distribution with these natural coefficients.

    Raises
    ------
    ImproperMarginal : the coefficients belong to no distribution; the text names the variable, the entry and a remedy.

    Example
    -------
    >>> marginal(Variable("tau", "positive", ()), (np.array(1.0), np.array(3.0)))
    Gamma(shape=2, rate=3)
    """
    if variable.type == "real" and variable.event:
        return _mv_normal(variable, *naturals)
    if variable.type == "real":
        linear, precision = naturals
        _demand(variable, precision > 0, "total precision", precision, "above 0")
        return Normal._trusted(mean=linear / precision, var=1.0 / precision)
    if variable.type == "positive":
        log, rate = naturals
        _demand(variable, log > -1, "shape", log + 1, "above 0")
        _demand(variable, rate > 0, "rate", rate, "above 0")
        return Gamma._trusted(shape=log + 1.0, rate=rate)
    if variable.type == "probability":
        a, b = naturals
        _demand(variable, (a > -1) & (b > -1), "smaller parameter", np.minimum(a, b) + 1, "above 0")
        return Beta._trusted(a=a + 1.0, b=b + 1.0)
    return Bernoulli._trusted(probability=expit(naturals[0]))


def naturals_of(distribution: Distribution) -> Naturals:
    """The natural coefficients of a distribution of one of the four families.

    Example
    -------
    >>> naturals_of(Gamma(2.0, 3.0))
    (array(1.), array(3.))
    """
    if isinstance(distribution, Normal):
        precision = 1.0 / distribution.var()
        return distribution.mean() * precision, precision
    if isinstance(distribution, MvNormal):
        precision = distribution.precision
        return (precision @ distribution.mean()[..., None])[..., 0], precision
    if isinstance(distribution, Gamma):
        return np.asarray(distribution.shape - 1.0), distribution.rate
    if isinstance(distribution, Beta):
        return np.asarray(distribution.a - 1.0), np.asarray(distribution.b - 1.0)
    if isinstance(distribution, Bernoulli):
        return (logit(distribution.probability),)
    raise TypeError(f"{type(distribution).__name__} is not of a conjugate family")


def _mv_normal(variable: Variable, linear: Values, precision: Values) -> Distribution:
    try:
        return MvNormal.from_natural(linear, precision)
    except ValueError as error:
        raise ImproperMarginal(
            f"the messages that meet on {variable.name!r} leave its precision not positive definite ({error}); "
            "give it a proper prior, or drop directions that no datum informs"
        ) from error


def _demand(variable: Variable, holds: Values, what: str, values: Values, allowed: str) -> None:
    if np.all(holds):
        return
    place = tuple(int(k) for k in np.argwhere(~np.asarray(holds))[0])
    value = np.asarray(values)[place]
    where = f" at {place}" if place else ""
    raise ImproperMarginal(
        f"the messages that meet on {variable.name!r} multiply to no distribution: {what}{where} is {value:.6g}, it "
        f"must be {allowed}; give {variable.name!r} a proper prior or observe more of what it touches"
    )
