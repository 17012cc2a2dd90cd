"""Damped Newton steps: concave functions whose maximum is known, steps that overshoot, replicates apart."""

import math

import torch

from corners.routings._newton import LogConcave, curvature_and_slope, find_mode
from tests.support.problems import assert_close, normal, real


def poisson(counts):
    """Σ y f - e^f: from zero a full Newton step overshoots where the counts are large."""
    return lambda latent: (counts * latent - latent.exp()).sum(-1)


def test_one_weight_has_a_mode_that_lambert_knows():
    """y f - e^f - f²/2 is largest where e^f + f = y: f = y - W(e^y)."""
    counts = real(0.0, 3.0, 400.0)[:, None]
    features = torch.ones(3, 1, 1).double()
    f = find_mode(LogConcave(poisson(counts), features, real(1.0, 1.0, 1.0)), 100)[:, 0]
    assert_close(f.exp() + f, counts[:, 0], rel=1e-12)
    assert_close(f[0], real(-0.5671432904097838)[0])


def test_a_quadratic_takes_one_step():
    features, targets = normal(1, 2, 6, 3), normal(2, 2, 6)
    problem = LogConcave(lambda latent: -0.5 * (targets - latent).square().sum(-1), features, real(0.5, 2.0))
    found = find_mode(problem, 2)
    gram = features.mT @ features + real(0.5, 2.0)[:, None, None] * torch.eye(3).double()
    assert_close(found, torch.linalg.solve(gram, (features.mT @ targets[..., None])[..., 0]))


def test_slope_and_curvature_are_those_of_each_latent_value():
    latent = normal(4, 2, 5)
    slope, curvature = curvature_and_slope(poisson(torch.full_like(latent, 2.0)), latent)
    assert_close(slope, 2.0 - latent.exp())
    assert_close(curvature, latent.exp())


def test_steps_that_overshoot_are_halved():
    """From zero the first full step lands at f = y - 1, where e^f is astronomically large."""
    counts = real(600.0)[:, None]
    found = find_mode(LogConcave(poisson(counts), torch.ones(1, 1, 1).double(), real(1e-3)), 200)
    assert math.isclose(float(found), math.log(600.0), rel_tol=1e-4)


def test_a_replicate_is_the_same_alone_as_among_slower_ones():
    features, counts = (
        0.5 * normal(7, 3, 8, 2),
        torch.stack([torch.full((8,), c) for c in (1.0, 40.0, 3000.0)]).double(),
    )
    precision = real(1.0, 1.0, 1.0)
    together = find_mode(LogConcave(poisson(counts), features, precision), 100)
    for k in range(3):
        one = slice(k, k + 1)
        alone = find_mode(LogConcave(poisson(counts[one]), features[one], precision[one]), 100)
        assert_close(alone[0], together[k])


def test_too_few_steps_and_nan_are_nan_for_their_replicate_alone():
    features, counts = normal(7, 2, 8, 2), torch.full((2, 8), 3.0).double()
    broken = features.clone()
    broken[1, 0, 0] = math.nan
    found = find_mode(LogConcave(poisson(counts), broken, real(1.0, 1.0)), 100)
    assert bool(found[0].isfinite().all()) and bool(found[1].isnan().all())
    assert bool(find_mode(LogConcave(poisson(counts), features, real(1.0, 1.0)), 1).isnan().all())
