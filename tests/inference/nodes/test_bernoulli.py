"""bernoulli with beta: a coin is exact, a missing toss is predicted, a latent one is a log odds."""

import numpy as np
import pytest
from scipy.special import betaln, digamma

import inference as P
from inference.distributions import Bernoulli as BernoulliDistribution
from inference.distributions import Beta
from inference.errors import DataError, NoRule, SpecError
from inference.nodes.bernoulli import Bernoulli
from inference.terms import full
from tests.support.inboxes import inbox

NODE = Bernoulli()


@P.model
def coin(m, y, *, a=2.0, b=3.0):
    bias = m.beta("bias", a=a, b=b)
    m.bernoulli("y", bias, observed=y, plates=m.plate("toss", len(y)))


@P.model
def coins(m, y):
    toss, coin = m.plate("toss", len(y)), m.plate("coin", y.shape[1])
    bias = m.beta("bias", 1.0, 1.0, plates=coin)
    m.bernoulli("y", bias, observed=y, plates=(toss, coin))


@P.model
def doubted(m, y):
    bias = m.beta("bias", 2.0, 3.0)
    m.bernoulli("y", bias, observed=y, plates=m.plate("toss", len(y)))
    m.bernoulli("hidden", bias)


def test_a_coin_has_the_exact_posterior_and_evidence():
    result = P.infer(coin, data={"y": [1.0, 0.0, 1.0, 1.0]})
    bias = result.posteriors["bias"]
    np.testing.assert_allclose([bias.a, bias.b], [5.0, 4.0], rtol=1e-14)
    np.testing.assert_allclose(result.free_energy[-1], betaln(2.0, 3.0) - betaln(5.0, 4.0), rtol=1e-13)
    assert result.converged


def test_missing_tosses_say_nothing_and_are_predicted():
    with_gaps = P.infer(coin, data={"y": [1.0, np.nan, 0.0, 1.0, np.nan, 1.0]})
    without = P.infer(coin, data={"y": [1.0, 0.0, 1.0, 1.0]})
    np.testing.assert_allclose(with_gaps.free_energy[-1], without.free_energy[-1], rtol=1e-14)
    predicted = with_gaps.predictions["y"]
    assert isinstance(predicted, BernoulliDistribution)
    np.testing.assert_allclose(predicted.probability, [5.0 / 9.0, 5.0 / 9.0], rtol=1e-14)


def test_no_toss_at_all_leaves_the_prior():
    result = P.infer(coin, data={"y": P.missing(3)})
    bias = result.posteriors["bias"]
    np.testing.assert_allclose([bias.a, bias.b], [2.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(result.predictions["y"].probability, 0.4, rtol=1e-14)
    np.testing.assert_allclose(result.free_energy[-1], 0.0, atol=1e-14)


def test_many_coins_at_once_are_each_alone():
    y = np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 0.0]])
    result = P.infer(coins, data={"y": y})
    bias = result.posteriors["bias"]
    np.testing.assert_allclose(bias.a, [3.0, 1.0], rtol=1e-14)
    np.testing.assert_allclose(bias.b, [2.0, 3.0], rtol=1e-14)
    evidence = betaln(3.0, 2.0) + betaln(1.0, 3.0) - 2.0 * betaln(1.0, 1.0)
    np.testing.assert_allclose(result.free_energy[-1], -evidence, rtol=1e-13)


def test_a_latent_toss_under_mean_field():
    """Fixed point: log odds = E log p - E log(1-p), Beta counts with E y; F bounds the evidence of the tosses."""
    result = P.infer(doubted, data={"y": [1.0, 1.0, 1.0]}, rtol=0.0, atol=0.0, iterations=60)
    bias, hidden = result.posteriors["bias"], result.posteriors["hidden"]
    p = float(hidden.probability)
    np.testing.assert_allclose([bias.a, bias.b], [5.0 + p, 3.0 + 1.0 - p], rtol=1e-12)
    np.testing.assert_allclose(np.log(p / (1.0 - p)), digamma(bias.a) - digamma(bias.b), rtol=1e-12)
    assert result.free_energy[-1] > betaln(2.0, 3.0) - betaln(5.0, 3.0)
    assert np.all(np.diff(result.free_energy) <= 1e-12)


def test_messages_in_closed_form():
    q = inbox(NODE, y=BernoulliDistribution(0.3), probability=Beta(2.0, 5.0))
    log, log1m = NODE.message("probability", q)
    np.testing.assert_allclose([full(log), full(log1m)], [0.3, 0.7], rtol=1e-14)
    (odds,) = NODE.message("y", q)
    np.testing.assert_allclose(full(odds), digamma(2.0) - digamma(5.0), rtol=1e-13)
    with pytest.raises(NoRule, match="bernoulli has no rule toward probability"):
        NODE.forward("probability", q)


def test_what_is_no_toss_is_refused():
    with pytest.raises(DataError, match=r"port y: 'y' is 2 at \(1,\); a binary value is 0 or 1"):
        P.infer(coin, data={"y": [1.0, 2.0]})
    with pytest.raises(SpecError, match="port probability takes a probability variable, but 'rate' is positive"):

        @P.model
        def wrong(m):
            m.bernoulli("y", m.gamma("rate", 1.0, 1.0))

        wrong.build()
