"""Penalised probits: the mode by other optimisers, the dense curvature, Laplace's evidence and what it misses."""

import numpy as np
import pytest
import torch
from scipy import optimize, special

from corners.baselines._probit import INTERCEPT_SCALE, Probits, find_modes
from corners.baselines.probit_eb import maximise_evidence
from tests.support.problems import assert_close


def data_set(seed: int, rows: int = 40, columns: int = 2, heads: int = 1) -> Probits:
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(1, rows, columns))
    signs = np.where(inputs[..., 0][:, None] + 0.4 + generator.normal(size=(1, heads, rows)) > 0.0, 1.0, -1.0)
    return Probits(torch.tensor(inputs), torch.tensor(signs))


def stacked(*sets: Probits) -> Probits:
    return Probits(torch.cat([each.inputs for each in sets]), torch.cat([each.signs for each in sets]))


def objective(weights: np.ndarray, data: Probits, head: int, precision: float) -> float:
    """``-Σ log Φ(s wᵀx) + ½ α ‖w‖² + ½ b²/10²``, by scipy."""
    design = data.design[0].numpy()
    prior = np.append(np.full(design.shape[1] - 1, precision), INTERCEPT_SCALE**-2)
    return -special.log_ndtr(data.signs[0, head].numpy() * (design @ weights)).sum() + 0.5 * (prior * weights**2).sum()


def dense_hessian(weights: np.ndarray, data: Probits, head: int, precision: float) -> np.ndarray:
    """``Σ ζ(ζ + t) x xᵀ + P`` with the density over the distribution function, point by point."""
    design, signs = data.design[0].numpy(), data.signs[0, head].numpy()
    total = np.diag(np.append(np.full(design.shape[1] - 1, precision), INTERCEPT_SCALE**-2))
    for row, sign in zip(design, signs, strict=True):
        t = sign * row @ weights
        ratio = np.exp(-0.5 * t**2 - special.log_ndtr(t)) / np.sqrt(2.0 * np.pi)
        total += ratio * (ratio + t) * np.outer(row, row)
    return total


@pytest.mark.parametrize("precision", [1e-3, 1.0, 50.0])
def test_the_mode_is_that_of_scipy(precision):
    data = data_set(1, heads=2)
    modes = find_modes(data, torch.full((1, 1, 2), precision, dtype=torch.float64))
    assert bool(modes.converged.all())
    for head in range(2):
        theirs = optimize.minimize(
            objective, np.zeros(3), (data, head, precision), method="BFGS", options={"gtol": 1e-9}
        )
        assert_close(modes.weights[0, 0, head], theirs.x, rel=1e-5, abs_=1e-6)
        assert float(modes.objective[0, 0, head]) == pytest.approx(theirs.fun, rel=1e-11)
        assert float(modes.objective[0, 0, head]) <= theirs.fun + 1e-12 * abs(theirs.fun)


def test_the_mode_is_that_of_newtons_method_by_hand():
    """Slopes and curvature of scipy's functions, one data set at a time; to 1e-10."""
    data = data_set(2)
    modes = find_modes(data, torch.full((1, 1, 1), 0.7, dtype=torch.float64))
    design, signs, weights = data.design[0].numpy(), data.signs[0, 0].numpy(), np.zeros(3)
    prior = np.array([0.7, 0.7, INTERCEPT_SCALE**-2])
    for _ in range(30):
        t = signs * (design @ weights)
        ratio = np.exp(-0.5 * t**2 - special.log_ndtr(t)) / np.sqrt(2.0 * np.pi)
        slope = prior * weights - design.T @ (signs * ratio)
        weights = weights - np.linalg.solve(dense_hessian(weights, data, 0, 0.7), slope)
    assert_close(modes.weights[0, 0, 0], weights, rel=1e-10)
    assert_close(modes.precision[0, 0, 0], dense_hessian(weights, data, 0, 0.7), rel=1e-9)


def test_the_evidence_is_laplaces_formula():
    data = data_set(3, heads=2)
    modes = find_modes(data, torch.tensor([[[0.3, 0.3], [4.0, 4.0]]], dtype=torch.float64))
    for g, precision in enumerate((0.3, 4.0)):
        for head in range(2):
            at = modes.weights[0, g, head].numpy()
            log_prior = 0.5 * (2.0 * np.log(precision) - 2.0 * np.log(INTERCEPT_SCALE)) - 1.5 * np.log(2.0 * np.pi)
            formula = -objective(at, data, head, precision) + log_prior + 1.5 * np.log(2.0 * np.pi)
            formula -= 0.5 * np.linalg.slogdet(dense_hessian(at, data, head, precision))[1]
            assert float(modes.log_evidence[0, g, head]) == pytest.approx(formula, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_near_the_integral_on_a_grid(seed):
    """H = 2 weights, one of them the intercept: Laplace is off by terms of order 1/N, 0.05 nats at 60 rows."""
    data = data_set(seed, rows=60, columns=1)
    modes = find_modes(data, torch.full((1, 1, 1), 1.0, dtype=torch.float64))
    deviations = np.sqrt(np.diag(np.linalg.inv(modes.precision[0, 0, 0].numpy())))
    axes = [
        w + 9.0 * d * np.linspace(-1.0, 1.0, 301)
        for w, d in zip(modes.weights[0, 0, 0].numpy(), deviations, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    t = data.signs[0, 0].numpy() * (grid @ data.design[0].numpy().T)
    log_joint = special.log_ndtr(t).sum(1) - 0.5 * (grid[:, 0] ** 2 + (grid[:, 1] / INTERCEPT_SCALE) ** 2)
    log_joint -= np.log(2.0 * np.pi * INTERCEPT_SCALE)
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    exact = special.logsumexp(log_joint) + np.log(cell)
    assert float(modes.log_evidence[0, 0, 0]) == pytest.approx(exact, abs=0.05)


def test_the_best_precision_is_that_of_scipy():
    sets = [data_set(seed, rows=60, heads=2) for seed in (4, 5)]
    log_precision, modes = maximise_evidence(stacked(*sets))
    for k, data in enumerate(sets):

        def loss(log_alpha: float, data: Probits = data) -> float:
            precisions = torch.full((1, 1, 2), float(np.exp(log_alpha)), dtype=torch.float64)
            return -float(find_modes(data, precisions).log_evidence.sum())

        theirs = optimize.minimize_scalar(loss, bounds=(-6.0, 8.0), method="bounded", options={"xatol": 1e-9})
        assert -float(modes.log_evidence[k].sum()) == pytest.approx(theirs.fun, rel=1e-12)
        assert float(log_precision[k]) == pytest.approx(theirs.x, abs=1e-5)


@pytest.mark.parametrize("labels", ["separable", "all the same"])
def test_labels_without_a_finite_likelihood_maximum_have_a_mode(labels):
    data = data_set(6)
    signs = torch.ones_like(data.signs) if labels == "all the same" else data.inputs[..., 0].sign()[:, None]
    modes = find_modes(Probits(data.inputs, signs), torch.full((1, 1, 1), 1e-3, dtype=torch.float64))
    assert bool(modes.converged.all()) and bool(modes.weights.isfinite().all())


def test_a_data_set_is_not_moved_by_those_beside_it():
    sets = [data_set(seed) for seed in (7, 8, 9)]
    precisions = torch.tensor([1e-3, 1.0, 30.0], dtype=torch.float64)[:, None]
    together = find_modes(stacked(*sets), precisions.expand(3, -1, -1))
    for k, data in enumerate(sets):
        alone = find_modes(data, precisions[None])
        assert_close(together.weights[k], alone.weights[0], rel=1e-9, abs_=1e-11)
