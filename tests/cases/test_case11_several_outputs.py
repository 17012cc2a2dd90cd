"""Case 11: three outputs of unlike noise; each is recovered, and what is joint is the sum of what is single."""

import numpy as np
import pytest
import torch

from corners.backbones.identity import Identity
from corners.beliefs import Marginals, Prior
from corners.data.dataset import Dataset
from corners.data.splitters import random_split
from corners.engine.named import named_cell
from corners.exact import Evidence
from corners.likelihoods.gaussian import LOG_NOISE_VAR, TARGET_VAR, Gaussian
from corners.protocols import Protocol
from tests.support.corner_cells import cell, energy_at
from tests.support.problems import assert_close, normal, real

NOISE = np.array([0.1, 0.5, 2.0])
PROTOCOL = Protocol("case11", learning_rate=0.1, max_steps=90, patience=40)


def table() -> Dataset:
    generator = np.random.default_rng(11)
    inputs = generator.normal(size=(1000, 3))
    clean = inputs @ np.array([[1.0, -1.0, 0.5], [0.5, 2.0, 1.0], [-1.5, 0.3, 2.0]])
    return Dataset(inputs, clean + NOISE * generator.normal(size=(1000, 3)), target_name=["a", "b", "c"])


@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "shared_closed", "scroll_none", "scroll_diagonal"])
def test_the_noise_of_every_output_is_recovered(name):
    split = random_split(table(), seed=5)
    fit = named_cell(name, PROTOCOL, Identity(), Gaussian(outputs=3)).fit([split], [5])
    learned = fit.learned(0)
    for p, scale in enumerate(NOISE):
        assert learned[f"noise_scale_{p}"] == pytest.approx(scale, rel=0.15)
    joint = fit.predict(split.test.inputs)
    for p, scale in enumerate(NOISE):
        own = joint.output(p)
        assert np.sqrt(np.mean((split.test.targets[:, p] - own.mean) ** 2)) == pytest.approx(scale, rel=0.15)


def test_the_evidence_is_the_sum_of_three_single_ones():
    features, targets, precision = normal(1, 20, 4), normal(2, 20, 3), np.array([0.3, 1.0, 8.0])
    params = {
        LOG_NOISE_VAR: 2.0 * torch.tensor(NOISE).log()[None],
        TARGET_VAR: torch.ones(1, 3).double(),
        Prior.parameter: torch.tensor(precision).log()[None],
    }
    corner = cell("sequential", likelihood=Gaussian(outputs=3))
    energy = energy_at(corner, params, features[None], targets.mT[None])
    expected = -sum(
        Evidence(features.numpy(), targets[:, p].numpy()).log_evidence(float(precision[p]), float(NOISE[p]))
        for p in range(3)
    )
    assert_close(energy.total[0], expected, rel=1e-10)


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_the_expected_log_density_is_that_of_monte_carlo(outputs):
    likelihood, draws = Gaussian(outputs=outputs), 100_000
    scales, means = real(0.1, 0.5, 2.0)[:outputs], real(0.3, -1.0, 2.0)[:outputs]
    spreads, targets = real(0.2, 1.0, 0.5)[:outputs], real(0.25, 0.0, 4.0)[:outputs]
    single = outputs == 1
    params = {LOG_NOISE_VAR: 2.0 * (scales[0] if single else scales).log(), TARGET_VAR: torch.ones(outputs).double()}
    shape = (1,) if single else (outputs, 1)
    at = Marginals(means.reshape(shape), spreads.square().reshape(shape))
    latent = means[:, None] + spreads[:, None] * normal(3, outputs, draws)
    each = likelihood.log_prob(
        params, *((row[0] if single else row) for row in (targets[:, None].expand(-1, draws), latent))
    )
    expected = float(likelihood.expected_log_prob(params, targets.reshape(shape), at))
    assert abs(float(each.mean()) - expected) < 4.5 * float(each.std()) / draws**0.5
