"""The real sampler, once: a fit's last layer through PyMC and its gate, fixed and hierarchical, into a comparison."""

import numpy as np
import pytest
from scipy import special, stats

from corners.backbones.identity import Identity
from corners.baselines._sampling import sample_layer
from corners.baselines.nuts import Nuts
from corners.study import compare, make_method
from tests.support import dense_cells as dense
from tests.support.problems import TINY_PROTOCOL, tiny_split

pytestmark = pytest.mark.unchecked

SPLIT = tiny_split(1, rows=(20, 6, 5))


@pytest.fixture(scope="module")
def layer():
    """The evidence corner on two features."""
    fit = make_method("sequential", protocol=TINY_PROTOCOL, backbone=Identity()).fit([SPLIT], [5])
    return fit.last_layer(0, SPLIT)


@pytest.fixture(scope="module")
def reference(layer):
    """Sampled without a seed of ours."""
    return sample_layer(layer, draws=500)


def test_draws_of_a_fixed_layer_are_its_conjugate_posterior(layer, reference):
    """Means and standard deviations within 4.5 Monte Carlo errors (theory 10.3)."""
    mean, covariance = dense.posterior(layer.features, layer.targets, layer.prior_precision, layer.noise_var)
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(reference.mean() - mean) <= 4.5 * deviation / np.sqrt(reference.ess_mean)).all()
    ratio = np.sqrt(np.diag(reference.cov())) / deviation
    assert (np.abs(ratio - 1.0) <= 4.5 / np.sqrt(2.0 * reference.ess_sd)).all()


def test_without_a_seed_a_fresh_one_is_drawn_and_recorded(layer, reference):
    """Acceptance case 23: the recorded seed gives the same draws, and no seed is fixed in secret."""
    np.testing.assert_array_equal(sample_layer(layer, draws=500, seed=reference.seed).weights, reference.weights)
    assert sample_layer(layer, draws=500).seed != reference.seed


def test_a_comparison_with_truth_says_who_agrees():
    """The corner is its own posterior; NUTS scores as it does; the free belief is another distribution."""
    options = {"seeds": [5], "protocol": TINY_PROTOCOL, "backbone": Identity(), "truth_draws": 500}
    comparison = compare(SPLIT, ["sequential", "scroll_dense", "nuts"], **options)
    assert comparison.reference_failures == {} and set(comparison.references) == {
        ("sequential", 5),
        ("scroll_dense", 5),
    }
    assert comparison.fits["nuts"].statuses[0].code == "sampled"
    assert comparison.references["sequential", 5] is comparison.fits["nuts"].references[0]
    exact, sampled = (comparison.score("nll", name, 0).mean for name in ("sequential", "nuts"))
    assert sampled == pytest.approx(exact, abs=0.02)
    assert "sequential" in str(comparison.agreement())


def as_numbers(reference, name: str) -> np.ndarray:
    """Draws of a hyperparameter."""
    return np.asarray(reference.hyperparameters[name])


@pytest.mark.slow
def test_hierarchical_draws_use_the_fits_own_hyperpriors():
    comparison = compare(
        SPLIT,
        ["scroll_dense", Nuts(draws=500)],
        seeds=[5],
        protocol=TINY_PROTOCOL,
        backbone=Identity(),
        truth="hierarchical",
    )
    if ("scroll_dense", 5) in comparison.references:
        reference = comparison.references["scroll_dense", 5]
        assert (as_numbers(reference, "prior_precision") > 0.0).all() and (
            as_numbers(reference, "noise_scale") > 0.0
        ).all()
    else:
        assert "gate" in comparison.reference_failures["scroll_dense", 5]
    # The exact corner has no hyperpriors of its own, and the reason is kept.
    assert "hyperpriors" in comparison.reference_failures["sequential", 5]


def test_the_averaged_corner_is_the_integral_over_its_hyperparameters():
    """Against a dense grid over (log α, log σ) of evidence times hyperpriors, within 0.02 nats a point.

    The density of a new target is a smooth function of two numbers with posterior spreads near 1 and 0.2; 400 of 4000
    draws average it to about a hundredth.
    """
    options = {"protocol": TINY_PROTOCOL, "backbone": Identity()}
    host = make_method("sequential", **options).fit([SPLIT], [5])
    method = make_method("sequential_averaged", **options)
    found = method.fit([SPLIT], [5], host=host).predict(SPLIT.test.inputs).log_prob(SPLIT.test.targets)
    layer = host.last_layer(0, SPLIT)
    rate, scale = (0.5 * layer.features.shape[1] + 1.0) / 100.0, 0.01 * layer.targets.var()
    log_weights, log_densities = [], []
    for log_precision in np.linspace(-8.0, 8.0, 81):
        for log_noise in np.linspace(-5.0, 3.0, 81):
            precision, noise_var = np.exp(log_precision), np.exp(2.0 * log_noise)
            covariance = noise_var * np.eye(len(layer.targets)) + layer.features @ layer.features.T / precision
            weight = stats.multivariate_normal(cov=covariance).logpdf(layer.targets)
            # Gamma(2, rate) on α and inverse-gamma(1, scale) on σ², each with the Jacobian of its logarithm.
            weight += 2.0 * log_precision - rate * precision - 2.0 * log_noise - scale / noise_var
            mean, spread = dense.posterior(layer.features, layer.targets, precision, noise_var)
            variances = noise_var + np.einsum("nh,hk,nk->n", layer.test_features, spread, layer.test_features)
            log_weights.append(weight)
            log_densities.append(stats.norm(layer.test_features @ mean, np.sqrt(variances)).logpdf(layer.test_targets))
    weights = special.softmax(log_weights)
    expected = special.logsumexp(log_densities, axis=0, b=weights[:, None]) - np.log(layer.target_scale)
    np.testing.assert_allclose(found, expected, atol=0.02)
