"""Parameter counts are read off graphs and agree with the published table (message passing 4.8)."""

import numpy as np

import inference as P
from inference.words import dense_layer_count, noisy_experts, parameter_count, precision_gated, static_ensemble
from tests.support.golden import golden

CASE = golden("mp_param_counts")
K, D, H = (CASE["inputs"][name] for name in ("K", "d", "H"))
FORECASTS = {"yhat": np.zeros((2, K)), "y": np.zeros(2)}
ROWS = {"phi": np.ones((2, D)), **FORECASTS}


def test_the_table_is_golden():
    diagonal = [P.MeanField(), P.Form("w", "diagonal")]
    gated = precision_gated.bind(rate_prior=(1.0, 1.0)).build(ROWS)
    noisy = noisy_experts.bind(rate_prior=(1.0, 1.0)).build(ROWS)
    found = {
        "static": parameter_count(static_ensemble.build(FORECASTS)),
        "moe": dense_layer_count(D, K),
        "moe_big": dense_layer_count(D, H, K),
        "dynamic_diag": parameter_count(gated, diagonal),
        "noisy_diag": parameter_count(noisy, diagonal),
        "dynamic": parameter_count(gated),
        "noisy": parameter_count(noisy),
    }
    assert found == CASE["expected"]


def test_a_rate_prior_costs_two_an_expert():
    plain, rated = (precision_gated.bind(rate_prior=rate).build(ROWS) for rate in (None, (1.0, 1.0)))
    assert parameter_count(rated) - parameter_count(plain) == 2 * K


def test_point_masses_count_once_and_fixed_marginals_not_at_all():
    graph = static_ensemble.build(FORECASTS)
    assert parameter_count(graph, P.Form("gamma", "point_mass")) == K
    assert parameter_count(graph, P.Fixed("gamma", P.Gamma(1.0, 1.0))) == 0
