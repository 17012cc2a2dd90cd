"""Low rank plus diagonal: what is this family's own."""

import pytest
import torch

from corners.covariances.low_rank import FACTOR, LOG_VAR, LowRank
from corners.errors import ImpossibleCellError, SpecError
from tests.support.problems import assert_close, generators, normal


def test_the_matrix_is_diagonal_plus_low_rank():
    family = LowRank(rank=2)
    params = {LOG_VAR: normal(1, 1, 5), FACTOR: normal(2, 1, 5, 2)}
    spread = family.build(params, normal(3, 1, 5), 0.0).matrix()[0] - torch.diag(params[LOG_VAR][0].exp())
    assert torch.linalg.matrix_rank(spread) == 2
    assert_close(spread, params[FACTOR][0].numpy() @ params[FACTOR][0].numpy().T)


def test_a_rank_above_the_features_is_cut():
    assert LowRank(rank=9).init(3, generators(1), torch.float64)[FACTOR].shape == (1, 3, 3)


def test_the_factor_does_not_start_where_its_gradient_is_zero():
    assert bool((LowRank().init(6, generators(1, 2), torch.float64)[FACTOR].abs() > 0).any())


def test_rank_zero_is_refused_with_the_remedy():
    with pytest.raises(SpecError, match=r"rank must be at least 1; got 0.*diagonal"):
        LowRank(rank=0)


def test_binding_is_refused_with_the_reason():
    with pytest.raises(ImpossibleCellError, match="closed form, and low_rank has none"):
        LowRank().bind(torch.eye(2, dtype=torch.float64)[None], 0.0)
