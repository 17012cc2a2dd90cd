"""Cavities and Bethe terms of moment-matched factors, on one datum where everything is known."""

import numpy as np
import pytest
from scipy.special import log_ndtr

import inference as P
from inference.errors import ImproperMarginal
from inference.free_energy import terms, total
from inference.matching import bethe_term, cavity, matched_port
from inference.nodes.bernoulli import Bernoulli
from inference.structure import Factor

MEAN, VAR = np.array([0.4, -1.0, 2.0]), 1.0 / 0.8


@P.model
def points(m, mean, y):
    row = m.plate("row", len(y))
    f = m.normal("f", mean=mean, precision=0.8, plates=row)
    m.probit("y", f, observed=y)


@pytest.fixture(scope="module")
def result():
    return P.infer(points, data={"mean": MEAN, "y": [1.0, 1.0, 0.0]}, rtol=0.0, atol=1e-13)


def test_the_cavity_is_what_the_rest_says(result):
    left = result.messages.without("y")
    np.testing.assert_allclose(left.mean(), MEAN, rtol=1e-10)
    np.testing.assert_allclose(left.var(), VAR, rtol=1e-10)


def test_the_free_energy_is_the_sum_of_the_exact_log_evidences(result):
    exact = log_ndtr(np.array([1.0, 1.0, -1.0]) * MEAN / np.sqrt(1.0 + VAR))
    np.testing.assert_allclose(result.free_energy[-1], -exact.sum(), rtol=1e-12)
    np.testing.assert_allclose(total(result.plan.program, result.state), -exact.sum(), rtol=1e-12)


def test_the_bethe_term_is_minus_log_z_less_the_divergence_from_the_cavity(result):
    """With q and cavity known: -log Z - KL(q || cavity), the energy of the factor in the sum of terms."""
    q = result.posteriors["f"]
    divergence = 0.5 * (q.var() / VAR - 1.0 - np.log(q.var() / VAR) + (q.mean() - MEAN) ** 2 / VAR)
    log_z = log_ndtr(np.array([1.0, 1.0, -1.0]) * MEAN / np.sqrt(1.0 + VAR))
    found = terms(result.plan.program, result.state)["energy y"]
    np.testing.assert_allclose(found, np.sum(-log_z - divergence), rtol=1e-10)
    (factor,) = [f for f in result.graph.factors if f.name == "y"]
    each = bethe_term(factor, "f", result.plan.program.inbox(factor, result.state), result.state.matched["y"])
    np.testing.assert_allclose(each, -log_z - divergence, rtol=1e-10)


def test_only_a_matched_letter_has_such_a_port(result):
    assert matched_port(Factor("coin", Bernoulli(), {}, ())) is None
    assert [matched_port(f) for f in result.graph.factors] == [None, "f"]


def test_a_message_wider_than_its_marginal_is_refused(result):
    (factor,) = [f for f in result.graph.factors if f.name == "y"]
    q = result.plan.program.inbox(factor, result.state)
    with pytest.raises(ImproperMarginal, match="without the message of 'y' the variable at its port f has precision -"):
        cavity(factor, "f", q, (np.zeros(3), np.full(3, 50.0)))
