"""Shared cavity with closed routing: golden terms and gradients, refitting, autograd through the binding, the dropped
reaction.
"""

import numpy as np
import pytest
from hypothesis import given

from corners.errors import SpecError
from corners.exact import Evidence, cavity_correction, shared_closed_gradient, shared_closed_terms
from tests.corners.exact import torch_cells
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers

FAMILIES = ["dense", "diagonal", "none"]


def unpack(case):
    inputs = case["inputs"]
    return as_array(inputs["Psi"]), as_array(inputs["y"]), float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_golden_terms(case):
    cell, expected = shared_closed_terms(*unpack(case)), case["expected"]
    assert_golden("shared_closed", cell.prior_term, expected["prior_term"])
    assert_golden("shared_closed", cell.data_terms, expected["data_terms"])
    assert_golden("shared_closed", cell.variances, expected["V"])
    assert_golden("shared_closed", cell.total, expected["total"])


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_golden_gradients(case):
    gradient, expected = shared_closed_gradient(*unpack(case)), case["expected"]
    assert_golden("shared_closed", gradient.log_prior_precision, expected["grad_log_alpha"])
    assert_golden("shared_closed", gradient.log_noise_var, expected["grad_log_sigma2"])
    assert_golden("shared_closed", gradient.features, expected["grad_Psi"])


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_golden_reaction_that_the_cavity_drops(case):
    features, targets, precision, scale = unpack(case)
    scored = Evidence(features, targets).leave_one_out(precision, scale)
    dropped = cavity_correction(scored.leverage, scored.one_minus_leverage, scored.residuals, scale**2)
    assert_golden("shared_closed", dropped, case["expected"]["loo_minus_shared_data"])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_terms_are_those_of_the_bound_belief(given_problem, family):
    features, _, precision, noise_var = given_problem
    mean, covariance = oracles.posterior(*given_problem)
    if family == "none":
        covariance = np.zeros_like(covariance)
    if family == "diagonal":
        covariance = np.diag(1.0 / np.diag(np.linalg.inv(covariance)))
    prior, data = oracles.free_terms(*given_problem[:2], mean, covariance, precision, noise_var)
    for cell in (
        shared_closed_terms(*given_problem.arguments, family=family),
        Evidence(*given_problem[:2]).shared_closed(precision, given_problem.noise_scale, family=family),
    ):
        np.testing.assert_allclose(cell.prior_term, prior, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(cell.data_terms, data, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(cell.means, features @ mean, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_gradients_flow_through_the_binding(given_problem, family):
    """Autograd of the definition: a detached binding would give another gradient."""
    leaves = torch_cells.Leaves(given_problem)
    prior, noise, slope = leaves.gradients(torch_cells.shared_closed(leaves, family))
    gradient = shared_closed_gradient(*given_problem.arguments, family=family)
    np.testing.assert_allclose(gradient[:2], [prior, noise], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(gradient.features, slope, rtol=1e-8, atol=1e-9)
    kept = Evidence(*given_problem[:2]).shared_closed_gradient(
        given_problem.precision, given_problem.noise_scale, family=family
    )
    np.testing.assert_array_equal(kept.features, gradient.features)


@given(layers())
def test_shared_data_terms_never_exceed_leave_one_out(layer):
    """Termwise, and the difference is exactly the stated reaction."""
    evidence, scale = Evidence(layer.features, layer.targets), layer.noise_var**0.5
    scored, cell = evidence.leave_one_out(layer.precision, scale), evidence.shared_closed(layer.precision, scale)
    gap = scored.terms - cell.data_terms
    assert (gap >= -1e-9 * (1.0 + np.abs(scored.terms))).all()
    dropped = cavity_correction(scored.leverage, scored.one_minus_leverage, scored.residuals, layer.noise_var)
    np.testing.assert_allclose(dropped, gap, rtol=1e-7, atol=1e-7 * (1.0 + np.abs(scored.terms).max()))


@given(layers())
def test_feature_units_shift_the_prior_term_alone(layer):
    """``Ψ → cΨ``, ``α → c²α`` changes the total by ``−H log c`` (theory 7.1.5)."""
    scale, factor = layer.noise_var**0.5, 3.0
    before = shared_closed_terms(layer.features, layer.targets, layer.precision, scale)
    after = shared_closed_terms(factor * layer.features, layer.targets, factor**2 * layer.precision, scale)
    np.testing.assert_allclose(after.data_terms, before.data_terms, rtol=1e-8, atol=1e-8)
    shift = -layer.features.shape[1] * np.log(factor)
    np.testing.assert_allclose(after.prior_term - before.prior_term, shift, rtol=1e-8, atol=1e-7)


def test_it_is_not_the_evidence():
    """The claim that v1 of the paper makes of this cell is false: golden case 0, 8.224 against 10.369 (theory 13.1)."""
    case = golden_cases("shared_closed")[0].values[0]
    features, targets, precision, scale = unpack(case)
    evidence = -Evidence(features, targets).log_evidence(precision, scale)
    assert evidence - shared_closed_terms(features, targets, precision, scale).total > 2.0


def test_unknown_family_is_refused():
    with pytest.raises(SpecError, match="'dense', 'diagonal', 'none'; got 'low_rank'"):
        shared_closed_terms(*problem(4, 2).arguments, family="low_rank")
