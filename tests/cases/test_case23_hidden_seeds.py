"""Case 23: no seed is fixed behind the user's back; the seed that was used is in the result."""

import numpy as np
import torch

from corners.backbones.mlp import MLP
from corners.study import compare, make_method
from tests.support.problems import TINY_PROTOCOL, tiny_split
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

SPLIT = tiny_split(1)


def test_the_seeds_are_in_the_result():
    comparison = compare(SPLIT, ["sequential"], backbone=MLP(3), seeds=[11, 4], protocol=TINY_PROTOCOL)
    assert comparison.seeds == (11, 4) and comparison.fits["sequential"].seeds == (11, 4)
    assert {row["seed"] for row in comparison.seed_records()} == {11, 4}


def test_another_seed_is_another_start_and_the_users_generators_play_no_part():
    method = make_method("scroll_dense", protocol=TINY_PROTOCOL, backbone=MLP(3))

    def mean(seed: int) -> np.ndarray:
        return method.fit([SPLIT], [seed]).predict(SPLIT.test.inputs).mean

    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  the user's own
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one = mean(5)
    assert torch.equal(torch.get_rng_state(), before[0]) and np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    torch.manual_seed(2)
    np.testing.assert_array_equal(mean(5), one)
    assert not np.allclose(mean(6), one)


def test_the_truth_is_sampled_with_the_seed_of_its_replicate(sampler: Sampler):  # noqa: F811
    compare(SPLIT, ["nuts"], backbone=MLP(3), seeds=[11, 4], protocol=TINY_PROTOCOL, truth_seeds=0)
    assert [asked["seed"] for asked in sampler.asked] == [11, 4]
