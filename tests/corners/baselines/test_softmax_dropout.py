"""softmax_dropout: its mixture by hand from its masks, its objective, and rate 0 as softmax."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._dropout import PREDICTION, TRAINING, uniforms
from corners.baselines._heads import SoftmaxHead
from corners.baselines.softmax import Softmax
from corners.baselines.softmax_dropout import SoftmaxDropout
from corners.data.batch import stack_splits
from corners.errors import SpecError
from tests.support.problems import SHORT, assert_close, normal
from tests.support.task_splits import tiny_classes

SPLITS, SEEDS = [tiny_classes(1), tiny_classes(2)], [5, 6]
DROPOUT = SoftmaxDropout(MLP(4), penalty_grid=(0.1,), rate_grid=(0.3,), schedule=SHORT, passes=7)


def test_a_pass_drops_features_for_all_inputs_and_classes():
    fit = DROPOUT.fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        weights, features = fit.replicates[k].params["weights"].numpy(), fit.features(split.test.inputs, replicate=k)
        kept = uniforms(7, 4, SEEDS[k], PREDICTION).numpy() >= 0.3
        draws = np.stack([special.softmax(features @ (weights * mask / 0.7).T, 1) for mask in kept])
        np.testing.assert_allclose(fit.predict(split.test.inputs, replicate=k).probabilities, draws.mean(0), rtol=1e-10)


def test_the_objective_drops_every_point_anew():
    method = replace(DROPOUT, backbone=Identity(), backbone_penalty=0.0, rate_grid=(0.3, 0.6))
    data, _ = stack_splits(SPLITS, scale_targets=False, codes=True)
    tiled, seeds = data.select(torch.arange(2).repeat(2)), SEEDS * 2
    problem = method._problem(SoftmaxHead(3), tiled, seeds, 2)
    weights = normal(3, 4, 3, 2)
    found, _ = problem.objective({"weights": weights}, 4)
    for row, rate in enumerate((0.3, 0.3, 0.6, 0.6)):
        kept = uniforms(12, 2, seeds[row], TRAINING, 4).numpy() >= rate
        logits = (tiled.train.inputs[row].numpy() * kept / (1.0 - rate)) @ weights[row].numpy().T
        labels = tiled.train.targets[row].numpy().astype(int)
        expected = -special.log_softmax(logits, 1)[np.arange(12), labels].sum()
        assert_close(found[row], expected + 0.05 * float(weights[row].square().sum()), rel=1e-9)


def test_validation_chooses_by_the_mixture():
    fit = replace(DROPOUT, penalty_grid=(0.01, 3.0), rate_grid=(0.1, 0.5)).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        part = split.validation
        nll = -fit.predict(part.inputs, replicate=k).log_prob(part.targets).mean()
        assert fit.learned(k)["validation_nll"] == pytest.approx(nll, rel=1e-9)
        assert np.nanmin(fit.trace.values["validation_nll"][k]) == pytest.approx(nll, rel=1e-9)


def test_rate_zero_is_softmax():
    fit = replace(DROPOUT, rate_grid=(0.0,)).fit(SPLITS, SEEDS)
    network = Softmax(MLP(4), penalty_grid=(0.1,), schedule=SHORT).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        found, expected = (each.predict(split.test.inputs, replicate=k) for each in (fit, network))
        np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-9)


@pytest.mark.parametrize(("options", "match"), [({"rate_grid": (1.0,)}, "rate"), ({"passes": 0}, "at least 1 pass")])
def test_impossible_options_are_refused(options, match):
    with pytest.raises(SpecError, match=match):
        SoftmaxDropout(**options)
