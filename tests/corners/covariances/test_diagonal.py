"""Diagonal covariance: the bound one is the reciprocal of the precision's diagonal, not the diagonal of its inverse."""

import numpy as np
import pytest
import torch

from corners.covariances.diagonal import LOG_VAR, Diagonal
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import assert_close, normal


def test_variances_are_exponentials_plus_jitter():
    params = {LOG_VAR: normal(1, 2, 3)}
    assert_close(Diagonal().build(params, normal(2, 2, 3), 0.02).variances, np.exp(params[LOG_VAR].numpy()) + 0.02)


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_the_bound_variances_are_the_golden_optimum(case):
    given, expected = case["inputs"], case["expected"]["diag_optimum"]
    features = as_array(given["Psi"])
    precision = given["alpha"] * np.eye(features.shape[1]) + features.T @ features / given["sigma2"]
    bound = Diagonal().bind(torch.linalg.cholesky(torch.tensor(precision))[None], 0.0)
    assert_golden("elbo_map", bound.variances[0], expected["s"])
