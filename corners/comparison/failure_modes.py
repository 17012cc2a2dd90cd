"""What goes wrong in a fit, detected from numbers alone (the table of theory 7.4): diagnosis, flags and fixes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.attribution import attribution, belief_variances
from corners.comparison.identifiability_rules import (
    FREE_COVARIANCE,
    HOLD_NOISE,
    HOLD_PRECISION,
    LOOSEN_FEATURES,
    PRECISION_PARAMETERS,
)
from corners.comparison.layer_statistics import SATURATED, precision_ratio
from corners.comparison.oracle import LARGE_GAP, oracle_gap
from corners.errors import DataError
from corners.exact.none_cell import none_cell_stationary_points
from corners.method import Fit, LastLayer, Trace
from corners.predictive.mixture import MixturePredictive

if TYPE_CHECKING:
    from corners.data.split import Split

COLLAPSED, STARVED, RUNAWAY, MOSTLY_SATURATED = 0.05, 0.99, 100.0, 0.5
ATTENUATED = 0.1
"""Attenuation below which the residuals reach the features ten times weaker; theory 7.4 names no threshold."""
LEVEL = 0.05
WINDOW = 500.0
DOUBLED = math.log(2.0)
"""A monotone rise smaller than this over the window is the end of convergence, not a runaway."""

Values = Mapping[str, float]


def diagnose(fit: Fit, replicate: int, split: "Split") -> dict[str, float]:
    """Everything the failure modes are detected by, as finite floats; what is not defined is absent.

    From ``fit.learned``: every hyperparameter by its name. From predictive and trace: ``oracle_nll``, the lowest test
    NLL of the trajectory, the selected state included, and ``oracle_gap``, the selected state's NLL minus it (nats a
    point; not for mixtures, whose trace follows single members); ``log_precision_rise`` over the last 500 steps, and
    ``log_precision_slope_monotone``, 1 where ``log α`` rose at every record of them. From the last layer on the
    training part: ``noise_share + covariance_share + prior_share = 1``, ``belief_share = 1 - noise_share``,
    ``noise_share_test`` on the test part, ``free_covariance`` (0 or 1), ``mean_norm = ‖μ‖``, ``saturation``,
    ``attenuation = ‖r/V‖ / ‖r/mean(r²)‖`` with residuals ``r``, and where the precision is learned ``alpha_runaway =
    α/α_ref``, ``precision_at_bound``, ``precision_held`` (a Gamma prior; 0 or 1) and for the point belief
    ``two_roots``, the number of stationary precisions, with ``log_barrier_margin = log(α_barrier/α)``.

    A replicate that cannot predict gives what it learned alone. Source: theory 7.2, 7.3, 7.4, 11.

    Example
    -------
    >>> MODES[1].flag({"noise_share": 0.02})
    'noise is 2.0% of the predictive variance'
    """
    values = {name: float(value) for name, value in fit.learned(replicate).items()}
    if fit.statuses[replicate].usable:
        values |= _trajectory(fit, replicate, split) | _precision_path(fit.trace, replicate)
        layer = fit.last_layer(replicate, split)
        if layer is not None:
            values |= _shares(layer) | _features(layer)
            if _precision_is_learned(fit.trace, replicate):
                values |= _precision(layer)
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _trajectory(fit: Fit, replicate: int, split: "Split") -> dict[str, float]:
    try:
        recorded = oracle_gap(fit.trace, replicate)
    except DataError:  # nothing was recorded to compare with
        return {}
    predictive = fit.predict(split.test.inputs, replicate=replicate)
    if isinstance(predictive, MixturePredictive):
        return {}
    selected = -float(predictive.log_prob(split.test.targets).mean())
    oracle = min(recorded.oracle_test_nll, selected)
    return {"oracle_nll": oracle, "oracle_gap": selected - oracle}


def _path(trace: Trace, replicate: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps and ``log α`` where it was recorded."""
    recorded = trace.values.get("prior_precision")
    if recorded is None:
        return np.empty(0), np.empty(0)
    row = np.asarray(recorded, dtype=np.float64)[replicate]
    known = np.isfinite(row) & (row > 0.0)
    return np.asarray(trace.steps)[known], np.log(row[known])


def _precision_path(trace: Trace, replicate: int) -> dict[str, float]:
    steps, path = _path(trace, replicate)
    if steps.size < 2:
        return {}
    last = path[steps >= steps[-1] - WINDOW]
    found = {"log_precision_rise": float(last[-1] - last[0])}
    if steps[-1] - steps[0] >= WINDOW and last.size > 2:
        found["log_precision_slope_monotone"] = float((np.diff(last) > 0.0).all())
    return found


def _precision_is_learned(trace: Trace, replicate: int) -> bool:
    """A fixed precision cannot run away; a trace of one record or none leaves it open."""
    _, path = _path(trace, replicate)
    return path.size < 2 or float(np.ptp(path)) > 0.0


def _precision(layer: LastLayer) -> dict[str, float]:
    found = {
        "alpha_runaway": precision_ratio(layer),
        "precision_at_bound": float(any(name in layer.at_bound for name in PRECISION_PARAMETERS)),
        "precision_held": float(layer.precision_prior is not None),
    }
    if layer.family == "none" and layer.routing == "free" and layer.has_prior_term:
        roots = none_cell_stationary_points(layer.features, layer.targets, math.sqrt(layer.noise_var))
        found["two_roots"] = float(len(roots.roots))
        if roots.barrier is not None:
            found["log_barrier_margin"] = math.log(roots.barrier / layer.prior_precision)
    return found


def _shares(layer: LastLayer) -> dict[str, float]:
    train = attribution(layer)
    return {
        "noise_share": train.noise_share,
        "covariance_share": train.covariance_share,
        "prior_share": train.prior_share,
        "belief_share": 1.0 - train.noise_share,
        "noise_share_test": attribution(layer, "test").noise_share,
        "free_covariance": float(layer.routing != "closed" and layer.family != "none"),
        "mean_norm": float(np.linalg.norm(layer.mean)),
    }


def _features(layer: LastLayer) -> dict[str, float]:
    residuals = layer.targets - layer.features @ layer.mean
    found: dict[str, float] = {}
    if residuals.any():
        weighted = np.linalg.norm(residuals / (layer.noise_var + belief_variances(layer)))
        found["attenuation"] = float(weighted * (residuals**2).mean() / np.linalg.norm(residuals))
    if np.abs(layer.features).max() <= 1.0:  # tanh alone has something to saturate
        found["saturation"] = float((np.abs(layer.features) > SATURATED).mean())
    return found


@dataclass(frozen=True)
class FailureMode:
    """One row of theory 7.4: ``flag`` says what is detected in the ``numbers`` (empty where nothing is), ``fix`` helps.

    ``flag`` takes what :func:`diagnose` gave, or a line of a table of it: NaN counts as absent.
    """

    name: str
    summary: str
    numbers: tuple[str, ...]
    flag: Callable[[Values], str]
    fix: str


def raised(values: Values) -> dict[str, str]:
    """Name and sentence of every failure mode that is detected.

    Example
    -------
    >>> raised({"noise_share": 0.5, "oracle_gap": 0.25})
    {'early-stopping gap': 'the selected state is 0.250 nats per point worse than the best of its trajectory'}
    """
    return {mode.name: sentence for mode in MODES if (sentence := mode.flag(values))}


def _value(values: Values, name: str) -> float:
    """The value; NaN, which no comparison holds for, where there is none."""
    return float(values.get(name, math.nan))


def _runaway(values: Values) -> str:
    said = []
    ratio, rise = _value(values, "alpha_runaway"), _value(values, "log_precision_rise")
    if ratio > RUNAWAY:
        said.append(f"the prior precision is {ratio:.3g} times the one the belief itself suggests")
    if _value(values, "precision_at_bound") > 0.0:
        said.append("the prior precision is at its bound")
    # A Gamma prior holds what the test says runs away; a precision seen falling does not run away either.
    if not _value(values, "precision_held") > 0.0 and not rise <= 0.0:
        if _value(values, "two_roots") == 0.0:
            said.append("two-root test: no prior precision is stationary at this noise")
        if _value(values, "log_barrier_margin") < 0.0:
            said.append("two-root test: the prior precision lies beyond the barrier")
    if _value(values, "log_precision_slope_monotone") > 0.0 and rise > DOUBLED:
        said.append(f"log α rose at every record of the last {WINDOW:g} steps, by {rise:.2g}")
    return "; ".join(said)


def _collapse(values: Values) -> str:
    share = _value(values, "noise_share")
    return f"noise is {share:.1%} of the predictive variance" if share < COLLAPSED else ""


def _starvation(values: Values) -> str:
    share = _value(values, "noise_share")
    if share > STARVED and _value(values, "free_covariance") > 0.0:
        return f"the trained covariance is {1.0 - share:.2%} of the predictive variance"
    return ""


def _stopping(values: Values) -> str:
    gap = _value(values, "oracle_gap")
    if gap > LARGE_GAP:
        return f"the selected state is {gap:.3f} nats per point worse than the best of its trajectory"
    return ""


def _depth(values: Values) -> str:
    attenuation, saturation = _value(values, "attenuation"), _value(values, "saturation")
    said = []
    # Without a trained covariance a small ratio says that the noise lies above the training residuals, nothing more.
    if attenuation < ATTENUATED and _value(values, "free_covariance") > 0.0:
        said.append(f"residuals reach the features at {attenuation:.2g} of the strength that squared error gives them")
    if saturation > MOSTLY_SATURATED:
        said.append(f"{saturation:.0%} of the features are saturated")
    return "; ".join(said)


def _spread(values: Values) -> str:
    p = _value(values, "precision_spread_p")
    return f"the class precisions differ no more than by chance (p = {p:.2g})" if p > LEVEL else ""


MODES: tuple[FailureMode, ...] = (
    FailureMode(
        "precision runaway",
        "the prior precision grows without bound: the objective falls for ever along it",
        (
            "alpha_runaway",
            "precision_at_bound",
            "precision_held",
            "two_roots",
            "log_barrier_margin",
            "log_precision_slope_monotone",
            "log_precision_rise",
        ),
        _runaway,
        f"{HOLD_PRECISION}; harmless where a refit at the precision the belief suggests changes validation NLL by less "
        "than 0.01",
    ),
    FailureMode(
        "noise collapse",
        "the noise goes to zero and the covariance takes its place",
        ("noise_share",),
        _collapse,
        HOLD_NOISE,
    ),
    FailureMode(
        "variance starvation",
        "the trained covariance goes to zero and the noise takes its place",
        ("noise_share", "free_covariance"),
        _starvation,
        FREE_COVARIANCE,
    ),
    FailureMode(
        "one-versus-all precisions",
        "every class has a prior precision of its own, and they differ by sampling noise alone",
        ("precision_spread_p",),
        _spread,
        "one precision shared by all classes",
    ),
    FailureMode(
        "early-stopping gap",
        "validation NLL kept a state far from the best of its own trajectory",
        ("oracle_gap",),
        _stopping,
        "stop on the running median of validation NLL plus calibration error (combined stopping)",
    ),
    FailureMode(
        "depth",
        "a wide predictive or saturated features hold back what the backbone learns from the residuals",
        ("attenuation", "free_covariance", "saturation"),
        _depth,
        LOOSEN_FEATURES,
    ),
)
