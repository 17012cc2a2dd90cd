"""Theorems that relate the cavities, at equal features and hyperparameters, in every regime."""

from hypothesis import given

from corners.cavities.leave_one_out import LeaveOneOut
from corners.cavities.sequential import Sequential
from corners.cavities.shared import Shared
from tests.support.laws.cavity_laws import LIKELIHOOD, bound
from tests.support.problems import assert_close
from tests.support.strategies import Layer, layers


@given(layers())
def test_what_has_seen_less_is_less_sure(layer: Layer):
    """``v_sequential >= v_leave_one_out >= v_shared`` a data point."""
    routed, features, _, _ = bound([layer])
    sequential, loo, shared = (c.marginals(routed, features).variance for c in (Sequential(), LeaveOneOut(), Shared()))
    slack = 1e-7 * features.square().sum(-1) / layer.precision
    assert bool((sequential >= loo - slack).all() and (loo >= shared - slack).all())


@given(layers(rows=(1, 6), size=(1, 4)))
def test_the_shared_cavity_is_at_most_leave_one_out_by_the_stated_reaction(layer: Layer):
    """``ℓ_loo - ℓ_sc = -½ log(1 - h²) + (r*²/σ²) h/(1 - h²) >= 0`` a data point (theory 3.4)."""
    routed, features, targets, params = bound([layer])
    loss = {
        type(cavity): -LIKELIHOOD.log_partition(params, targets, cavity.marginals(routed, features))
        for cavity in (Shared(), LeaveOneOut())
    }
    assert routed.sites is not None
    leverage = routed.sites.leverage()
    residual = targets - (features @ routed.belief.mean[..., None])[..., 0]
    if float(leverage.max()) > 0.999:
        return  # 1 - h² has lost its digits in the formula itself
    expected = -0.5 * (1.0 - leverage**2).log() + residual**2 / layer.noise_var * leverage / (1.0 - leverage**2)
    assert_close(loss[LeaveOneOut] - loss[Shared], expected, rel=1e-5, abs_=1e-6)
    assert bool((expected >= 0.0).all())
