"""Units of the features: what turns the verdict, and the golden difference."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import feature_scale_is_free as module
from corners.claims._base import HOLDS
from corners.exact import kl_to_prior, shared_free_terms
from tests.support.golden import assert_golden, golden_cases


def test_broken_prior_term_turns_the_verdict(monkeypatch):
    """With the divergence from the prior in the place of the overlap, as in the ELBO, units do not matter."""

    def broken(features, targets, mean, covariance, prior_precision, noise_scale):
        terms = shared_free_terms(features, targets, mean, covariance, prior_precision, noise_scale)
        return replace(terms, prior_term=kl_to_prior(mean, covariance, prior_precision))

    monkeypatch.setattr(module, "shared_free_terms", broken)
    claim = module.FeatureScaleIsFree.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", golden_cases("unbounded", "feature_rescaling"))
def test_golden_difference_is_that_of_the_formula(case):
    given, expected = case["inputs"], case["expected"]
    features, targets = np.array(given["Psi"]), np.array(given["y"])
    mean, covariance, factor = np.array(given["mu"]), np.array(given["Sigma"]), given["c"]
    after = shared_free_terms(
        factor * features,
        targets,
        mean / factor,
        covariance / factor**2,
        factor**2 * given["alpha"],
        given["sigma2"] ** 0.5,
    )
    assert_golden("unbounded", after.total, expected["after"])
    assert_golden("unbounded", -features.shape[1] * np.log(factor), expected["difference"])
