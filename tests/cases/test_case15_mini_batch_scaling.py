"""Case 15: mini-batch objectives of an epoch add up to the full-batch objective, and the prior is counted once."""

import pytest
import torch

from corners.backbones.mlp import MLP
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.data.batch import stack_splits
from corners.engine.problem import CornerProblem
from corners.likelihoods.gaussian import Gaussian
from tests.support.corner_cells import cell
from tests.support.problems import assert_close, generators, tiny_split


@pytest.mark.parametrize("name", ["scroll_none", "scroll_diagonal", "scroll_dense", "scroll_low_rank"])
def test_an_epoch_weighted_by_its_rows_is_the_full_objective(name):
    """``Σ_b (|b|/N) F̂_b = F``: with the prior rescaled it would be counted ``N/|b|`` times."""
    options = {"prior": Prior(hyperprior=GammaPrior()), "likelihood": Gaussian(hyperprior=InverseGammaPrior())}
    corner = cell(name, backbone=MLP(3), **options)
    data, _ = stack_splits([tiny_split(1), tiny_split(2)], scale_targets=True)
    params = corner.init(data.train.inputs, data.train.targets, generators(1, 2))
    full, _ = CornerProblem(corner, data, generators(1, 2)).objective(params, 0)
    for batch_size in (2, 6):
        small = CornerProblem(corner, data, generators(1, 2), batch_size)
        epoch = torch.stack([small.objective(params, step)[0] for step in range(12 // batch_size)])
        assert_close((epoch * batch_size / 12).sum(0), full)
