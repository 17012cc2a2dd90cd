"""The Gaussian form of the exp link: golden values, stationarity in 50 digits, bounds, laws and corners."""

import mpmath
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from inference.links import gaussian_free_energy, solve_gaussian
from inference.links._edges import read_edges
from inference.links.gaussian import solve_regular
from tests.support import link_oracle
from tests.support.link_edges import EXTREMES, GOLDEN_EDGES, edges, expected, random_edges


def solved(*edge):
    return solve_gaussian(*edge, tolerance=1e-13)


def energy_at_solution(*edge):
    link = solved(*edge)
    return gaussian_free_energy(link.mean, link.var, *edge)


def rounding(link, p, mu, s, c):
    """The sizes of the terms of F, times a few units of rounding."""
    terms = p * ((link.mean - mu) ** 2 + link.var) + np.abs(s * link.mean) + link.lam + np.abs(np.log(link.var)) + 3.0
    return 1e-14 * terms


def test_golden():
    link = solved(*GOLDEN_EDGES)
    found = {
        "gauss_mean": link.mean,
        "gauss_var": link.var,
        "gauss_lambda": link.lam,
        "gauss_E_exp": np.exp(link.mean + 0.5 * link.var),
        "gauss_F": gaussian_free_energy(link.mean, link.var, *GOLDEN_EDGES),
    }
    for name, value in found.items():
        np.testing.assert_allclose(value, expected(name), rtol=1e-9, atol=0.0, err_msg=name)


@given(edges())
@example((1e-6, -20.0, 0.05, 1e8))
@example((1e6, 20.0, 20.0, 1e-8))
def test_the_gradient_of_the_definition_is_zero(edge):
    """Newton decrement of F in (m, log v), differentiated in 50 digits: what one more Newton step could gain."""
    link = solved(*edge)
    with mpmath.workdps(50):
        p, mu, s, c = (mpmath.mpf(each) for each in edge)

        def energy(m, log_v):
            v = mpmath.exp(log_v)
            return p / 2 * ((m - mu) ** 2 + v) - s * m + c * mpmath.exp(m + v / 2) - log_v / 2

        point = mpmath.mpf(float(link.mean)), mpmath.log(mpmath.mpf(float(link.var)))
        slope = mpmath.matrix([mpmath.diff(energy, point, n) for n in ((1, 0), (0, 1))])
        mixed = mpmath.diff(energy, point, (1, 1))
        bend = mpmath.matrix([[mpmath.diff(energy, point, (2, 0)), mixed], [mixed, mpmath.diff(energy, point, (0, 2))]])
        decrement = float((slope.T * mpmath.lu_solve(bend, slope))[0])
    assert 0.0 <= decrement <= 1e-18 * (1.0 + float(rounding(link, *edge)) / 1e-14)


@given(edges(), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_no_other_gaussian_is_better(edge, shift, log_factor):
    link = solved(*edge)
    other = gaussian_free_energy(link.mean + shift * np.sqrt(link.var), link.var * np.exp(log_factor), *edge)
    assert gaussian_free_energy(link.mean, link.var, *edge) <= other + rounding(link, *edge)


@given(edges(p=(-2, 3), c=(-3, 3), center=5.0))
def test_the_energy_bounds_the_integral_from_above(edge):
    gap = float(energy_at_solution(*edge)) - link_oracle.exact_neg_log_z(*edge)
    assert -1e-9 <= gap <= 0.5


def test_golden_energies_bound_the_golden_integrals():
    gap = energy_at_solution(*GOLDEN_EDGES) - expected("exact_neg_logZ")
    assert (gap >= -1e-9).all()


@given(edges(), st.floats(-5.0, 5.0))
def test_a_shift_of_z_moves_the_mean_and_the_energy(edge, shift):
    p, mu, s, c = edge
    shifted = (p, mu + shift, s, c * np.exp(-shift))
    link, moved = solved(*edge), solved(*shifted)
    sensitivity = 1e-12 * (1.0 + abs(mu) + abs(float(link.mean)))
    np.testing.assert_allclose(moved.mean, link.mean + shift, rtol=0.0, atol=sensitivity)
    np.testing.assert_allclose(moved.var, link.var, rtol=1e-10)
    before, after = (gaussian_free_energy(q.mean, q.var, *e) for q, e in ((link, edge), (moved, shifted)))
    assert abs(after - (before - s * shift)) <= 100.0 * rounding(link, *edge) + 1e-12


def test_bisection_edge_by_edge_finds_the_same():
    edge = random_edges(3000, c=(-8, 8), seed=1)
    link, plain = solved(*edge), link_oracle.gaussian_link(*edge)
    np.testing.assert_allclose(link.mean, plain.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(link.var, plain.var, rtol=1e-10)


def test_a_rate_of_zero_leaves_the_tilted_message():
    p, mu, s = np.array([0.3, 4.0]), np.array([-1.0, 2.0]), np.array([0.5, -2.5])
    link = solved(p, mu, s, 0.0)
    np.testing.assert_allclose(link.mean, mu + s / p, rtol=1e-15)
    np.testing.assert_allclose(link.var, 1.0 / p, rtol=1e-15)
    assert (link.lam == 0.0).all()
    exact = -(s * mu + s**2 / (2.0 * p) + 0.5 * np.log(2.0 * np.pi / p))
    np.testing.assert_allclose(gaussian_free_energy(link.mean, link.var, p, mu, s, 0.0), exact, rtol=1e-14)


def test_without_a_message_the_far_side_decides():
    s, c = np.array([0.5, 3.0]), np.array([2.0, 1e-9])
    link = solved(0.0, 123.0, s, c)
    np.testing.assert_allclose(link.lam, s, rtol=1e-15)
    np.testing.assert_allclose(link.var, 1.0 / s, rtol=1e-15)
    np.testing.assert_allclose(link.mean, np.log(s / c) - 0.5 / s, rtol=1e-15)


def test_the_limits_are_reached_continuously():
    near_flat, flat = solved(1e-14, 1.0, 0.5, 2.0), solved(0.0, 1.0, 0.5, 2.0)
    np.testing.assert_allclose(near_flat.mean, flat.mean, rtol=1e-12)
    almost, linear = solved(2.0, -650.0, 0.5, 1.0), solved(2.0, -650.0, 0.5, 0.0)
    np.testing.assert_allclose(almost.mean, linear.mean, rtol=1e-14)
    np.testing.assert_allclose(almost.lam, np.exp(-650.0 + 0.25 + 0.25), rtol=1e-12)
    assert solved(2.0, -1e4, 0.5, 1.0).lam == 0.0


def test_a_huge_center_is_held_by_the_exponential():
    """``p mu = c e^(m + v/2)`` but for what is small beside it."""
    link = solved(1.0, 1e100, 0.5, 1.0)
    np.testing.assert_allclose(link.mean, 100.0 * np.log(10.0), rtol=1e-12)


def test_corners_of_float64():
    link = solved(*EXTREMES)
    assert np.isfinite(link.mean).all()
    assert (link.var > 0.0).all()
    p, mu, s, _ = EXTREMES
    digits = 1.0 + np.abs(np.log(np.maximum(link.lam, 1e-300)))  # the equation is solved for log lam
    noise = (
        1e-13 * (p * (np.abs(mu) + np.abs(link.mean)) + np.abs(s) + link.lam * digits) + 1e-299
    )  # where the mean underflows
    assert (np.abs(p * (link.mean - mu) - s + link.lam) <= noise).all()
    np.testing.assert_allclose(1.0 / link.var, p + link.lam, rtol=1e-14)


def test_newton_steps_are_few():
    usable = tuple(each[EXTREMES[0] >= 1e-20] for each in EXTREMES)
    for edge, most in ((random_edges(35_000), 6), (random_edges(35_000, c=(-8, 8)), 13), (usable, 30)):
        read, _ = read_edges(edge, 0.5)
        _, steps = solve_regular(read.take(read.regular), None, 1e-10)
        assert steps <= most


def test_an_earlier_solution_is_a_start():
    edge = random_edges(500)
    cold = solved(*edge)
    p, mu, s, c = edge
    warm = solve_gaussian(p, mu, s, c, tolerance=1e-13, start=cold.lam * np.where(p > 1.0, 1.01, 0.0))
    np.testing.assert_allclose(warm.mean, cold.mean, rtol=1e-11, atol=1e-11)
    _, steps = solve_regular(read_edges(edge, 0.5)[0], cold.lam, 1e-10)
    assert steps <= 1


def test_a_hundred_thousand_edges_in_one_call_equal_single_ones():
    edge = random_edges(100_000, seed=2)
    link = solved(*edge)
    assert link.mean.shape == (100_000,)
    for row in range(0, 100_000, 9973):
        one = solved(*(float(each[row]) for each in edge))
        np.testing.assert_allclose(
            [one.mean, one.var, one.lam], [each[row] for each in (link.mean, link.var, link.lam)], rtol=1e-12
        )


def test_arguments_broadcast():
    p, mu, s, c = np.array([[0.5], [3.0]]), np.array([-1.0, 0.0, 2.0]), 0.5, np.array([0.0, 1.0, 5.0])
    link = solved(p, mu, s, c)
    assert link.mean.shape == link.var.shape == link.lam.shape == (2, 3)
    one = solved(3.0, 2.0, 0.5, 5.0)
    assert one.mean.shape == ()
    assert abs(one.mean - link.mean[1, 2]) <= 1e-14
    assert solved(np.zeros(0), 0.0, 0.5, 1.0).mean.shape == (0,)
    assert gaussian_free_energy(link.mean, link.var, p, mu, s, c).shape == (2, 3)


def test_an_energy_beyond_float64_is_infinite_not_a_warning():
    assert gaussian_free_energy(1e6, 1.0, 1.0, 0.0, 0.5, 1.0) == np.inf
    assert np.isfinite(gaussian_free_energy(1e6, 1.0, 1.0, 0.0, 0.5, 0.0))
