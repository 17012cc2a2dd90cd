"""Agreement under other likelihoods: real draws of golden and gridded posteriors, right beliefs and broken ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from corners.baselines._sampling import sample_layer
from corners.comparison.agreement import agreement
from corners.errors import DataError
from corners.method import LastLayer
from inference.truth import gaussian_k_hat
from tests.inference.truth.heads.grids import grid, weight_prior
from tests.support.golden import as_array
from tests.support.last_layers import golden_case, layer

pytestmark = pytest.mark.unchecked

NAN = float("nan")
THRESHOLDS, PRECISION = (-0.9, 0.5), 0.6


def golden_layer(name: str) -> LastLayer:
    """The moments of a golden posterior as a belief; its test points are its training points."""
    case = golden_case("nuts_reference", name)
    given, expected = case["inputs"], case["expected"]
    targets = as_array(given["y"])
    targets = 0.5 * (targets + 1.0) if given["head"] == "probit" else targets
    belief = (expected["post_mean"], expected["post_cov"], given["alpha"], NAN)
    lpd = as_array(expected["train_lpd"])
    return layer(given["Psi"], targets, *belief, likelihood=given["head"], test_log_predictive=lpd)


def ordinal_layer() -> LastLayer:
    """Three classes; moments and predictive from a dense grid."""
    generator = np.random.default_rng(12)
    features = generator.normal(size=(20, 2))
    targets = np.digitize(features @ [1.1, -0.6] + generator.normal(size=20), THRESHOLDS).astype(float)
    ends = np.array([-np.inf, *THRESHOLDS, np.inf])

    def log_data(at):
        latent = at @ features.T
        lower, upper = ends[targets.astype(int)], ends[targets.astype(int) + 1]
        return np.log(special.ndtr(upper - latent) - special.ndtr(lower - latent))

    found = grid(log_data, weight_prior(PRECISION), np.zeros(2), reach=9.0)
    lpd = np.log(found.mass @ np.exp(found.log_data))
    params = {"first_threshold": THRESHOLDS[0], "gap_1": THRESHOLDS[1] - THRESHOLDS[0]}
    rest = {"likelihood": "ordinal", "likelihood_params": params, "test_log_predictive": lpd}
    return layer(features, targets, found.mean, found.cov, PRECISION, NAN, **rest)


LAYERS = {
    "probit": lambda: golden_layer("probit_fixed_hyper"),
    "poisson": lambda: golden_layer("poisson_fixed_hyper"),
    "ordinal": ordinal_layer,
}


def sampled(model: LastLayer, seed: int = 1):
    return sample_layer(model, draws=500, seed=seed)


@pytest.fixture(scope="module", params=LAYERS)
def held(request):
    """A right belief, and draws of its own model."""
    right = LAYERS[request.param]()
    return right, sampled(right)


def failed(report) -> set[str]:
    return {check.name for check in report.checks if not check.passed}


def test_a_right_belief_agrees_and_its_false_alarm_rate_is_stated(held):
    """2 means, 2 sds, one covariance of 3 entries, a predictive a point: by chance about 3e-4 fail."""
    report = agreement(held[0], held[1], generator=np.random.default_rng(0), k_hat=gaussian_k_hat)
    assert report.agrees, str(report)
    count = len(held[0].test_targets)
    one = 2.0 * stats.norm.sf(4.5)
    assert report.false_alarm == pytest.approx((4 + count) * one + stats.chi2.sf(27.0, 3))
    assert report.w2_relative < 0.15 and report.energy is not None and report.energy < 5.0 * report.energy_null.max()
    # A Gaussian of the right moments has lighter tails than these posteriors, and its k-hat says so.
    assert report.k_hat is not None and report.loo is not None and "PSIS-LOO" in str(report)


def test_a_broken_belief_is_seen(held):
    right, draws = held
    for broken, check in (
        (replace(right, mean=-right.mean), "posterior means"),
        (replace(right, covariance=2.0 * right.covariance), "posterior standard deviations"),
        (replace(right, covariance=right.covariance * [[1.0, -1.0], [-1.0, 1.0]] * 0.9), "whitened covariance"),
        (replace(right, test_log_predictive=right.test_log_predictive - 0.2), "log predictive densities"),
    ):
        assert check in failed(agreement(broken, draws)), check


def test_a_doubled_prior_precision_is_seen(held):
    """The model is broken, the belief is right."""
    right, _ = held
    assert failed(agreement(right, sampled(replace(right, prior_precision=2.0 * right.prior_precision))))


def test_a_threshold_of_the_wrong_sign_is_seen():
    right = ordinal_layer()
    flipped = {"first_threshold": -THRESHOLDS[0], "gap_1": THRESHOLDS[1] - THRESHOLDS[0]}
    assert failed(agreement(right, sampled(replace(right, likelihood_params=flipped))))


def test_k_hat_is_of_the_posterior_of_the_layers_own_likelihood(held):
    """The log density it is given, up to a constant, from scipy's distributions."""
    right, draws = held
    given = {}

    def k_hat(log_density, mean, covariance, rng):
        given["density"] = log_density
        return "seen"

    assert agreement(right, draws, generator=np.random.default_rng(0), k_hat=k_hat).k_hat == "seen"
    weights = np.random.default_rng(1).normal(size=(6, 2))
    latent = weights @ right.features.T
    if right.likelihood == "probit":
        data = stats.norm.logcdf((2.0 * right.targets - 1.0) * latent)
    elif right.likelihood == "poisson":
        data = stats.poisson.logpmf(right.targets, np.exp(latent))
    else:
        ends, code = np.array([-np.inf, *THRESHOLDS, np.inf]), right.targets.astype(int)
        data = np.log(special.ndtr(ends[code + 1] - latent) - special.ndtr(ends[code] - latent))
    expected = data.sum(axis=1) - 0.5 * right.prior_precision * (weights**2).sum(axis=1)
    found = given["density"](weights)
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-9)


def test_a_layer_without_its_own_predictive_is_refused(held):
    right, draws = held
    with pytest.raises(DataError, match="needs its own test_log_predictive; take it from a fit's sampled_layer"):
        agreement(replace(right, test_log_predictive=None), draws)
