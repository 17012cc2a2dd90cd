"""Case 30: the default prediction keeps the uncertainty of the weights and of the expert's own noise."""

import numpy as np
import pytest

import inference as P

RNG = np.random.default_rng(30)
ROWS, NEW = 12, 4
PHI, PHI_NEW = RNG.standard_normal((ROWS, 2)), RNG.standard_normal((NEW, 2))
Y = PHI @ [1.0, -0.5] + 0.3 * RNG.standard_normal(ROWS)
YHAT, YHAT_NEW = Y[:, None] + RNG.standard_normal((ROWS, 2)), RNG.standard_normal((NEW, 2))
CONSTRAINTS = [P.MeanField(), ()]


@P.model
def sample(m, y):
    """One mean and one precision."""
    mu, tau = m.normal("mu", mean=0.0, precision=0.1), m.gamma("tau", 1.0, 1.0)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def regression(m, x, y):
    """Weights and noise with independent priors."""
    w, tau = m.mvnormal("w", mean=0.0, precision=0.1, dim=x.shape[1]), m.gamma("tau", 1.0, 1.0)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def noisy_experts(m, phi, yhat, y):
    """Experts with noise of their own, kappa, around predictions that are gated by gamma."""
    row, each = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=0.5, dim=phi.shape[1], plates=each)
    z = m.softdot("z", w, phi, m.gamma("tau", 2.0, 1.0, plates=each), plates=(row, each))
    kappa = m.gamma("kappa", 2.0, 1.0, plates=each)
    pred = m.normal("pred", mean=yhat, precision=kappa, plates=(row, each))
    m.normal("y", mean=pred, precision=m.exp("gamma", z), observed=y, plates=(row, each))


def test_a_mean_is_not_taken_for_known():
    """Mean field sends N(E mu, 1/E tau) to the next y; its variance lacks that of mu."""
    q = P.infer(sample, data={"y": np.append(Y, np.nan)}).predictions["y"]
    result = P.infer(sample, data={"y": Y})
    mu, tau = result.posteriors["mu"], result.posteriors["tau"]
    np.testing.assert_allclose(q.var(), mu.var() + 1.0 / tau.mean(), rtol=1e-6)
    assert q.var() > 1.0 / tau.mean() + 0.9 * mu.var()


def test_weights_are_not_taken_for_known():
    result = P.infer(regression, data={"x": PHI, "y": Y})
    w, tau = result.posteriors["w"], result.posteriors["tau"]
    spread = np.einsum("na,ab,nb->n", PHI_NEW, w.covariance, PHI_NEW)
    np.testing.assert_allclose(result.predict({"x": PHI_NEW}).var(), spread + 1.0 / tau.mean(), rtol=1e-12)
    assert np.all(result.predict({"x": PHI_NEW}).var() > 1.0 / tau.mean())


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=["apart", "joint"])
def test_experts_keep_their_own_noise_and_their_weights_spread(constraints):
    result = P.infer(noisy_experts, data={"phi": PHI, "yhat": YHAT, "y": Y}, constraints=constraints)
    w, tau, kappa = (result.posteriors[name] for name in ("w", "tau", "kappa"))
    mean = PHI_NEW @ w.mean().T
    spread = np.einsum("na,kab,nb->nk", PHI_NEW, w.covariance, PHI_NEW) + 1.0 / tau.mean()
    gamma = np.exp(mean + 0.5 * spread)
    kept = 1.0 / np.sum(1.0 / (1.0 / gamma + 1.0 / kappa.mean()), axis=1)
    dropped = 1.0 / np.sum(gamma, axis=1)
    q = result.predict({"phi": PHI_NEW, "yhat": YHAT_NEW})
    np.testing.assert_allclose(q.var(), kept, rtol=1e-9)
    assert np.all(q.var() > dropped), "mean field would drop the experts' own noise"


@pytest.mark.filterwarnings("ignore:mode='vmp':UserWarning")
def test_the_published_mean_field_prediction_is_narrower_and_is_no_default():
    result = P.infer(noisy_experts, data={"phi": PHI, "yhat": YHAT, "y": Y})
    default, published = (result.predict({"phi": PHI_NEW, "yhat": YHAT_NEW}, **mode) for mode in ({}, {"mode": "vmp"}))
    assert np.all(published.var() < default.var())
