"""The Gamma form of the exp link: golden values, stationarity in 50 digits, bounds, laws and corners."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import gammaln

from inference.errors import SpecError
from inference.links import gamma_free_energy, solve_gamma
from inference.links._edges import read_edges
from inference.links.gamma import solve_regular
from inference.links.polygamma import kappa, log_minus_digamma
from tests.support import link_oracle
from tests.support.link_edges import EXTREMES, GOLDEN_EDGES, edges, expected, random_edges

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
PANELS = (np.arange(200)[:, None] + 0.5 * (_NODES + 1.0)) / 200, np.tile(_WEIGHTS / 400, (200, 1))
"""Nodes and weights of Gauss-Legendre on 200 panels of [0, 1]."""


def solved(*edge):
    return solve_gamma(*edge, tolerance=1e-13)


def energy_at_solution(*edge):
    link = solved(*edge)
    return gamma_free_energy(link.shape, link.rate, *edge)


def terms(link, p, mu, s, c):
    """The sizes of the terms of F."""
    g = np.log(link.shape) - log_minus_digamma(link.shape) - np.log(link.rate)
    return (
        p * ((g - mu) ** 2 + 1.0 / link.shape)
        + np.abs(s * g)
        + c * link.shape / link.rate
        + 3.0
        + np.abs(np.log(link.shape))
    )


def test_golden():
    link = solved(*GOLDEN_EDGES)
    np.testing.assert_allclose(link.shape, expected("gamma_shape"), rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(link.rate, expected("gamma_rate"), rtol=1e-9, atol=0.0)
    energies = gamma_free_energy(link.shape, link.rate, *GOLDEN_EDGES)
    np.testing.assert_allclose(energies, expected("gamma_F"), rtol=1e-9, atol=0.0)


@given(edges())
@example((1e-6, -20.0, 0.05, 1e8))
@example((1e6, 20.0, 20.0, 1e-8))
def test_the_gradient_of_the_definition_is_zero(edge):
    """Newton decrement of F in (log a, log b), differentiated in 50 digits."""
    link = solved(*edge)
    with mpmath.workdps(50):
        p, mu, s, c = (mpmath.mpf(each) for each in edge)

        def energy(log_a, log_b):
            a, g = mpmath.exp(log_a), mpmath.psi(0, mpmath.exp(log_a)) - log_b
            entropy = a + mpmath.loggamma(a) - a * mpmath.psi(0, a)
            return p / 2 * ((g - mu) ** 2 + mpmath.psi(1, a)) - s * g + c * mpmath.exp(log_a - log_b) - entropy

        point = mpmath.log(mpmath.mpf(float(link.shape))), mpmath.log(mpmath.mpf(float(link.rate)))
        slope = mpmath.matrix([mpmath.diff(energy, point, n) for n in ((1, 0), (0, 1))])
        mixed = mpmath.diff(energy, point, (1, 1))
        bend = mpmath.matrix([[mpmath.diff(energy, point, (2, 0)), mixed], [mixed, mpmath.diff(energy, point, (0, 2))]])
        decrement = float((slope.T * mpmath.lu_solve(bend, slope))[0])
    assert 0.0 <= decrement <= 1e-18 * float(terms(link, *edge))


@given(edges(), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_no_other_gamma_is_better(edge, log_shape, log_rate):
    link = solved(*edge)
    other = gamma_free_energy(link.shape * np.exp(log_shape), link.rate * np.exp(log_rate), *edge)
    assert gamma_free_energy(link.shape, link.rate, *edge) <= other + 1e-13 * terms(link, *edge)


@given(edges(p=(-2, 3), c=(-3, 3), center=5.0))
def test_the_energy_bounds_the_integral_from_above(edge):
    gap = float(energy_at_solution(*edge)) - link_oracle.exact_neg_log_z(*edge)
    assert -1e-9 <= gap <= 0.5


def test_golden_energies_bound_the_golden_integrals():
    assert (energy_at_solution(*GOLDEN_EDGES) - expected("exact_neg_logZ") >= -1e-9).all()


@given(st.floats(0.05, 20.0), st.floats(0.05, 20.0), edges(p=(-2, 2), c=(-2, 2), center=3.0))
def test_the_energy_is_its_definition_by_quadrature(a, b, edge):
    """``E[-log target + log q]`` with the density of ``z = log gamma`` written out, on a grid of z."""
    p, mu, s, c = edge
    low, high = np.log(a / b) - 45.0 / min(a, 1.0), np.log((a + 45.0 + 10.0 * np.sqrt(a)) / b)
    nodes, weights = (np.ravel(each) for each in PANELS)
    z = low + (high - low) * nodes
    log_density = a * np.log(b) + a * z - b * np.exp(z) - gammaln(a)
    cost = 0.5 * p * (z - mu) ** 2 - s * z + c * np.exp(z) + log_density
    value = (high - low) * float((weights * np.exp(log_density)) @ cost)
    assert abs(float(gamma_free_energy(a, b, *edge)) - value) <= 1e-9 * (1.0 + abs(value) + 1.0 / a**2)


@given(edges(), st.floats(-5.0, 5.0))
def test_a_shift_of_z_scales_the_rate_and_moves_the_energy(edge, shift):
    p, mu, s, c = edge
    shifted = (p, mu + shift, s, c * np.exp(-shift))
    link, moved = solved(*edge), solved(*shifted)
    sensitivity = 1e-11 * (1.0 + abs(mu))
    np.testing.assert_allclose(moved.shape, link.shape, rtol=sensitivity)
    np.testing.assert_allclose(moved.rate, link.rate * np.exp(-shift), rtol=sensitivity)
    before, after = (
        gamma_free_energy(link.shape, link.rate, *edge),
        gamma_free_energy(moved.shape, moved.rate, *shifted),
    )
    assert abs(after - (before - s * shift)) <= 1e-12 * terms(link, *edge)


def test_bisection_edge_by_edge_finds_the_same():
    edge = random_edges(1000, p=(-4, 4), seed=1)
    link, plain = solved(*edge), link_oracle.gamma_link(*edge)
    np.testing.assert_allclose(link.shape, plain.shape, rtol=1e-9)
    np.testing.assert_allclose(link.rate, plain.rate, rtol=1e-9)


def test_without_a_message_the_marginal_is_the_far_side():
    link = solved(np.zeros(2), 123.0, np.array([0.5, 3.0]), np.array([2.0, 1e-9]))
    assert link.shape.tolist() == [0.5, 3.0]
    assert link.rate.tolist() == [2.0, 1e-9]
    exact = 0.5 * np.log(2.0) - gammaln(0.5), 3.0 * np.log(1e-9) - gammaln(3.0)  # minus log of Gamma(s) / c^s
    energies = gamma_free_energy(link.shape, link.rate, 0.0, 123.0, link.shape, link.rate)
    np.testing.assert_allclose(energies, exact, rtol=1e-13)


def test_a_rate_of_zero_leaves_the_fixed_point_of_kappa():
    p, mu, s = np.array([0.3, 4.0, 400.0]), np.array([-1.0, 2.0, 0.5]), np.array([0.5, -2.5, 3.0])
    link = solved(p, mu, s, 0.0)
    np.testing.assert_allclose(link.shape, p * kappa(link.shape), rtol=1e-13)
    mean_log = np.log(link.shape) - log_minus_digamma(link.shape) - np.log(link.rate)
    np.testing.assert_allclose(mean_log, mu + s / p, rtol=1e-13)


def test_corners_of_float64():
    """Where the rate itself stays in float64."""
    keep = (np.abs(EXTREMES[1]) < 1e3) & (EXTREMES[0] >= 1e-2) & (EXTREMES[2] < 1e3)
    p, mu, s, c = (each[keep] for each in EXTREMES)
    link = solved(p, mu, s, c)
    lam = link.shape - p * kappa(link.shape)
    g = np.log(link.shape) - log_minus_digamma(link.shape) - np.log(link.rate)
    assert (link.shape > 0.0).all()
    noise = 1e-12 * (p * (np.abs(mu) + np.abs(g) + 1.0) + np.abs(s) + link.shape)
    assert (np.abs(p * (g - mu) - s + lam) <= noise).all()
    assert (np.abs(lam - c * (link.shape / link.rate)) <= noise).all()


def test_a_rate_beyond_float64_names_the_remedy():
    with pytest.raises(SpecError, match=r"rate of a Gamma marginal would be exp.*use the Gaussian form"):
        solved(1.0, -1000.0, 0.5, 0.0)


def test_newton_steps_are_few():
    for edge, most in ((random_edges(35_000), 6), (random_edges(35_000, c=(-8, 8)), 13)):
        _, steps = solve_regular(read_edges(edge, 1.0)[0], None, 1e-10)
        assert steps <= most


def test_an_earlier_solution_is_a_start():
    edge = random_edges(500)
    cold = solved(*edge)
    lam = edge[3] * cold.shape / cold.rate
    warm = solve_gamma(*edge, tolerance=1e-13, start=lam * np.where(edge[0] > 1.0, 1.01, 0.0))
    np.testing.assert_allclose(warm.shape, cold.shape, rtol=1e-11)
    _, steps = solve_regular(read_edges(edge, 1.0)[0], lam, 1e-10)
    assert steps <= 1


def test_a_hundred_thousand_edges_in_one_call_equal_single_ones():
    edge = random_edges(100_000, seed=2)
    link = solved(*edge)
    for row in range(0, 100_000, 9973):
        one = solved(*(float(each[row]) for each in edge))
        np.testing.assert_allclose([one.shape, one.rate], [link.shape[row], link.rate[row]], rtol=1e-11)


def test_arguments_broadcast():
    p, mu, s, c = np.array([[0.5], [3.0]]), np.array([-1.0, 0.0, 2.0]), 0.5, np.array([0.0, 1.0, 5.0])
    link = solved(p, mu, s, c)
    assert link.shape.shape == link.rate.shape == (2, 3)
    assert solved(3.0, 2.0, 0.5, 5.0).shape.shape == ()
    assert solved(np.zeros(0), 0.0, 0.5, 1.0).shape.shape == (0,)
    assert gamma_free_energy(link.shape, link.rate, p, mu, s, c).shape == (2, 3)
