"""The checks that theory 3.10 states for mean-closed routing, by the dense definition."""

import numpy as np
import pytest
import torch

from corners.beliefs import GaussianBelief, RoutedBelief
from corners.covariances.dense import FactorCovariance
from corners.routings.mean_closed import LOG_RIDGE
from tests.support import dense_cells as dense
from tests.support.corner_cells import cell, energy_at, inputs_of, parameters
from tests.support.problems import assert_close, batch
from tests.support.strategies import Layer, draw_layer

LAYER = draw_layer(7, 9, 3, 1.7, 0.3)
RIDGE = LAYER.precision * LAYER.noise_var


def with_covariance(name: str, matrix: np.ndarray, layer: Layer = LAYER):
    """The routed belief of a mean-closed cell whose free covariance is ``matrix``."""
    corner = cell(name, jitter=0.0)
    params = parameters(corner, [layer])
    routed = corner.route(params, *inputs_of([layer]))
    root = np.linalg.cholesky(matrix + 1e-300 * np.eye(len(matrix))) if matrix.any() else matrix
    belief = GaussianBelief(routed.belief.mean, FactorCovariance(batch([root])))
    return corner, params, RoutedBelief(belief, routed.prior_precision, routed.sites)


def data_term(name: str, matrix: np.ndarray) -> float:
    corner, params, routed = with_covariance(name, matrix)
    features, targets = inputs_of([LAYER])
    return float(corner.energy(params, features, targets, routed).data[0])


def test_without_covariance_it_is_press():
    """``Σ → 0``: ``N/2 log 2πσ² + PRESS / 2σ²``, PRESS by refitting without each row."""
    _, residual = dense.ridge(LAYER.features, LAYER.targets, RIDGE)
    rows = len(LAYER.targets)
    expected = 0.5 * rows * np.log(2.0 * np.pi * LAYER.noise_var) + (residual @ residual) / (2.0 * LAYER.noise_var)
    assert data_term("mean_closed_dense", np.zeros((3, 3))) == pytest.approx(expected, rel=1e-10)


def test_minimising_press_over_a_constant_variance():
    """At constant ``V`` the ridge that minimises the data term is the one that minimises PRESS."""
    corner = cell("mean_closed_dense", jitter=0.0)
    ridges, losses, press = np.logspace(-2, 2, 25), [], []
    params = parameters(corner, [LAYER])
    features, targets = inputs_of([LAYER])
    for strength in ridges:
        at = params | {LOG_RIDGE: batch([np.array(np.log(strength))])}
        routed = corner.route(at, features, targets)
        flat = RoutedBelief(
            GaussianBelief(routed.belief.mean, FactorCovariance(torch.zeros(1, 3, 3).double())),
            routed.prior_precision,
            routed.sites,
        )
        losses.append(float(corner.energy(at, features, targets, flat).data[0]))
        press.append((dense.ridge(LAYER.features, LAYER.targets, strength)[1] ** 2).sum())
    np.testing.assert_allclose(np.diff(losses), np.diff(press) / (2.0 * LAYER.noise_var), rtol=1e-6, atol=1e-9)
    assert np.argmin(losses) == np.argmin(press)


def test_the_posterior_covariance_gives_the_data_term_of_the_shared_closed_cell():
    """``Σ = σ²B⁻¹`` with the in-sample residual (theory 3.4)."""
    matrix = LAYER.noise_var * np.linalg.inv(RIDGE * np.eye(3) + LAYER.features.T @ LAYER.features)
    closed = cell("shared_closed", jitter=0.0)
    expected = energy_at(closed, parameters(closed, [LAYER]), *inputs_of([LAYER]))
    assert data_term("mean_closed_dense_shared", matrix) == pytest.approx(float(expected.data[0]), rel=1e-10)


def test_the_posterior_covariance_gives_the_whole_shared_closed_energy():
    """With the bracket, ``α = λ/σ²``: the same belief under the same prior."""
    matrix = LAYER.noise_var * np.linalg.inv(RIDGE * np.eye(3) + LAYER.features.T @ LAYER.features)
    corner, params, routed = with_covariance("mean_closed_dense_shared", matrix)
    features, targets = inputs_of([LAYER])
    closed = cell("shared_closed", jitter=0.0)
    expected = energy_at(closed, parameters(closed, [LAYER]), features, targets)
    assert_close(corner.energy(params, features, targets, routed).total, expected.total)


def test_the_free_covariance_can_only_improve_on_that_one():
    """At fixed features and ridge the minimum over ``(σ², Σ)`` is not above the value at ``Σ = σ²B⁻¹``."""
    corner = cell("mean_closed_dense", jitter=0.0, prior_term=False)
    features, targets = inputs_of([LAYER])
    params = parameters(corner, [LAYER])
    matrix = LAYER.noise_var * np.linalg.inv(RIDGE * np.eye(3) + LAYER.features.T @ LAYER.features)
    bound = data_term("mean_closed_dense", matrix)
    root = np.linalg.cholesky(matrix)
    params |= {
        "covariance.log_diagonal": batch([np.log(np.diag(root))]),
        "covariance.strict_lower": batch([np.tril(root, -1)]),
    }
    assert float(energy_at(corner, params, features, targets).total[0]) == pytest.approx(bound)
    free = ["log_noise_var", "covariance.log_diagonal", "covariance.strict_lower"]
    leaves = {name: params[name].clone().requires_grad_() for name in free}
    optimiser = torch.optim.LBFGS(list(leaves.values()), max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = energy_at(corner, params | leaves, features, targets).total.sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert float(closure().detach()) < bound


def test_leave_one_out_residuals_do_not_interpolate():
    """More features than data and λ → 0: in-sample residuals vanish, those without the row do not."""
    layer = draw_layer(8, 4, 7, 1e-9, 1.0)
    for name, small in (("mean_closed_dense_shared", True), ("mean_closed_dense", False)):
        corner = cell(name, jitter=0.0)
        params = parameters(corner, [layer])
        features, targets = inputs_of([layer])
        marginals = corner.cavity.marginals(corner.route(params, features, targets), features)
        worst = float((targets - marginals.mean).abs().max())
        assert (worst < 1e-6) == small
