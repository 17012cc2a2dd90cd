"""Optimum of the free objective: golden values, what may be claimed, gradients of the transformed objective."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from corners.errors import SpecError
from corners.exact import FreeBounds, Hyperpriors, Start, find_free_optimum, shared_free_terms
from corners.exact.free_objective import FreeObjective
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, golden, golden_cases

NAMES = {"none": "none", "diag": "diagonal", "full": "dense"}


def solve(case, **changes):
    inputs = case["inputs"]
    fixed, gamma = inputs["fixed"], inputs["gamma_hyperprior_shape_rate"]
    options = {
        "family": NAMES[inputs["family"]],
        "prior_precision": float(fixed["alpha"]) if "alpha" in fixed else None,
        "noise_scale": float(fixed["sigma2"]) ** 0.5 if "sigma2" in fixed else None,
        "hyperpriors": Hyperpriors(None if gamma is None else (float(gamma[0]), float(gamma[1]))),
        "jitter": float(inputs["jitter_eps"]),
        "starts": 8,
        "bounds": FreeBounds(),
    }
    return find_free_optimum(
        as_array(inputs["Psi"]), as_array(inputs["y"]), np.random.default_rng(0), **options | changes
    )


@pytest.mark.parametrize("case", golden_cases("free_optimum"))
def test_golden_optimum(case):
    best, expected = solve(case), case["expected"]
    tolerance = golden("free_optimum")["tolerance"]
    close = {"rel": tolerance["param_rel"], "abs": tolerance["param_abs"]}
    assert best.value == pytest.approx(expected["best_value"], abs=tolerance["value_abs"])
    assert best.prior_precision == pytest.approx(expected["alpha"], **close)
    if expected["sigma2"] > 1e-4:
        assert best.noise_scale**2 == pytest.approx(expected["sigma2"], **close)
    else:
        assert best.at_bounds == ("noise_scale",)
    np.testing.assert_allclose(best.mean, as_array(expected["mu"]), rtol=close["rel"], atol=close["abs"])


def test_value_is_the_objective_plus_the_penalty():
    case = golden_cases("free_optimum", "opt_diag_gamma")[0].values[0]
    best = solve(case)
    cell = shared_free_terms(
        as_array(case["inputs"]["Psi"]),
        as_array(case["inputs"]["y"]),
        best.mean,
        best.covariance,
        best.prior_precision,
        best.noise_scale,
    )
    penalty = best.prior_precision - np.log(best.prior_precision)  # Gamma(2, 1)
    assert best.value == pytest.approx(cell.total + penalty, rel=1e-10)
    np.testing.assert_allclose(best.variances, best.noise_scale**2 + cell.variances, rtol=1e-12)


@pytest.mark.parametrize("family", ["none", "diagonal", "dense"])
@pytest.mark.parametrize("free", [True, False])
def test_gradient_of_the_transformed_objective(family, free):
    """The mean is eliminated, so this also checks the envelope theorem."""
    features, targets, precision, noise_var = problem(10, 3)
    objective = FreeObjective(
        features=features,
        targets=targets,
        family=family,
        jitter=0.0 if family == "none" else 1e-3,
        prior_precision=None if free else precision,
        noise_var=None if free else noise_var,
        hyperpriors=Hyperpriors((2.0, 0.3), (1.0, 0.1)),
        bounds=FreeBounds(),
    )
    for seed in range(3):
        start = objective.random_start(np.random.default_rng(seed))
        start = np.clip(start, -4.0, 4.0)
        slope = np.linalg.norm(objective(start)[1])
        error = check_grad(lambda p: objective(p)[0], lambda p: objective(p)[1], start) if len(start) else 0.0
        assert error < 1e-5 * (1.0 + slope)


def test_a_free_unregularised_precision_gets_no_global_claim():
    features, targets, _, _ = problem(10, 2)
    with pytest.raises(SpecError, match=r"without bound as it grows.*hyperpriors=.*starts=Start"):
        find_free_optimum(features, targets, np.random.default_rng(0), noise_scale=0.3)


def test_from_a_stated_start_it_is_a_local_minimum():
    features, targets, _, _ = problem(15, 2)
    rng = np.random.default_rng(0)
    best = find_free_optimum(features, targets, rng, family="none", noise_scale=0.5, starts=Start(1.0, 0.5))
    assert best.claim == "local minimum below the stated start; the objective has no global one"
    escaped = find_free_optimum(features, targets, rng, family="none", noise_scale=0.5, starts=Start(1e5, 0.5))
    assert escaped.at_bounds == ("prior_precision",)
    held = find_free_optimum(features, targets, rng, family="none", prior_precision=1.0, starts=Start(1.0, 0.5))
    assert held.claim == "local minimum below the stated start"


def test_the_claim_never_says_proven():
    best = solve(golden_cases("free_optimum", "opt_diag_alpha1_sigma2_fixed")[0].values[0], starts=8)
    assert best.claim == "best of 8 starts, 8 of which reached it; not proven global, the objective is non-convex"
    assert best.at_bounds == ()


def test_an_inverse_gamma_prior_keeps_the_noise_off_its_floor():
    case = golden_cases("free_optimum", "opt_diag_alpha1_sigma2_free")[0].values[0]
    targets = as_array(case["inputs"]["y"])
    best = solve(case, hyperpriors=Hyperpriors(noise_var=(1.0, 0.01 * float(targets.var()))))
    assert best.at_bounds == ()
    assert best.noise_scale**2 > 1e-4


def test_default_bounds_follow_the_targets():
    bounds = FreeBounds.of(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(bounds.log_noise_var, (-14.0, np.log(4.0)))
    assert FreeBounds.of(np.zeros(3)).log_noise_var == (-14.0, -13.0)


def test_too_few_starts_are_refused():
    with pytest.raises(SpecError, match="at least 8 starts; got 4"):
        find_free_optimum(*problem(5, 2)[:2], np.random.default_rng(0), prior_precision=1.0, starts=4)
