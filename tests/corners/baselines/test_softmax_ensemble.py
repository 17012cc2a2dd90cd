"""softmax_ensemble: the mixture of networks trained apart, and the penalty that the mixture chooses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from corners.backbones.mlp import MLP
from corners.baselines._network_fit import derived_seed
from corners.baselines.softmax import Softmax
from corners.baselines.softmax_ensemble import SoftmaxEnsemble
from corners.errors import SpecError
from tests.support.problems import SHORT
from tests.support.task_splits import tiny_classes

SPLITS, SEEDS = [tiny_classes(1), tiny_classes(2)], [5, 6]
GRID = (0.01, 3.0)
ENSEMBLE = SoftmaxEnsemble(MLP(3), penalty_grid=GRID, schedule=SHORT, members=3)


def test_it_is_the_mixture_of_networks_trained_apart_under_the_best_penalty():
    together = ENSEMBLE.fit(SPLITS, SEEDS)
    for k, (split, seed) in enumerate(zip(SPLITS, SEEDS, strict=True)):
        starts = [seed, derived_seed(seed, 1), derived_seed(seed, 2)]
        scores, mixtures = [], []
        for penalty in GRID:
            networks = [Softmax(MLP(3), penalty_grid=(penalty,), schedule=SHORT).fit([split], [s]) for s in starts]
            parts = [
                np.stack([n.predict(p.inputs).probabilities for n in networks]).mean(0)
                for p in (split.validation, split.test)
            ]
            rows = np.arange(split.validation.n)
            scores.append(-np.log(parts[0][rows, split.validation.targets.astype(int)]).mean())
            mixtures.append(parts[1])
        best = int(np.argmin(scores))
        assert together.learned(k)["penalty"] == GRID[best]
        assert together.learned(k)["validation_nll"] == pytest.approx(scores[best], rel=1e-7)
        found = together.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.probabilities, mixtures[best], rtol=1e-7)


def test_members_disagree_and_the_predictive_says_by_how_much():
    fit = ENSEMBLE.fit(SPLITS, SEEDS)
    found = fit.predict(SPLITS[0].test.inputs)
    members = special.softmax(np.stack([fit._latent(SPLITS[0].test.inputs, 0, m).numpy().T for m in range(3)]), -1)
    np.testing.assert_allclose(found.aleatoric_entropy, special.entr(members).sum(-1).mean(0), rtol=1e-10)
    assert (found.entropy > found.aleatoric_entropy).all() and fit.features(SPLITS[0].test.inputs) is None


def test_one_member_is_softmax():
    one = replace(ENSEMBLE, members=1).fit(SPLITS, SEEDS)
    network = Softmax(MLP(3), penalty_grid=GRID, schedule=SHORT).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        found, expected = (each.predict(split.test.inputs, replicate=k) for each in (one, network))
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)


def test_an_ensemble_without_members_is_refused():
    with pytest.raises(SpecError, match="at least 1 member; got members=0"):
        SoftmaxEnsemble(members=0)
