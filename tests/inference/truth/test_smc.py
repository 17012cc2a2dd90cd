"""Sequential Monte Carlo against the exact evidence (theory 10.3: within 0.3 nats for 4 chains of 1000 particles)."""

import numpy as np
import pytest
from scipy import stats

from inference.errors import SpecError, TruthError
from inference.truth import Gamma, Hyperpriors, Probit, smc_evidence
from inference.truth.smc import last_finite
from tests.inference.truth.heads.grids import grid, weight_prior


def test_only_the_last_stage_of_a_chain_holds_its_evidence():
    nan = np.nan
    assert last_finite([[nan, -5.0], [nan, nan, nan, -6.0]]) == [-5.0, -6.0]


def test_a_chain_without_evidence_is_named():
    with pytest.raises(TruthError, match="SMC chain 1 holds no finite evidence: it did not reach the posterior"):
        last_finite([[np.nan, -5.0], [np.nan, np.nan]])


@pytest.mark.parametrize(("changes"), [{"chains": 1}, {"particles": 99}])
def test_too_few_are_refused(changes):
    with pytest.raises(SpecError, match="SMC needs at least 2 chains of 100 particles but got"):
        smc_evidence(np.eye(2), np.ones(2), prior_precision=1.0, noise_scale=1.0, **changes)


@pytest.mark.slow
def test_gaussian_noise_with_known_hyperparameters(data, fixed_case):
    inputs, exact = fixed_case["inputs"], fixed_case["expected"]["log_evidence"]
    known = {"prior_precision": inputs["alpha"], "noise_scale": inputs["sigma2"] ** 0.5}
    found = smc_evidence(*data, **known, seed=3)
    check(found, exact)
    assert smc_evidence(*data, **known, seed=3) == found


@pytest.mark.slow
def test_gaussian_noise_with_hyperpriors(data, hyperpriors, hyper_case):
    check(smc_evidence(*data, hyperpriors=hyperpriors, seed=4), hyper_case["expected"]["log_evidence"])


@pytest.mark.slow
def test_a_head_with_a_sampled_precision():
    """Labels of two features; the reference is a dense grid over two weights and the logarithm of the precision."""
    features = np.random.default_rng(31).normal(size=(15, 2))
    labels = (features @ [1.1, -0.6] + np.random.default_rng(5).normal(size=15) > 0.0).astype(float)

    def log_data(at):
        return stats.norm.logcdf((2.0 * labels - 1.0) * (at[:, :2] @ features.T))

    def log_prior(at):
        precision = np.exp(at[:, 2])
        return weight_prior(precision)(at) + stats.gamma.logpdf(precision, 2.0) + at[:, 2]

    exact = grid(log_data, log_prior, [0.5, -0.3, 0.3], 61, 12.0).log_evidence
    priors = Hyperpriors(prior_precision=Gamma(2.0, 1.0))
    check(smc_evidence(features, labels, likelihood=Probit(), hyperpriors=priors, seed=5), exact)


def check(found, exact):
    assert abs(found.log_evidence - exact) <= 0.3
    assert len(found.chains) == 4 and found.particles == 1000
    np.testing.assert_allclose(found.log_evidence, np.mean(found.chains))
    np.testing.assert_allclose(found.se, np.std(found.chains, ddof=1) / 2.0)
