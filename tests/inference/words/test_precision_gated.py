"""Precision-gated experts: golden fixed points and predictions, published settings, edges (message passing 4.2)."""

import numpy as np
import pytest

import inference as P
from inference.words import precision_gated, published_constraints, published_priors
from tests.inference.words.golden_experts import assert_golden_fit, configurations, data_of, golden_experts

pytestmark = pytest.mark.unchecked


@pytest.mark.parametrize("entry", configurations(noisy=False))
def test_fixed_points_and_predictions_are_golden(entry):
    assert_golden_fit(precision_gated, entry)


def test_the_published_approximation_warns_and_bounds_nothing():
    x = golden_experts()
    model = precision_gated.bind(**published_priors(1e4))
    with pytest.warns(P.DualProjection):
        r = P.infer(model, data=data_of(x), constraints=published_constraints(), iterations=5)
    assert r.free_energy is None and len(r.free_energy_diagnostic) == 5
    with pytest.warns(P.DualProjection):
        r = P.infer(model, data=data_of(x), constraints=published_constraints(diagonal=True), iterations=5)
    off = r.posteriors["w"].covariance * (1.0 - np.eye(x.phi.shape[1]))
    np.testing.assert_array_equal(off, 0.0)


def test_the_order_of_experts_does_not_matter():
    x = golden_experts()
    one = P.infer(precision_gated, data=data_of(x))
    other = P.infer(precision_gated, data={"phi": x.phi, "yhat": x.yhat[:, ::-1].copy(), "y": x.y})
    np.testing.assert_allclose(one.posteriors["w"].mean(), other.posteriors["w"].mean()[::-1], rtol=1e-9, atol=1e-12)


def test_without_rows_beliefs_are_priors_and_cost_nothing():
    d, k = 2, 3
    r = P.infer(precision_gated, data={"phi": np.ones((0, d)), "yhat": np.ones((0, k)), "y": np.ones(0)})
    np.testing.assert_allclose(r.free_energy[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(r.posteriors["w"].var(), 100.0, rtol=1e-12)
    np.testing.assert_array_equal(r.posteriors["tau"].shape, 1.0)


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["joint", "apart"])
def test_a_perfect_expert_has_a_finite_precision(constraints):
    """Residuals of nought leave a Gaussian: jointly, -F = log E e^(sum z / 2) - N/2 log 2 pi an expert, exactly."""
    x, t, precision = golden_experts(), 3.0, 10.0
    model = precision_gated.bind(noise=t, weights_precision=precision)
    r = P.infer(model, data={"phi": x.phi, "yhat": x.y[:, None] + np.zeros(2), "y": x.y}, constraints=constraints)
    assert np.isfinite(r.posteriors["gamma"].mean()).all()
    pull, rows = x.phi.sum(0), len(x.y)
    exact = 2.0 * (0.125 * (pull @ pull / precision + rows / t) - 0.5 * rows * np.log(2.0 * np.pi))
    if constraints == ():
        np.testing.assert_allclose(-r.free_energy[-1], exact, rtol=1e-9)
    else:
        assert -r.free_energy[-1] < exact


def test_options_of_training_hold_in_predictions():
    """A rate prior given as data is there in the predictions too, as if it were bound."""
    x = golden_experts()
    new = {"phi": x.phi[:3], "yhat": x.yhat[:3]}
    given = P.infer(precision_gated, data={**data_of(x), "rate_prior": (2.0, 1.0)}).predict(new)
    held = P.infer(precision_gated.bind(rate_prior=(2.0, 1.0)), data=data_of(x)).predict(new)
    np.testing.assert_allclose(given.mean(), held.mean(), rtol=1e-14)
    without = P.infer(precision_gated, data=data_of(x)).predict(new)
    assert not np.allclose(given.mean(), without.mean(), rtol=1e-3)
