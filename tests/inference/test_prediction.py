"""Forward prediction against the oracle: what is uncertain stays so, and nothing flows back (message passing 4.6)."""

import numpy as np
import pytest

import inference as P
from tests.support.expert_models import mean_field
from tests.support.gated_experts import Options, mean_of
from tests.support.gated_experts_forward import forward
from tests.support.link_oracle import gamma_link
from tests.support.predicted_experts import ahead, alone, globals_of, trained

pytestmark = pytest.mark.unchecked

OPTIONS = [
    Options(jacobian=j, noisy=noisy, gamma_factor=rate)
    for j, noisy, rate in [(0, False, False), (0, False, True), (1, False, False), (1, True, True), (0, True, False)]
]


@pytest.mark.parametrize("o", OPTIONS, ids=str)
@pytest.mark.parametrize("structured", [False, True])
def test_forward_keeps_the_uncertainty_of_weights_and_noise(o, structured):
    """The oracle's way, row by row, whichever way the weights were trained."""
    if o.noisy and structured:
        constraints = ["q(w,z)q(pred)"]
    else:
        constraints = [P.Structured(("w", "z"))] if structured else mean_field(o)
    x, result, new = trained(o, constraints=constraints)
    expected = forward(x, o, globals_of(x, result), new["phi"], new["yhat"])
    found, (_, state) = result.predict(new), ahead(result, new)
    np.testing.assert_allclose(state.marginals["gamma"].mean(), expected.gamma, rtol=1e-9)
    np.testing.assert_allclose(found.mean(), expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.var(), expected.var, rtol=1e-9)


def test_forward_keeps_the_form_of_the_link():
    """A Gamma on gamma where training had one: the best against the softdot's message and the rate prior."""
    x, result, new = trained(Options("gamma", jacobian=1))
    q = forward(x, Options(), globals_of(x, result), new["phi"], new["yhat"])
    beta = mean_of(globals_of(x, result).beta)
    best = gamma_link(1.0 / q.message_var, q.message_mean, x.alpha - 1.0 + 1.0, np.broadcast_to(beta, (4, 2)))
    _, state = ahead(result, new)
    np.testing.assert_allclose(state.marginals["gamma"].mean(), best.shape / best.rate, rtol=1e-9)


@pytest.mark.parametrize("o", OPTIONS[:3], ids=str)
def test_the_forecasts_do_not_move_their_precisions(o):
    """Decision 0.5: without a target, forecasts that disagree wildly say nothing about gamma."""
    _, result, new = trained(o)
    _, one = ahead(result, new)
    _, other = ahead(result, {**new, "yhat": 1e3 * new["yhat"]})
    np.testing.assert_array_equal(other.marginals["gamma"].mean(), one.marginals["gamma"].mean())


def test_a_single_forecast_is_plugged_in_at_the_mean_precision():
    """``1/E gamma`` and ``E 1/gamma`` differ by ``e^v`` (Jensen): the plug-in says the former."""
    result, new, mean, var = alone()
    found, (_, state) = result.predict(new), ahead(result, new)
    np.testing.assert_allclose(found.mean(), [0.3], rtol=1e-12)
    np.testing.assert_allclose(found.var(), [np.exp(-mean - 0.5 * var)], rtol=1e-10)
    inverse = state.marginals["gamma"].mean_inverse()
    np.testing.assert_allclose(inverse, [[np.exp(-mean + 0.5 * var)]], rtol=1e-10)


def test_feeding_the_latent_target_back_moves_gamma():
    """At its fixed point ``E gamma E (y - yhat)^2 = 1``, so ``lam`` is 1/2, as ``s`` is: ``N(mu, 1/(p + 1/2))``.

    It stops where F moves by 1e-7 of itself, hence within about the square root of that.
    """
    result, new, mean, var = alone()
    with pytest.warns(UserWarning, match="overconfident"):
        found = result.predict(new, mode="vmp", iterations=200)
    np.testing.assert_allclose(1.0 / found.var(), [np.exp(mean + 0.5 / (1.0 / var + 0.5))], rtol=1e-3)
    assert abs(np.log(1.0 / found.var() / np.exp(mean + 0.5 * var))) > 0.05


def test_noisy_experts_keep_their_own_noise():
    """However sure the gate, an expert's forecast is as uncertain as ``1/E kappa``."""
    _, result, new = trained(OPTIONS[4], experts=1)
    variance = result.predict(new).var()
    kappa = float(result.posteriors["kappa"].mean()[0])
    _, state = ahead(result, new)
    np.testing.assert_allclose(variance, 1.0 / kappa + 1.0 / state.marginals["gamma"].mean()[:, 0], rtol=1e-10)
