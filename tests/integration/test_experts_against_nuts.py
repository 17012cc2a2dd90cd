"""The structured belief of one gated expert against draws of its exact posterior (message passing 6.7)."""

import numpy as np

import inference as P
from inference.truth import stacks
from tests.support.expert_models import bound, data_of, settle
from tests.support.gated_experts import Options
from tests.support.simulated_experts import simulate

TAU = 4.0


def draws_of(x, seed: int) -> np.ndarray:
    """``(S, d)`` weights: ``e ~ N(0, 1)``, ``z = Phi w + e / sqrt(tau)``, ``yhat ~ N(y, e^-z)``."""
    pm = stacks.pymc()
    with stacks.expected_notices(), stacks.one_blas_thread(), pm.Model():
        w = pm.Normal("w", 0.0, 1.0, shape=x.phi.shape[1])
        z = pm.math.dot(x.phi, w) + pm.Normal("e", 0.0, 1.0, shape=len(x.y)) / np.sqrt(TAU)
        pm.Normal("yhat", x.y, pm.math.exp(-0.5 * z), observed=x.yhat[:, 0])
        trace = pm.sample(
            draws=1500, tune=500, chains=2, cores=1, random_seed=seed, progressbar=False, return_inferencedata=False,
            compute_convergence_checks=False, compile_kwargs=stacks.compile_kwargs(),
        )  # fmt: skip
    chains = np.stack(trace.get_values("w", combine=False))
    assert (stacks.rhat(chains) < 1.01).all() and (stacks.ess(chains, "mean") > 1000).all()
    assert (stacks.ess(chains, "sd") > 500).all()
    return chains.reshape(-1, chains.shape[-1])


def test_the_joint_of_weights_and_latents_is_nearly_the_posterior():
    """N = 200, d = 2, tau fixed at 4: means within 0.02, standard deviations within a tenth; mean field is far off."""
    x = simulate(21, rows=200, experts=1, d=2, tau=(np.inf, TAU)).experts
    draws = draws_of(x, seed=4)
    joint, _ = settle(bound(x, Options(gamma_factor=False)), data_of(x), tolerance=1e-9)
    apart, _ = settle(bound(x, Options(gamma_factor=False)), data_of(x), [P.MeanField()], tolerance=1e-9)
    w = joint.posteriors["w"]
    assert (np.abs(w.mean()[0] - draws.mean(0)) <= 0.02).all()
    ratio = w.std()[0] / draws.std(0, ddof=1)
    assert ((ratio >= 0.9) & (ratio <= 1.1)).all(), ratio
    assert (apart.posteriors["w"].std()[0] < 0.5 * draws.std(0)).all()
