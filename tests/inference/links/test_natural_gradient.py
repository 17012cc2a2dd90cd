"""Natural-gradient steps: their targets by Fisher matrices, their guard, their fixed points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import polygamma

from inference.errors import ImproperMarginal
from inference.links import (
    damped_gamma,
    damped_gaussian,
    gamma_free_energy,
    gamma_target,
    gaussian_free_energy,
    gaussian_site,
    gaussian_target,
    natural_gradient,
    solve_gamma,
    solve_gaussian,
)
from tests.support.link_edges import edges, powers_of_ten, random_edges

EDGES = random_edges(300, p=(-3, 3))
FORMS = {
    "gaussian": (solve_gaussian, ("mean", "var"), gaussian_free_energy, damped_gaussian),
    "gamma": (solve_gamma, ("shape", "rate"), gamma_free_energy, damped_gamma),
}


def solution(form, *edge):
    link = FORMS[form][0](*edge, tolerance=1e-13)
    return tuple(getattr(link, name) for name in FORMS[form][1])


def test_the_site_is_the_marginal_divided_by_the_message():
    p, mu, s, c = EDGES
    mean, var = solution("gaussian", *EDGES)
    linear, precision = gaussian_site(mean, var, s, c)
    size = p * np.abs(mu) + np.abs(mean) / var + np.abs(s)
    assert (np.abs(linear - (mean / var - p * mu)) <= 1e-11 * size).all()
    assert (np.abs(precision - (1.0 / var - p)) <= 1e-11 / var).all()


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), edges(p=(-2, 2), c=(-2, 2), center=3.0))
def test_the_gamma_target_is_the_fisher_solve_of_the_expected_gradient(a, b, edge):
    """Naturals ``(a - 1, -b)``: ``(s - 1, -c) - p Fisher^-1 [psi2/2 + (g - mu) psi1, (g - mu)/b]`` (2.4)."""
    p, mu, s, c = edge
    fisher = np.array([[polygamma(1, a), 1.0 / b], [1.0 / b, a / b**2]])
    away = polygamma(0, a) - np.log(b) - mu
    pulled = np.linalg.solve(fisher, [0.5 * polygamma(2, a) + away * polygamma(1, a), away / b])
    shape, rate = gamma_target(a, b, *edge)
    np.testing.assert_allclose([shape - 1.0, -rate], [s - 1.0, -c] - p * pulled, rtol=1e-9, atol=1e-9 * p)


@pytest.mark.parametrize("form", FORMS)
def test_the_solution_stays_where_it_is(form):
    at = solution(form, *EDGES)
    for found, old in zip(FORMS[form][3](*at, *EDGES), at, strict=True):
        np.testing.assert_allclose(found, old, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@given(powers_of_ten(-3, 3), powers_of_ten(-3, 3), edges(p=(-3, 3), c=(-4, 4)), st.floats(0.05, 1.0))
def test_the_energy_never_rises(form, first, second, edge, step):
    energy, damped = FORMS[form][2:]
    before = energy(first, second, *edge)
    after = energy(*damped(first, second, *edge, step=step), *edge)
    assert after <= before + 2e-14 * (1.0 + abs(before))


@pytest.mark.parametrize("form", FORMS)
def test_steps_lead_to_the_solution(form):
    start = np.ones_like(EDGES[0]), np.ones_like(EDGES[0])
    at = start
    for _ in range(200):
        at = FORMS[form][3](*at, *EDGES, step=0.7)
    best = FORMS[form][2](*solution(form, *EDGES), *EDGES)
    np.testing.assert_allclose(FORMS[form][2](*at, *EDGES), best, rtol=1e-9, atol=1e-9)


def test_a_damped_step_is_the_stated_mixture_of_naturals():
    edge = (2.0, 0.5, 0.5, 0.3)
    mean, var = damped_gaussian(0.4, 0.5, *edge, step=0.25)
    target = gaussian_target(0.4, 0.5, *edge)
    assert 1.0 / var == pytest.approx(0.75 / 0.5 + 0.25 * target[1], rel=1e-14)
    assert mean / var == pytest.approx(0.75 * 0.4 / 0.5 + 0.25 * target[0], rel=1e-14)
    shape, rate = damped_gamma(2.0, 3.0, *edge, step=0.25)
    target = gamma_target(2.0, 3.0, *edge)
    assert shape == pytest.approx(1.5 + 0.25 * target[0], rel=1e-14)
    assert rate == pytest.approx(2.25 + 0.25 * target[1], rel=1e-14)


def test_where_no_step_helps_the_edge_alone_is_solved(monkeypatch):
    """One edge whose far side overflows at the start, beside one that takes a plain step."""
    asked = []
    form = natural_gradient._GAUSSIAN
    counted = form._replace(solve=lambda *edge: (asked.append(edge[0].size), form.solve(*edge))[1])
    monkeypatch.setattr(natural_gradient, "_GAUSSIAN", counted)
    edge = (np.array([1.0, 1.0]), np.array([-1.0, 0.0]), 0.5, np.array([1.0, 0.0]))
    found = damped_gaussian(np.array([1e5, 0.0]), 1.0, *edge)
    assert asked == [1]
    np.testing.assert_allclose(found, solution("gaussian", *edge), rtol=1e-9)


def test_an_improper_edge_that_cannot_step_is_an_error():
    with pytest.raises(ImproperMarginal):
        damped_gaussian(1e5, 1.0, 0.0, 0.0, -0.5, 1.0)


def test_arguments_broadcast():
    for form, (_, _, _, damped) in FORMS.items():
        for part in damped(np.ones((2, 1)), 1.0, np.array([1.0, 2.0, 3.0]), 0.0, 0.5, 1.0):
            assert part.shape == (2, 3), form
        assert damped(1.0, 1.0, 1.0, 0.0, 0.5, 1.0)[0].shape == ()
