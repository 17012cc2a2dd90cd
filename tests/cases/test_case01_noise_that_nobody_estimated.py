"""Case 1: noise is estimated from every start, and a fit says which hyperparameters were fixed."""

import numpy as np
import pytest

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.beliefs import Prior
from corners.data.split import Part, Split
from corners.engine.corner import Corner
from corners.engine.training import CornerMethod
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
from tests.support.problems import SHORT, tiny_split

TRUE_NOISE = 0.3


def sinusoid(rows: int, seed: int) -> Part:
    generator = np.random.default_rng(seed)
    inputs = generator.uniform(-3.0, 3.0, rows)
    return Part(inputs, np.sin(2.0 * inputs) + TRUE_NOISE * generator.standard_normal(rows))


SPLIT = Split(sinusoid(400, 1), sinusoid(200, 2), sinusoid(100, 3), "sinusoid")


@pytest.mark.parametrize("start", [0.1, 1.0, 10.0])
def test_noise_is_recovered_from_every_start(start):
    """1-50-1 tanh by the evidence; original units, for targets are only centred; within 10 %."""
    corner = Corner("sequential", "closed", "dense", likelihood=Gaussian(noise_scale=start), backbone=MLP(50))
    method = CornerMethod("sequential", corner, Schedule(0.05, 350, 100, 1e-6), scale_targets=False)
    learned = method.fit([SPLIT], [5]).learned(0)["noise_scale"]
    assert abs(learned / TRUE_NOISE - 1.0) < 0.10


def status(**options) -> str:
    corner = Corner("sequential", "closed", "dense", backbone=Identity(), **options)
    return CornerMethod("sequential", corner, SHORT).fit([tiny_split(1)], [5]).statuses[0].sentence


def test_what_was_fixed_is_said_with_its_value():
    noise = Gaussian(noise_scale=0.4, learned=False)
    assert "fixed at" not in status()
    assert "noise scale fixed at" in status(likelihood=noise)
    assert "prior precision fixed at 2.5" in status(prior=Prior(precision=2.5, learned=False))


def test_noise_that_is_nearly_all_of_the_predictive_variance_everywhere_is_said():
    """Targets without any signal: the belief says nothing anywhere, and the user should know."""
    generator = np.random.default_rng(4)
    rows = [Part(generator.normal(size=(n, 2)), generator.normal(size=n)) for n in (400, 20, 20)]
    corner = Corner("sequential", "closed", "dense", backbone=Identity())
    fit = CornerMethod("sequential", corner, Schedule(0.05, 200, 30, 1e-6)).fit([Split(*rows, "noise")], [5])
    layer = fit.last_layer(0, Split(*rows, "noise"))
    variance = np.einsum("nh,hk,nk->n", layer.features, layer.covariance, layer.features)
    assert (layer.noise_var / (layer.noise_var + variance)).min() > 0.95
    assert "95 %" in fit.statuses[0].sentence or "95%" in fit.statuses[0].sentence
