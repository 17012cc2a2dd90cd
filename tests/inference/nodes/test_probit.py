"""probit: the message that matches moments, its tails against mpmath, what is predicted and what is refused."""

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

import inference as P
from inference.errors import DataError, NoRule, SpecError
from inference.nodes.probit import Probit, hazard_and_variance
from inference.terms import full
from tests.support.dense_ep import tilted
from tests.support.inboxes import inbox


def sent(y, mean, var, noise_var=1.0):
    """The message toward f with y observed, against a cavity."""
    q = inbox(Probit(noise_var), y=y, f=P.Normal(0.0, 1.0))
    return Probit(noise_var).match("f", q, np.array(mean), np.array(var))


@pytest.mark.parametrize("noise_var", [1.0, 0.3])
@pytest.mark.parametrize(("mean", "var"), [(0.0, 1.0), (1.5, 0.2), (-2.0, 3.0), (-6.0, 0.5), (4.0, 9.0)])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_message_times_cavity_has_the_moments_of_factor_times_cavity(y, mean, var, noise_var):
    found = sent(y, mean, var, noise_var)
    log_z, first, second = tilted(2.0 * y - 1.0, mean, var, noise_var)
    precision = 1.0 / var + found.precision
    np.testing.assert_allclose(found.log_normaliser, log_z, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(1.0 / precision, second, rtol=1e-8)
    np.testing.assert_allclose((mean / var + found.linear) / precision, first, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("t", [8.0, 0.0, -5.0, -20.0, -23.9, -24.1, -60.0, -1e4])
def test_tails_to_ten_digits(t):
    with mpmath.workdps(60):
        exact = mpmath.npdf(t) / (mpmath.erfc(-mpmath.mpf(t) / mpmath.sqrt(2)) / 2)
        zeta, kept = (float(part) for part in (exact, 1 - exact * (exact + t)))
    np.testing.assert_allclose(hazard_and_variance(np.array(t)), (zeta, kept), rtol=1e-10)


def test_a_label_that_surprises_beyond_measure():
    """The message stays finite and nearly that of a datum at zero with the noise of the link."""
    found = sent(1.0, -1e5, 1.0)
    assert 0.99 < found.precision < 1.0 and abs(found.linear / found.precision) < 1.0
    assert np.isfinite(found.log_normaliser)


def test_an_expected_label_says_next_to_nothing():
    found = sent(0.0, -30.0, 1.0)
    assert 0.0 <= found.precision < 1e-90 and abs(found.linear) < 1e-90


def test_the_precision_sent_is_at_most_that_of_the_noise():
    means, variances = np.meshgrid(np.linspace(-40.0, 40.0, 81), np.geomspace(1e-6, 1e6, 25))
    for noise_var in (0.2, 1.0):
        precision = sent(1.0, means, variances, noise_var).precision
        assert (precision >= 0.0).all() and (precision <= 1.0 / noise_var * (1.0 + 1e-9)).all()


def test_mean_field_rules_are_expectations():
    """Toward a latent y, and the energy: E log Phi on a fine grid."""
    q = inbox(Probit(), y=P.Bernoulli(0.3), f=P.Normal(0.4, 2.5))
    f = 0.4 + np.sqrt(2.5) * np.linspace(-12.0, 12.0, 20001)
    weights = np.exp(-0.5 * np.linspace(-12.0, 12.0, 20001) ** 2)
    one, zero = (weights @ log_ndtr(s * f) / weights.sum() for s in (1.0, -1.0))
    np.testing.assert_allclose(full(Probit().message("y", q)[0]), one - zero, rtol=1e-10)
    np.testing.assert_allclose(full(Probit().average_energy(q)), -(0.3 * one + 0.7 * zero), rtol=1e-10)


def test_forward_integrates_f_out():
    q = inbox(Probit(0.5), y=1.0, f=P.Normal(0.8, 3.0))
    np.testing.assert_allclose(Probit(0.5).forward("y", q).mean(), ndtr(0.8 / np.sqrt(3.5)), rtol=1e-14)


def test_a_known_f_scores_its_labels():
    @P.model
    def known(m, f, y):
        bias = m.normal("bias", mean=0.0, precision=1.0)
        row = m.plate("row", len(y))
        m.probit("y", f, observed=y, plates=row)
        m.normal("x", mean=bias, precision=1.0, observed=f, plates=row)

    f, y = np.array([0.3, -1.0]), np.array([1.0, 1.0])
    both = P.infer(known, data={"f": f, "y": y}).free_energy[-1]
    other = P.infer(known, data={"f": f, "y": 1.0 - y}).free_energy[-1]
    np.testing.assert_allclose(other - both, np.sum(log_ndtr(f) - log_ndtr(-f)), rtol=1e-12)


def test_what_is_no_probit_is_refused():
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(SpecError, match="probit takes one number above 0 as noise_var"):
            Probit(wrong)
    with pytest.raises(NoRule, match="a LogGamma at port f, where a Gaussian is due"):
        Probit().average_energy(inbox(Probit(), y=1.0, f=P.LogGamma(1.0, 2.0)))
    with pytest.raises(NoRule, match="toward f it is by moment matching"):
        Probit().message("f", inbox(Probit(), y=1.0, f=P.Normal(0.0, 1.0)))
    with pytest.raises(NoRule, match="pass observed="):
        Probit().match("f", inbox(Probit(), y=P.Bernoulli(0.5), f=P.Normal(0.0, 1.0)), np.array(0.0), np.array(1.0))

    @P.model
    def labels(m, y):
        f = m.normal("f", mean=0.0, precision=1.0)
        m.probit("y", f, observed=y, plates=m.plate("row", len(y)))

    with pytest.raises(DataError, match="probit"):
        P.infer(labels, data={"y": [0.0, 2.0]})
