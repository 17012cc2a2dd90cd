"""The one place that knows which PyMC and ArviZ are installed: PyMC 5 + ArviZ 0.23, or PyMC 6 + ArviZ 1.x.

Everything the two generations spell differently is spelled here once: effective sample sizes, R-hat, E-BFMI, Pareto
smoothing, containers of draws, compile arguments. Draws go in and come out as plain arrays, ``(chains, draws, ...)``.
"""

import contextlib
import importlib
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from inference.errors import SpecError, UnavailableError
from inference.types import Array, Float

if TYPE_CHECKING:
    from inference.truth.reference import ReferencePosterior

TAIL = (0.05, 0.95)  # ArviZ 0.23 and 1.x have different defaults for the tails


@contextlib.contextmanager
def expected_notices() -> Iterator[None]:
    """Silence three notices that ask nothing of the user.

    ArviZ 1 is served here, Numba brings its own BLAS, and PyTensor hands Numba every array as one of unknown layout.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing", category=FutureWarning)
        warnings.filterwarnings("ignore", message="PyTensor could not link to a BLAS", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"(?s).*np\.dot\(\) is faster on contiguous arrays")
        yield


def load(name: str) -> ModuleType:
    """Import pymc, pytensor, arviz or a part of them when it is needed.

    Raises
    ------
    UnavailableError : it is missing or does not import; the message says how to mend it.
    """
    try:
        with expected_notices():
            return importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(
            f"sampling ground truth needs {name}, which cannot be imported ({error}); install it with "
            "`pip install pymc arviz`, or read a saved reference with ReferencePosterior.load, which needs neither"
        ) from error


def pymc() -> Any:
    """The module ``pymc``."""
    return load("pymc")


def compile_kwargs() -> dict[str, Any]:
    """Arguments for every compiled function: Numba, so that no C compiler is needed.

    PyMC 5 without a C compiler falls back to interpreted Python (milliseconds instead of microseconds a gradient).
    """
    return {"mode": "NUMBA"}


def one_blas_thread() -> Any:
    """A context in which linear algebra stays on one thread: on small matrices more threads only wait."""
    return load("threadpoolctl").threadpool_limits(limits=1, user_api="blas")


def versions() -> dict[str, str]:
    """Versions of everything the draws depend on."""
    names = ("numpy", "scipy", "pymc", "pytensor", "arviz", "numba")
    return {"python": platform.python_version(), **{name: load(name).__version__ for name in names}}


def _array_stats() -> Any:
    """ArviZ 1.x's functions on plain arrays, or None on ArviZ 0.23."""
    if int(load("arviz").__version__.split(".")[0]) < 1:
        return None
    return load("arviz_stats.base").array_stats


def ess(draws: Float[Array, "chains draws P"], method: str) -> Float[Array, " P"]:
    """Effective sample size of all chains together; ``method`` is "bulk", "tail", "mean" or "sd"."""
    prob = {"prob": TAIL} if method == "tail" else {}
    stats = _array_stats()
    if stats is not None:
        return np.asarray(stats.ess(draws, chain_axis=0, draw_axis=1, method=method, **prob), dtype=np.float64)
    arviz = load("arviz")
    return arviz.ess(_dataset(draws), method=method, **prob)["x"].values


def rhat(draws: Float[Array, "chains draws P"]) -> Float[Array, " P"]:
    """Rank-normalised split R-hat."""
    stats = _array_stats()
    if stats is not None:
        return np.asarray(stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank"), dtype=np.float64)
    return load("arviz").rhat(_dataset(draws), method="rank")["x"].values


def _dataset(draws: Array) -> Any:
    # xarray is told the axes by name: ArviZ 0.23 guesses them from their lengths and warns when chains outnumber draws.
    return load("xarray").Dataset({"x": (("chain", "draw", "parameter"), draws)})


def bfmi(energy: Float[Array, "chains draws"]) -> Float[Array, " chains"]:
    """Energy Bayesian fraction of missing information, one a chain."""
    stats = _array_stats()
    if stats is not None:
        return np.asarray(stats.bfmi(energy, chain_axis=0, draw_axis=1), dtype=np.float64)
    return np.asarray(load("arviz").bfmi(energy), dtype=np.float64)


def pareto_smooth(
    log_ratios: Float[Array, "N S"], relative_efficiency: float
) -> tuple[Float[Array, "N S"], Float[Array, " N"]]:
    """Pareto-smoothed log weights, each row summing to one, and the k-hat of each row."""
    stats = _array_stats()
    if stats is not None:
        # Here the argument is a log likelihood, whose negative is the log ratio; in ArviZ 0.23 it is the log ratio.
        weights, k_hat = stats.psislw(-log_ratios, r_eff=relative_efficiency, axis=-1)
    else:
        weights, k_hat = load("arviz").psislw(log_ratios, reff=relative_efficiency)
    weights = np.asarray(weights, dtype=np.float64)
    total = np.logaddexp.reduce(weights, axis=-1, keepdims=True)
    return weights - total, np.atleast_1d(np.asarray(k_hat, dtype=np.float64))


def to_arviz(reference: "ReferencePosterior") -> Any:
    """The draws as ArviZ's own container: InferenceData (0.23) or DataTree (1.x), with the pointwise log likelihood.

    Example
    -------
    ``arviz.loo(to_arviz(reference), pointwise=True)`` works on both generations.
    """
    chains, draws = reference.weights.shape[:2]
    if not reference.complete:
        raise SpecError(
            "a compact file leaves the pointwise log likelihood out; attach it first: reference.with_data(features, "
            "targets)"
        )
    groups = {
        "posterior": {"weights": reference.weights, **reference.hyperparameters},
        "log_likelihood": {"targets": reference.log_likelihood.reshape(chains, draws, -1)},
        "sample_stats": dict(reference.sample_stats),
    }
    arviz = load("arviz")
    return arviz.from_dict(groups) if _array_stats() is not None else arviz.from_dict(**groups)


def container_of_draws(draws: Mapping[str, Array], plates: Mapping[str, Sequence[str]]) -> Any:
    """Draws ``(draws, *plates, *event)`` by name as one chain in ArviZ's container, with the plates as dimensions."""
    xarray = load("xarray")
    variables = {}
    for name, values in draws.items():
        event = [f"{name}_{k}" for k in range(values.ndim - 1 - len(plates[name]))]
        variables[name] = (("chain", "draw", *plates[name], *event), values[None])
    dataset = xarray.Dataset(variables)
    if _array_stats() is not None:
        return xarray.DataTree.from_dict({"/posterior": dataset})
    return load("arviz").InferenceData(posterior=dataset)
