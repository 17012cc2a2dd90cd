"""Failure modes of theory 7.4: every number from its definition, every flag from numbers on both sides of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from corners.comparison.failure_modes import MODES, diagnose, raised
from corners.comparison.identifiability import identifiability
from corners.exact.none_cell import none_cell_stationary_points
from corners.method import FitStatus, HyperpriorSpec, LastLayer, Trace
from corners.predictive.mixture import MixturePredictive
from tests.corners.comparison.fakes import SEEDS, LinearFit, fit, split

SPLITS = tuple(split(seed) for seed in SEEDS)
BY_NAME = {mode.name: mode for mode in MODES}


@dataclass(frozen=True)
class LayerFit(LinearFit):
    """A fit whose last layer, predictive and learned values are changed as told."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    own: Any = None
    known: Mapping[str, float] | None = None

    def last_layer(self, replicate, split):
        """The exact layer with the changes."""
        layer = super().last_layer(replicate, split)
        return None if layer is None else replace(layer, **self.changes)

    def predict(self, inputs, *, replicate=0):
        """The exact predictive, or its own."""
        return super().predict(inputs, replicate=replicate) if self.own is None else self.own

    def learned(self, replicate):
        """What the fit learned, or what it is told."""
        return super().learned(replicate) if self.known is None else dict(self.known)


def changed(trace=None, **changes):
    """A fit of three replicates with that trace and those fields of its layers."""
    base = fit("exact", SPLITS, SEEDS)
    made = LayerFit("exact", SEEDS, SPLITS, base.statuses, base.trace, changes=changes)
    return made if trace is None else replace(made, trace=trace)


def precision_trace(path, every=10.0):
    path = np.atleast_2d(path)
    return Trace(every * np.arange(path.shape[1]), {"prior_precision": np.repeat(path, 3, axis=0)})


def test_layer_numbers_are_their_definitions():
    made = changed(routing="free")
    layer = made.last_layer(1, SPLITS[1])
    found = diagnose(made, 1, SPLITS[1])
    variances = layer.noise_var + np.einsum("nd,de,ne->n", layer.features, layer.covariance, layer.features)
    residuals = layer.targets - layer.features @ layer.mean
    assert found["noise_share"] == pytest.approx((layer.noise_var / variances).mean(), rel=1e-12)
    assert found["noise_share"] + found["covariance_share"] + found["prior_share"] == pytest.approx(1.0)
    assert found["belief_share"] == pytest.approx(1.0 - found["noise_share"])
    test = layer.noise_var + np.einsum("nd,de,ne->n", layer.test_features, layer.covariance, layer.test_features)
    assert found["noise_share_test"] == pytest.approx((layer.noise_var / test).mean(), rel=1e-12)
    plain = np.linalg.norm(residuals / (residuals**2).mean())
    assert found["attenuation"] == pytest.approx(np.linalg.norm(residuals / variances) / plain, rel=1e-12)
    assert found["mean_norm"] == pytest.approx(np.linalg.norm(layer.mean))
    spread = layer.mean @ layer.mean + np.trace(layer.covariance)
    assert found["alpha_runaway"] == pytest.approx(layer.prior_precision * spread / 2)
    assert "saturation" not in found  # these features reach beyond ±1
    assert found["steps"] == 20.0 and found["noise_scale"] == 0.5  # what the fit learned


def test_statistics_shared_with_identifiability_agree():
    bounded = np.tanh(3.0 * SPLITS[0].train.inputs)
    made = changed(features=bounded, routing="free", family="diagonal", covariance=np.diag([0.2, 0.3]))
    found = diagnose(made, 0, SPLITS[0])
    report = identifiability(made.last_layer(0, SPLITS[0]))
    for name in ("noise_share", "alpha_runaway", "saturation"):
        assert found[name] == pytest.approx(report[name].value, rel=1e-12)


def test_a_wide_predictive_attenuates_and_a_calibrated_one_does_not():
    wide = diagnose(changed(noise_var=1e4, routing="free"), 0, SPLITS[0])
    assert wide["attenuation"] < 1e-3 and "residuals reach the features" in BY_NAME["depth"].flag(wide)
    assert BY_NAME["depth"].flag(diagnose(changed(routing="free"), 0, SPLITS[0])) == ""


def test_two_roots_follow_the_profile_of_the_point_belief():
    point = {"family": "none", "routing": "free", "covariance": np.zeros((2, 2))}
    layer = changed(**point).last_layer(0, SPLITS[0])
    roots = none_cell_stationary_points(layer.features, layer.targets, math.sqrt(layer.noise_var))
    assert len(roots.roots) == 2
    before = diagnose(changed(**point), 0, SPLITS[0])
    assert before["two_roots"] == 2.0 and before["log_barrier_margin"] == pytest.approx(math.log(roots.barrier))
    runaway = BY_NAME["precision runaway"]
    assert runaway.flag(before) == ""
    beyond = diagnose(changed(**point, prior_precision=2.0 * roots.barrier), 0, SPLITS[0])
    assert beyond["log_barrier_margin"] == pytest.approx(-math.log(2.0)) and "beyond the barrier" in runaway.flag(
        beyond
    )
    drowned = diagnose(changed(**point, noise_var=1e6), 0, SPLITS[0])  # max α‖μ‖² ≤ ‖z‖²/4σ² < H
    assert drowned["two_roots"] == 0.0 and "no prior precision is stationary" in runaway.flag(drowned)
    held = diagnose(changed(**point, noise_var=1e6, precision_prior=HyperpriorSpec("gamma", 2.0, 1.0)), 0, SPLITS[0])
    assert held["precision_held"] == 1.0 and runaway.flag(held) == ""
    assert "two_roots" not in diagnose(changed(), 0, SPLITS[0])


def test_a_rising_precision_is_seen_over_the_last_500_steps_alone():
    rising = np.exp(np.concatenate([np.linspace(1.0, 0.0, 30), np.linspace(0.0, 2.5, 51)]))
    found = diagnose(changed(precision_trace(rising)), 2, SPLITS[2])
    assert found["log_precision_slope_monotone"] == 1.0 and found["log_precision_rise"] == pytest.approx(2.5)
    flag = BY_NAME["precision runaway"].flag(found)
    assert "every record of the last 500 steps, by 2.5" in flag
    stopped = np.append(rising, [np.nan, np.nan])  # a replicate that stopped early is judged where it stopped
    assert diagnose(changed(precision_trace(stopped)), 2, SPLITS[2]) == found
    dented = rising.copy()
    dented[-10] = dented[-11]
    assert diagnose(changed(precision_trace(dented)), 0, SPLITS[0])["log_precision_slope_monotone"] == 0.0
    slow = np.exp(np.linspace(0.0, 0.1, 81))
    found = diagnose(changed(precision_trace(slow)), 0, SPLITS[0])
    assert found["log_precision_slope_monotone"] == 1.0 and BY_NAME["precision runaway"].flag(found) == ""


def test_a_short_trajectory_has_no_last_500_steps_and_a_fixed_precision_no_runaway():
    short = diagnose(changed(precision_trace(np.exp(np.linspace(0, 3, 50)))), 0, SPLITS[0])
    assert "log_precision_slope_monotone" not in short and short["log_precision_rise"] == pytest.approx(3.0)
    fixed = diagnose(changed(precision_trace(np.ones(90)), prior_precision=1e6), 0, SPLITS[0])
    assert "alpha_runaway" not in fixed and BY_NAME["precision runaway"].flag(fixed) == ""
    loose = diagnose(changed(prior_precision=1e6, at_bound=("log_prior_precision",)), 0, SPLITS[0])
    said = BY_NAME["precision runaway"].flag(loose)
    assert "times the one the belief itself suggests" in said and "at its bound" in said


def test_oracle_counts_the_selected_state_and_gaps_are_flagged():
    quiet = changed()
    predictive = quiet.predict(SPLITS[0].test.inputs, replicate=0)
    selected = -float(predictive.log_prob(SPLITS[0].test.targets).mean())
    steps, validation = np.array([0.0, 10.0]), np.tile([1.0, 0.5], (3, 1))

    def gap(best):
        trace = Trace(steps, {"validation_nll": validation, "test_nll": np.tile([best, selected + 1.0], (3, 1))})
        return diagnose(changed(trace), 0, SPLITS[0])

    worse = gap(selected - 0.2)
    assert worse["oracle_nll"] == pytest.approx(selected - 0.2) and worse["oracle_gap"] == pytest.approx(0.2)
    assert "0.200 nats per point worse" in BY_NAME["early-stopping gap"].flag(worse)
    best = gap(selected + 0.2)
    assert best["oracle_nll"] == pytest.approx(selected) and best["oracle_gap"] == 0.0
    assert "oracle_gap" not in diagnose(quiet, 0, SPLITS[0])  # no test NLL was recorded


def test_a_mixture_has_no_oracle_because_its_trace_follows_single_members():
    trace = Trace(np.zeros(1), {"validation_nll": np.ones((3, 1)), "test_nll": np.full((3, 1), -9.0)})
    made = changed(trace)
    size = SPLITS[0].test.n
    mixture = MixturePredictive(np.zeros((2, size)), np.ones((2, size)))
    assert "oracle_nll" in diagnose(made, 0, SPLITS[0])
    assert "oracle_nll" not in diagnose(replace(made, own=mixture), 0, SPLITS[0])


def test_values_are_finite_and_what_cannot_predict_gives_what_it_learned():
    failed = replace(changed(), statuses=(FitStatus("failed"),) * 3)
    assert diagnose(failed, 0, SPLITS[0]) == failed.learned(0)
    odd = replace(changed(precision_trace(np.full(9, np.nan))), known={"noise_scale": math.nan, "penalty": 0.1})
    found = diagnose(odd, 0, SPLITS[0])
    assert "noise_scale" not in found and found["penalty"] == 0.1
    assert all(type(value) is float and math.isfinite(value) for value in found.values())
    assert set(diagnose(replace(odd, layers=False), 0, SPLITS[0])) == {"penalty"}


@pytest.mark.parametrize(
    ("mode", "values", "quiet"),
    [
        ("precision runaway", {"alpha_runaway": 101.0}, {"alpha_runaway": 99.0}),
        ("precision runaway", {"two_roots": 0.0}, {"two_roots": 0.0, "log_precision_rise": -0.1}),
        ("precision runaway", {"log_barrier_margin": -0.1}, {"log_barrier_margin": 0.1}),
        ("noise collapse", {"noise_share": 0.049}, {"noise_share": 0.05}),
        ("variance starvation", {"noise_share": 0.995, "free_covariance": 1.0}, {"noise_share": 1.0}),
        ("early-stopping gap", {"oracle_gap": 0.051}, {"oracle_gap": 0.05}),
        ("depth", {"saturation": 0.6}, {"saturation": 0.5, "attenuation": 0.2}),
        ("depth", {"attenuation": 0.05, "free_covariance": 1.0}, {"attenuation": 0.05, "free_covariance": 0.0}),
    ],
)
def test_flags_stand_on_their_thresholds_and_ignore_nan(mode, values, quiet):
    assert list(raised(values)) == [mode]
    assert not raised(quiet) and not raised(dict.fromkeys(BY_NAME[mode].numbers, math.nan))
    assert set(values) <= set(BY_NAME[mode].numbers) and BY_NAME[mode].fix and BY_NAME[mode].summary


def test_a_layer_without_width_is_not_starved():
    layer = changed(family="none", routing="free", covariance=np.zeros((2, 2)))
    assert isinstance(layer.last_layer(0, SPLITS[0]), LastLayer)
    found = diagnose(layer, 0, SPLITS[0])
    assert found["noise_share"] == 1.0 and "variance starvation" not in raised(found)
