"""Gaussian Markov chains: exact marginals, lag-one covariances and evidence (message_passing 5.2).

``x_0 ~ N^-1(start_linear, start_precision)``, ``x_t ~ N(A x_{t-1} + b, W^-1)`` for ``t = 1..T-1``, times a Gaussian
message ``exp(h_t' x_t - x_t' L_t x_t / 2)`` at every time, which may be flat (zero) or semidefinite.

Shapes. Messages are ``linear`` (..., T, d) and ``precision`` (..., T, d, d); the start is (..., d) and (..., d, d).
``matrix``, ``offset`` and ``noise_precision`` broadcast, by numpy's rules, against (..., T-1, d, d), (..., T-1, d) and
(..., T-1, d, d): a bare (d, d) serves all times and series, (T-1, d, d) varies in time, (series, 1, d, d) varies over
series only. In the scalar functions the same holds without the event axes. Only time is looped over in Python.
"""

from dataclasses import dataclass

import numpy as np

from inference.gaussians import _scalar_chain as scalars
from inference.gaussians import _vector_chain as vectors
from inference.gaussians._chain_inputs import read_scalars, read_vectors, time_last
from inference.types import Array, Float

UNIT_ENTROPY = 0.5 * (np.log(2.0 * np.pi) + 1.0)


@dataclass(frozen=True, eq=False)
class ChainPosterior:
    """A smoothed chain.

    ``cross[t]`` is ``Cov(x_t, x_{t+1})``. ``conditional_entropy[t]`` is ``H[x_t | x_{t+1}]``, and ``H[x_{T-1}]`` last.
    ``log_normaliser`` is the log integral of prior, transitions (both normalised) and messages (as they are).
    """

    mean: Float[Array, "*batch T d"]
    covariance: Float[Array, "*batch T d d"]
    cross: Float[Array, "*batch T-1 d d"]
    conditional_entropy: Float[Array, "*batch T"]
    log_normaliser: Float[Array, "*batch"]

    def entropy(self) -> Float[Array, "*batch"]:
        """Of the whole chain."""
        return np.asarray(self.conditional_entropy.sum(-1))


@dataclass(frozen=True, eq=False)
class ScalarChainPosterior:
    """A smoothed chain of scalars; fields as in ``ChainPosterior``, with variances."""

    mean: Float[Array, "*batch T"]
    var: Float[Array, "*batch T"]
    cross: Float[Array, "*batch T-1"]
    conditional_entropy: Float[Array, "*batch T"]
    log_normaliser: Float[Array, "*batch"]

    def entropy(self) -> Float[Array, "*batch"]:
        """Of the whole chain."""
        return np.asarray(self.conditional_entropy.sum(-1))


@dataclass(frozen=True, eq=False)
class ChainFilter:
    """Given the messages up to now (``mean``, ``covariance``), and up to one step before (``predictive_*``).

    ``log_normaliser[t]`` is the log expectation of message t under its predictive; they sum to that of the posterior.
    """

    mean: Float[Array, "*batch T d"]
    covariance: Float[Array, "*batch T d d"]
    predictive_mean: Float[Array, "*batch T d"]
    predictive_covariance: Float[Array, "*batch T d d"]
    log_normaliser: Float[Array, "*batch T"]


@dataclass(frozen=True, eq=False)
class ScalarChainFilter:
    """A filtered chain of scalars; fields as in ``ChainFilter``, with variances."""

    mean: Float[Array, "*batch T"]
    var: Float[Array, "*batch T"]
    predictive_mean: Float[Array, "*batch T"]
    predictive_var: Float[Array, "*batch T"]
    log_normaliser: Float[Array, "*batch T"]


def smooth(
    linear: Array,
    precision: Array,
    *,
    start_linear: Array,
    start_precision: Array,
    matrix: Array,
    offset: Array,
    noise_precision: Array,
) -> ChainPosterior:
    """Marginals and pairwise covariances given all messages, and the log normaliser; shapes as the module says.

    Forward over filtered marginals, backward over the conditionals ``x_t`` given ``x_{t+1}``; linear in T.

    Raises
    ------
    ImproperMarginal
        The start, a noise precision, or a filtered marginal is not positive definite.
    SpecError
        Shapes that do not broadcast, no time at all, NaN or infinity.

    Example
    -------
    >>> one = np.ones((1, 1))
    >>> start = {"start_linear": np.zeros(1), "start_precision": one}
    >>> step = {"matrix": one, "offset": np.zeros(1), "noise_precision": one}
    >>> chain = smooth(np.array([[0.0], [3.0]]), np.stack([0 * one, one]), **start, **step)
    >>> chain.mean.ravel().round(12).tolist(), float(chain.cross.item().__round__(12))  # x_1 ~ N(0, 2), read as 3 +- 1
    ([1.0, 2.0], 0.333333333333)
    """
    given = (linear, precision, start_linear, start_precision, matrix, offset, noise_precision)
    inputs, start, batch = read_vectors(*given)
    forward = vectors.forward_pass(inputs, *start)
    backward = vectors.backward_pass(inputs, forward)
    dimension = forward.mean.shape[-1]
    return ChainPosterior(
        mean=time_last(backward.mean, batch),
        covariance=time_last(backward.covariance, batch),
        cross=time_last(backward.cross, batch),
        conditional_entropy=time_last(0.5 * backward.log_det + dimension * UNIT_ENTROPY, batch),
        log_normaliser=np.asarray(forward.log_normaliser.sum(0)),
    )


def filter_forward(
    linear: Array,
    precision: Array,
    *,
    start_linear: Array,
    start_precision: Array,
    matrix: Array,
    offset: Array,
    noise_precision: Array,
) -> ChainFilter:
    """Filtered marginals and one-step predictives; arguments and errors as for ``smooth``.

    Example
    -------
    >>> one = np.ones((1, 1))
    >>> start = {"start_linear": np.zeros(1), "start_precision": one}
    >>> step = {"matrix": one, "offset": np.ones(1), "noise_precision": one}
    >>> chain = filter_forward(np.array([[2.0], [0.0]]), np.stack([one, 0 * one]), **start, **step)
    >>> chain.mean.ravel().round(12).tolist(), chain.predictive_covariance.ravel().round(12).tolist()
    ([1.0, 2.0], [1.0, 1.5])
    """
    given = (linear, precision, start_linear, start_precision, matrix, offset, noise_precision)
    inputs, start, batch = read_vectors(*given)
    forward = vectors.forward_pass(inputs, *start)
    return ChainFilter(
        mean=time_last(forward.mean, batch),
        covariance=time_last(forward.covariance, batch),
        predictive_mean=time_last(forward.predictive_mean, batch),
        predictive_covariance=time_last(forward.predictive_covariance, batch),
        log_normaliser=time_last(forward.log_normaliser, batch),
    )


def smooth_scalar(
    linear: Array,
    precision: Array,
    *,
    start_linear: Array | float,
    start_precision: Array | float,
    coefficient: Array | float,
    offset: Array | float,
    noise_precision: Array | float,
) -> ScalarChainPosterior:
    """``smooth`` for ``d = 1`` without event axes and without linear algebra; a single series runs on Python floats.

    Example
    -------
    >>> start = {"start_linear": 0.0, "start_precision": 1.0}
    >>> step = {"coefficient": 1.0, "offset": 0.0, "noise_precision": 1.0}
    >>> chain = smooth_scalar(np.array([0.0, 3.0]), np.array([0.0, 1.0]), **start, **step)
    >>> chain.mean.round(12).tolist(), chain.var.round(3).tolist()
    ([1.0, 2.0], [0.667, 0.667])
    """
    given = (linear, precision, start_linear, start_precision, coefficient, offset, noise_precision)
    inputs, start, batch = read_scalars(*given)
    forward = scalars.forward_pass(inputs, *start)
    backward = scalars.backward_pass(inputs, forward)
    log_growth = np.log(scalars.by_series(forward.growth, batch))
    variances = scalars.by_series([*backward.conditional_var, forward.var[-1]], batch)
    return ScalarChainPosterior(
        mean=scalars.by_series(backward.mean, batch),
        var=scalars.by_series(backward.var, batch),
        cross=scalars.by_series(backward.cross, batch),
        conditional_entropy=0.5 * np.log(variances) + UNIT_ENTROPY,
        log_normaliser=np.asarray((scalars.by_series(forward.exponent, batch) - 0.5 * log_growth).sum(-1)),
    )


def filter_scalar(
    linear: Array,
    precision: Array,
    *,
    start_linear: Array | float,
    start_precision: Array | float,
    coefficient: Array | float,
    offset: Array | float,
    noise_precision: Array | float,
) -> ScalarChainFilter:
    """``filter_forward`` for ``d = 1``, arguments as for ``smooth_scalar``.

    Example
    -------
    >>> start = {"start_linear": 0.0, "start_precision": 1.0}
    >>> step = {"coefficient": 1.0, "offset": 1.0, "noise_precision": 1.0}
    >>> chain = filter_scalar(np.array([2.0, 0.0]), np.array([1.0, 0.0]), **start, **step)
    >>> chain.mean.tolist(), chain.predictive_var.tolist()
    ([1.0, 2.0], [1.0, 1.5])
    """
    given = (linear, precision, start_linear, start_precision, coefficient, offset, noise_precision)
    inputs, start, batch = read_scalars(*given)
    forward = scalars.forward_pass(inputs, *start)
    log_growth = np.log(scalars.by_series(forward.growth, batch))
    return ScalarChainFilter(
        mean=scalars.by_series(forward.mean, batch),
        var=scalars.by_series(forward.var, batch),
        predictive_mean=scalars.by_series(forward.predictive_mean, batch),
        predictive_var=scalars.by_series(forward.predictive_var, batch),
        log_normaliser=scalars.by_series(forward.exponent, batch) - 0.5 * log_growth,
    )
