"""The precision word: a linear score with Gaussian noise and its exponential, a precision that depends on features."""

from typing import Any

import numpy as np

from inference.building import Builder
from inference.errors import SpecError
from inference.structure import Known, Plate, Variable

Plates = Plate | tuple[Plate, ...]


def precision_word(  # noqa: PLR0913  where the word stands, and every prior of it
    m: Builder,
    name: str,
    features: Any,
    *,
    plates: Plates,
    outer: Plates = (),
    weights_mean: Any = 0.0,
    weights_precision: Any = 0.01,
    noise: Any = (1.0, 1.0),
    rate_prior: Any = None,
    alpha: float = 1.0,
    jacobian: int = 0,
) -> Variable:
    """gamma = e^z with z ~ N(w'phi, 1/tau): a positive variable that any precision port takes (message_passing 4.2).

    Makes the variables ``name.w``, ``name.tau``, ``name.z``, ``name.gamma`` and, with a rate prior, ``name.beta``; an
    empty name leaves the prefix and its dot away.

    Parameters
    ----------
    m, name : the builder of the model, and the prefix
    features : phi, known or a real vector variable, its last axis the d features
    plates : of z and gamma
    outer : of w, tau and beta: what repeats the word, say the plate of experts
    weights_mean, weights_precision : of the Gaussian prior of w; a number, a vector or (the precision) a matrix
    noise : tau: ``(shape, rate)`` of its Gamma prior, a known number, or a positive variable such as another word's
        gamma (hierarchical precision, 4.7)
    rate_prior : None for the normalised model; ``(a, b)`` attaches Ga(gamma | alpha, beta), beta ~ Ga(a, b), a second
        opinion on gamma that shrinks the weights; minus F then bounds no log evidence of a normalised model (0.3)
    alpha : shape of that Gamma
    jacobian : 0 for the exp link, 1 for the log link (0.2)

    Raises
    ------
    SpecError : features without a last axis, or noise and rate prior that are no pair of numbers.

    Example
    -------
    >>> rows = (m := Builder("one", {})).plate("row", 5)
    >>> precision_word(m, "noise", np.ones((5, 2)), plates=rows)
    Variable('noise.gamma', positive, plates (row=5))
    >>> sorted(m.graph().variables)
    ['noise.gamma', 'noise.tau', 'noise.w', 'noise.z']
    """
    prefix = f"{name}." if name else ""
    w = m.mvnormal(
        f"{prefix}w", mean=weights_mean, precision=weights_precision, dim=_dimension(prefix, features), plates=outer
    )
    tau = noise if isinstance(noise, Variable) or np.ndim(noise) == 0 else _gamma(m, f"{prefix}tau", noise, outer)
    z = m.softdot(f"{prefix}z", w, features, tau, plates=plates)
    gamma = m.exp(f"{prefix}gamma", z, jacobian=int(jacobian))
    if rate_prior is not None:
        m.gamma(gamma, shape=float(alpha), rate=_gamma(m, f"{prefix}beta", rate_prior, outer))
    return gamma


def _gamma(m: Builder, name: str, pair: Any, plates: Plates) -> Variable:
    if np.shape(pair) != (2,):
        raise SpecError(f"the prior of {name!r} is a pair (shape, rate) of a Gamma, not {pair!r}")
    return m.gamma(name, shape=float(pair[0]), rate=float(pair[1]), plates=plates)


def _dimension(prefix: str, features: Any) -> int:
    shape = features.event if isinstance(features, Variable | Known) else np.shape(features)
    if not shape:
        raise SpecError(f"the weights {prefix + 'w'!r} need features with a last axis of length d; got none")
    return int(shape[-1])
