"""The golden gated experts as data, priors and constraints of the ready models."""

import warnings

import numpy as np
import pytest

import inference as P
from tests.support.expert_models import data_of, mean_field, settle
from tests.support.gated_experts_golden import golden_configurations, golden_experts, golden_new_rows

NAMES = {
    "meanfield-gauss-J0-full",
    "meanfield-gauss-J0-full-no_rate",
    "meanfield-gauss-J1-diag",
    "meanfield-gauss-J0-full-noisy",
    "meanfield-gauss-J0-full-noisy-no_rate",
    "meanfield-gauss-J1-diag-noisy",
    "meanfield-dual-J0-full",
    "structured_wz-gauss-J0-full",
    "structured_wz-gauss-J0-full-no_rate",
    "structured_wz-gauss-J1-full",
}

__all__ = ["assert_golden_fit", "configurations", "data_of", "golden_experts", "golden_new_rows", "priors_of"]


def configurations(*, noisy):
    """Golden configurations with or without noise of the experts; the engine's tests go through all of them."""
    chosen = [e for e in golden_configurations() if e.options.noisy == noisy and e.name in NAMES]
    return [pytest.param(entry, id=entry.name) for entry in chosen]


def priors_of(options):
    """The priors of the golden file as options of the models."""
    x = golden_experts()
    rate = {"rate_prior": x.beta, "alpha": x.alpha} if options.gamma_factor else {}
    noise = {"expert_noise": x.kappa} if options.noisy else {}
    own = {"weights_mean": x.w_mean, "weights_precision": x.w_precision, "noise": x.tau, "jacobian": options.jacobian}
    return {**own, **rate, **noise}


def assert_golden_fit(model, entry):
    """The fixed point, its free energy and forward predictions, to the 1e-7 that the file is good for."""
    o = entry.options
    constraints = [P.Structured(("w", "z"))] if entry.structured else mean_field(o)
    with warnings.catch_warnings():
        if o.link_marginal == "dual":
            warnings.simplefilter("ignore", P.DualProjection)
        r, energy = settle(model.bind(**priors_of(o)), data_of(golden_experts()), constraints, tolerance=1e-10)
        phi, yhat = golden_new_rows()
        ahead = r.predict({"phi": phi, "yhat": yhat})
    q = r.posteriors
    found = {"bfe": energy, "mean_w": q["w"].mean().T, "cov_w": q["w"].covariance, "var_w": q["w"].var()}
    found |= {name: np.stack([q[name].shape, q[name].rate]) for name in ("tau", "beta", "kappa") if name in q}
    found |= {"E_gamma": q["gamma"].mean(), "new_mean": ahead.mean(), "new_var": ahead.var()}
    if "pred" in q:
        found |= {"pred_mean": q["pred"].mean(), "pred_var": q["pred"].var()}
    compared = [name for name in entry.expected if name in found]
    assert {"mean_w", "tau"} < set(compared)
    for name in compared:
        np.testing.assert_allclose(found[name], entry.expected[name], rtol=1e-7, atol=1e-7, err_msg=name)
