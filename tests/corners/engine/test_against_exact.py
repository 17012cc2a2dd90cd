"""The engine against ``corners.exact``: two implementations of one formula, values and gradients."""

import numpy as np
import pytest
from hypothesis import given

from corners.beliefs import Prior
from corners.exact.covariance import DiagonalCovariance, FactorCovariance, LowRankCovariance, NoCovariance
from corners.exact.evidence import Evidence
from corners.exact.mean_closed import mean_closed_terms
from corners.exact.shared_free import shared_free_gradient, shared_free_terms
from corners.likelihoods.gaussian import LOG_NOISE_VAR
from corners.routings.free import MEAN
from tests.support.corner_cells import JITTER, cell, energy_at, gradient, inputs_of, parameters
from tests.support.problems import assert_close
from tests.support.strategies import Layer, draw_layer, layers

REL = 1e-7


def close(actual, expected, layer: Layer, *, rel: float = REL) -> None:
    """Relative to the largest entry, and to what cancels inside."""
    expected = np.asarray(expected)
    scale = np.abs(expected).max() + 1e-6 * float(layer.targets @ layer.targets) / layer.noise_var
    assert_close(actual, expected, rel=rel, abs_=rel * float(scale))


@given(layers())
def test_values_of_the_closed_cells(layer: Layer):
    evidence, noise_scale = Evidence(layer.features, layer.targets), layer.noise_var**0.5
    expected = {
        "sequential": -evidence.log_evidence(layer.precision, noise_scale),
        "leave_one_out": evidence.leave_one_out(layer.precision, noise_scale).total,
        "shared_closed": evidence.shared_closed(layer.precision, noise_scale).total,
    }
    for name, value in expected.items():
        corner = cell(name, jitter=0.0)
        close(energy_at(corner, parameters(corner, [layer]), *inputs_of([layer])).total[0], value, layer)


@pytest.mark.parametrize(("rows", "size"), [(9, 3), (4, 6), (5, 5), (1, 2), (6, 1)])
@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "shared_closed"])
def test_gradients_of_the_closed_cells(name, rows, size):
    layer = draw_layer(3, rows, size, 1.7, 0.3)
    evidence, at = Evidence(layer.features, layer.targets), (1.7, 0.3**0.5)
    corner = cell(name, jitter=0.0)
    slopes, of_features = gradient(corner, parameters(corner, [layer]), [layer])
    if name == "sequential":  # stated for the log evidence, which is maximised
        hyper, features = evidence.gradient(*at), evidence.feature_gradient(*at)
        expected = -np.array([hyper.log_prior_precision, hyper.log_noise_var]), -features
    else:
        found = {"leave_one_out": evidence.leave_one_out_gradient, "shared_closed": evidence.shared_closed_gradient}[
            name
        ](*at)
        expected = np.array([found.log_prior_precision, found.log_noise_var]), found.features
    hyper = np.array([float(slopes[Prior.parameter][0]), float(slopes[LOG_NOISE_VAR][0])])
    close(hyper, expected[0], layer)
    close(of_features[0], expected[1], layer)


@pytest.mark.parametrize("family", ["none", "diagonal"])
def test_restricted_families_of_the_shared_closed_cell(family):
    from corners.backbones.identity import Identity
    from corners.engine.corner import Corner

    layer = draw_layer(4, 8, 3, 1.7, 0.3)
    evidence = Evidence(layer.features, layer.targets)
    corner = Corner("shared", "closed", family, backbone=Identity())
    params = parameters(corner, [layer])
    close(
        energy_at(corner, params, *inputs_of([layer])).total[0],
        evidence.shared_closed(1.7, 0.3**0.5, family=family).total,
        layer,
    )
    slopes, of_features = gradient(corner, params, [layer])
    found = evidence.shared_closed_gradient(1.7, 0.3**0.5, family=family)
    close(slopes[Prior.parameter][0], found.log_prior_precision, layer)
    close(slopes[LOG_NOISE_VAR][0], found.log_noise_var, layer)
    close(of_features[0], found.features, layer)


def covariance_of(name: str, params):
    """The engine's free covariance as the exact module's family."""
    own = {
        key.removeprefix("covariance."): value[0].numpy()
        for key, value in params.items()
        if key.startswith("covariance.")
    }
    if name.endswith("none"):
        return NoCovariance()
    if name.endswith("diagonal"):
        return DiagonalCovariance(np.exp(own["log_var"]), JITTER)
    if name.endswith("low_rank"):
        return LowRankCovariance(np.exp(own["log_var"]), own["factor"], JITTER)
    return FactorCovariance(np.tril(own["strict_lower"], -1) + np.diag(np.exp(own["log_diagonal"])), JITTER)


FREE = ["scroll_none", "scroll_diagonal", "scroll_dense", "scroll_low_rank"]


@pytest.mark.parametrize(("rows", "size"), [(9, 3), (4, 6), (1, 2), (6, 1)])
@pytest.mark.parametrize("name", FREE)
def test_values_and_gradients_of_the_free_cells(name, rows, size):
    layer = draw_layer(5, rows, size, 1.7, 0.3)
    corner = cell(name)
    params = parameters(corner, [layer])
    arguments = (layer.features, layer.targets, params[MEAN][0].numpy(), covariance_of(name, params), 1.7, 0.3**0.5)
    energy, expected = energy_at(corner, params, *inputs_of([layer])), shared_free_terms(*arguments)
    close(energy.prior[0], expected.prior_term, layer)
    close(energy.data[0], expected.data_terms.sum(), layer)
    slopes, of_features = gradient(corner, params, [layer])
    found = shared_free_gradient(*arguments)
    close(slopes[MEAN][0], found.mean, layer)
    close(slopes[Prior.parameter][0], found.log_prior_precision, layer)
    close(slopes[LOG_NOISE_VAR][0], found.log_noise_var, layer)
    close(of_features[0], found.features, layer)
    check_family(slopes, params, found.family, layer)


def check_family(slopes, params, family, layer: Layer) -> None:
    """The family's own parameters; a raw diagonal is chained through the logarithm."""
    if "lower" in family:
        diagonal = np.exp(params["covariance.log_diagonal"][0].numpy())
        close(slopes["covariance.strict_lower"][0], np.tril(family["lower"], -1), layer)
        close(slopes["covariance.log_diagonal"][0], np.diag(family["lower"]) * diagonal, layer)
    for key, name in (("log_scales", "log_var"), ("log_diagonal", "log_var"), ("factor", "factor")):
        if key in family:
            close(slopes[f"covariance.{name}"][0], family[key], layer)


@pytest.mark.parametrize(("rows", "size"), [(9, 3), (4, 6), (5, 5)])
@pytest.mark.parametrize("name", ["mean_closed_diagonal", "mean_closed_dense", "mean_closed_dense_shared"])
@pytest.mark.parametrize("prior_term", [None, False])
def test_values_of_the_mean_closed_cells(name, rows, size, prior_term):
    layer = draw_layer(6, rows, size, 1.7, 0.3)
    corner = cell(name, prior_term=prior_term)
    params = parameters(corner, [layer])
    energy = energy_at(corner, params, *inputs_of([layer]))
    expected = mean_closed_terms(
        layer.features,
        layer.targets,
        1.7 * 0.3,
        covariance_of(name.removesuffix("_shared"), params),
        0.3**0.5,
        residual="shared" if name.endswith("_shared") else "leave_one_out",
        with_prior_term=prior_term is None,
    )
    close(energy.data[0], expected.data_terms.sum(), layer)
    close(energy.prior[0], expected.prior_term, layer)
