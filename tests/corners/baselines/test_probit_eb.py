"""probit_eb: its predictive from the dense Laplace covariance, its precision where the evidence is highest."""

import numpy as np
import pytest
import torch
from scipy import special

from corners.baselines._probit import INTERCEPT_SCALE, Probits, find_modes
from corners.baselines.probit_eb import APPROXIMATE, ProbitEb
from corners.data.split import Part, Split
from tests.support.task_splits import tiny_classes

SEEDS = [5, 6]


def laplace(split: Split, precision: float, code: int) -> tuple[np.ndarray, np.ndarray]:
    """Mode and covariance of "class ``code`` or another", Newton by hand with scipy's functions."""
    own = split.train.inputs
    design = np.column_stack(((own - own.mean(0)) / own.std(0), np.ones(len(own))))
    signs, prior = (
        np.where(split.train.targets == code, 1.0, -1.0),
        np.array([precision, precision, INTERCEPT_SCALE**-2]),
    )
    weights, curvature = np.zeros(3), np.eye(3)
    for _ in range(60):
        t = signs * (design @ weights)
        ratio = np.exp(-0.5 * t**2 - special.log_ndtr(t)) / np.sqrt(2.0 * np.pi)
        curvature = (design.T * (ratio * (ratio + t))) @ design + np.diag(prior)
        weights = weights - np.linalg.solve(curvature, prior * weights - design.T @ (signs * ratio))
    return weights, np.linalg.inv(curvature)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_predictive_averages_over_the_laplace_belief(classes):
    splits = [tiny_classes(seed, rows=(40, 12, 5), classes=classes) for seed in (1, 2)]
    fit = ProbitEb().fit(splits, SEEDS)
    for k, split in enumerate(splits):
        precision = fit.learned(k)["prior_precision"]
        own = split.train.inputs
        design = np.column_stack(((split.test.inputs - own.mean(0)) / own.std(0), np.ones(split.test.n)))
        ones = []
        for code in range(classes) if classes > 2 else (1,):
            mode, covariance = laplace(split, precision, code)
            variance = np.einsum("np,pq,nq->n", design, covariance, design)
            ones.append(special.ndtr(design @ mode / np.sqrt(1.0 + variance)))
        expected = np.column_stack([1.0 - ones[0], ones[0]] if classes == 2 else ones)
        found = fit.predict(split.test.inputs, replicate=k).probabilities
        np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), rtol=1e-9)
        assert APPROXIMATE in fit.statuses[k].sentence and fit.statuses[k].code == "converged"


@pytest.mark.parametrize("classes", [2, 3])
def test_no_precision_nearby_has_a_higher_evidence(classes):
    splits = [tiny_classes(seed, rows=(40, 12, 5), classes=classes) for seed in (1, 2)]
    fit = ProbitEb().fit(splits, SEEDS)
    for k, split in enumerate(splits):
        own, learned = split.train.inputs, fit.learned(k)
        codes = np.arange(classes) if classes > 2 else np.array([1])
        signs = np.where(split.train.targets == codes[:, None], 1.0, -1.0)[None]
        data = Probits(torch.tensor(((own - own.mean(0)) / own.std(0))[None]), torch.tensor(signs))
        factors = torch.tensor([0.97, 1.0, 1.03], dtype=torch.float64) * learned["prior_precision"]
        values = find_modes(data, factors[None, :, None].expand(1, 3, len(codes))).log_evidence.sum(-1)[0].tolist()
        assert values[1] == pytest.approx(learned["log_evidence"], rel=1e-10)
        assert values[1] >= max(values)


def test_labels_without_a_pattern_let_the_precision_run_away_and_it_is_said():
    """Every input has both labels: no weight helps, so the evidence grows with the precision."""
    inputs = np.repeat(np.random.default_rng(1).normal(size=(15, 2)), 2, axis=0)
    part = Part(inputs, np.tile([0.0, 1.0], 15))
    fit = ProbitEb().fit([Split(part, part, part, "coin", task="classification")], [5])
    assert "evidence is highest at the edge of the precisions searched" in fit.statuses[0].sentence
    np.testing.assert_allclose(fit.predict(inputs).probabilities, 0.5, atol=1e-3)


def test_uncertainty_takes_confidence_away():
    splits = [tiny_classes(1, rows=(40, 12, 5), classes=2)]
    fit = ProbitEb().fit(splits, [5])
    far = np.abs(splits[0].train.inputs).max() * 10.0 * np.ones((1, 2))
    mode, _ = laplace(splits[0], fit.learned(0)["prior_precision"], 1)
    own = splits[0].train.inputs
    point = special.ndtr(np.append((far[0] - own.mean(0)) / own.std(0), 1.0) @ mode)
    found = fit.predict(far).probabilities[0, 1]
    assert abs(found - 0.5) < abs(point - 0.5)
