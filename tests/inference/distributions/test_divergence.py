"""Divergences: quadrature of the definition, zero for equals, and never below zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.distributions import Beta, Gamma, LogNormal, MvNormal, Normal, NormalGamma, kl
from inference.errors import SpecError
from tests.inference.distributions.test_normal_gamma import nodes as joint_nodes
from tests.support.laws.distribution_laws import nodes

PAIRS = [
    (Normal.example(), Normal([0.9, 1.1], [1.7, 0.8])),
    (Gamma.example(), Gamma([1.9, 0.4], [3.1, 0.2])),
    (Beta.example(), Beta([2.3, 0.7], [1.4, 0.6])),
]
VECTOR_PAIRS = [
    (MvNormal.example(), MvNormal([0.3, 0.2], [[0.9, -0.1], [-0.1, 1.4]])),
    (MvNormal.example(), MvNormal([0.3, 0.2], precision=[[0.9, -0.1], [-0.1, 1.4]])),
    (MvNormal.example(), MvNormal([0.3, 0.2], diag=[0.9, 1.4])),
    (MvNormal([0.1, 0.5], precision=[[2.9, 0.4], [0.4, 0.7]]), MvNormal.example()),
    (MvNormal([0.1, 0.5], diag=[0.2, 1.6]), MvNormal([0.3, 0.2], diag=[0.9, 1.4])),
    (MvNormal([0.1, 0.5], diag=[0.2, 1.6]), MvNormal.example()),
]
ALL = [*PAIRS, *VECTOR_PAIRS, (NormalGamma.example(), NormalGamma([0.1, 0.2], np.eye(2), 2.2, 1.3))]


@pytest.mark.parametrize(("q", "p"), PAIRS)
def test_scalars_against_quadrature(q, p):
    for k in range(2):
        x, mass = nodes(q[k])
        inside = mass > 0.0
        expected = (mass[inside] * (q[k].logpdf(x[inside]) - p[k].logpdf(x[inside]))).sum()
        np.testing.assert_allclose(kl(q, p)[k], expected, rtol=1e-9)


@pytest.mark.parametrize(("q", "p"), VECTOR_PAIRS)
def test_gaussians_against_their_dense_definition(q, p):
    """``KL = -H[q] - E_q log p``, and ``E_q log p`` of a quadratic needs only mean and covariance."""
    q2, p2 = q.broadcast_to((2,)), p.broadcast_to((2,))
    for k in range(2):
        gap = q2[k].mean() - p2[k].mean()
        second = q2[k].covariance + np.outer(gap, gap)
        log_det = np.linalg.slogdet(2.0 * np.pi * p2[k].covariance)[1]
        cross = -0.5 * (log_det + np.trace(np.linalg.solve(p2[k].covariance, second)))
        np.testing.assert_allclose(kl(q2, p2)[k], -q2[k].entropy() - cross, rtol=1e-10)


def test_normal_gamma_against_quadrature():
    q, p = ALL[-1]
    for k in range(2):
        w, tau, mass, log_q = joint_nodes(q[k])
        expected = (mass * (log_q - p.logpdf((w, tau)))).sum()
        np.testing.assert_allclose(kl(q, p)[k], expected, rtol=1e-9)


@pytest.mark.parametrize(("q", "p"), ALL)
def test_it_is_zero_between_equals_and_positive_otherwise(q, p):
    np.testing.assert_allclose(kl(q, q), 0.0, atol=1e-13)
    assert (kl(q, p) > 1e-3).all()
    assert kl(q, p).dtype == np.float64


@given(st.floats(0.05, 50.0), st.floats(0.05, 50.0), st.floats(0.05, 50.0), st.floats(0.05, 50.0))
def test_gamma_is_never_below_zero_and_free_of_the_unit(a, b, a0, b0):
    value = kl(Gamma(a, b), Gamma(a0, b0))
    assert value >= -1e-11
    np.testing.assert_allclose(kl(Gamma(a, 7.0 * b), Gamma(a0, 7.0 * b0)), value, rtol=1e-10, atol=1e-11)


def test_a_single_pair_and_a_batch_against_one():
    assert kl(Gamma(1.0, 2.0), Gamma(2.0, 1.0)).shape == ()
    assert kl(NormalGamma.example()[0], NormalGamma.example()).shape == (2,)
    assert kl(MvNormal.example(), MvNormal([0.0, 0.0], diag=[1.0, 1.0])).shape == (2,)


@pytest.mark.parametrize(
    ("q", "p", "words"),
    [
        (Normal(0.0, 1.0), Gamma(1.0, 1.0), "got Normal and Gamma"),
        (LogNormal(0.0, 1.0), LogNormal(0.0, 1.0), "among Normal, MvNormal, Gamma, Beta, NormalGamma; got LogNormal"),
        (MvNormal([0.0], diag=[1.0]), MvNormal([0.0, 0.0], diag=[1.0, 1.0]), r"one event shape; got \(1,\) and \(2,\)"),
    ],
)
def test_refusals(q, p, words):
    with pytest.raises(SpecError, match=words):
        kl(q, p)
