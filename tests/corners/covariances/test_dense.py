"""Dense covariances: the bound one is held by its precision, and what is built is the stated parameterisation."""

import numpy as np
import torch

from corners.covariances.dense import LOG_DIAGONAL, STRICT_LOWER, Dense
from tests.support.problems import assert_close, normal


def test_the_factor_is_lower_with_an_exponential_diagonal():
    params = {LOG_DIAGONAL: normal(1, 1, 3), STRICT_LOWER: normal(2, 1, 3, 3)}
    lower = np.tril(params[STRICT_LOWER][0].numpy(), -1) + np.diag(np.exp(params[LOG_DIAGONAL][0].numpy()))
    assert_close(Dense().build(params, normal(3, 1, 3), 0.0).matrix()[0], lower @ lower.T)


def test_the_upper_triangle_of_the_parameter_plays_no_part():
    params = {LOG_DIAGONAL: normal(1, 1, 3), STRICT_LOWER: normal(2, 1, 3, 3)}
    changed = params | {STRICT_LOWER: params[STRICT_LOWER] + normal(4, 1, 3, 3).triu()}
    one, other = (Dense().build(each, normal(3, 1, 3), 0.0).matrix() for each in (params, changed))
    assert torch.equal(one, other)


def test_the_bound_matrix_is_the_inverse_of_the_precision():
    root = normal(5, 2, 4, 4)
    precision = root @ root.mT + torch.eye(4, dtype=torch.float64)
    bound = Dense().bind(torch.linalg.cholesky(precision), 0.0)
    assert_close(bound.matrix(), np.linalg.inv(precision.numpy()))


def test_forms_of_an_ill_conditioned_posterior_lose_no_more_than_its_condition_number():
    """Precision from 1e-3 to 1e5: the prior overlap through ``I + cA`` against the eigenvalues themselves."""
    scales = np.array([1e-3, 1e-1, 1.0, 1e5])
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    precision = rotation @ np.diag(scales) @ rotation.T
    mean, shift = np.array([0.3, -1.2, 0.7, 2.0]), 0.37
    bound = Dense().bind(torch.linalg.cholesky(torch.tensor(precision))[None], 0.0)
    log_det, form = bound.overlap_terms(torch.tensor(mean)[None], torch.tensor([shift]).double())
    total = 1.0 / scales + shift
    tolerance = 10.0 * np.finfo(float).eps * scales.max() / scales.min()
    assert_close(log_det[0], np.log(total).sum(), rel=tolerance)
    assert_close(form[0], ((rotation.T @ mean) ** 2 / total).sum(), rel=tolerance)
