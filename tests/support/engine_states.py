"""The engine block by block: its state after every update, and that state in the words of the hand-written oracles."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma

from inference.distributions import Gamma, MvNormal, Normal
from inference.initial import initial_state
from inference.program import Program, State
from inference.schedule import make_plan
from tests.support.gated_experts import LOG_2PI, Beliefs, Experts, counted, mean_of
from tests.support.gated_experts_structured import StructuredBeliefs, joint
from tests.support.link_oracle import entropy_of_log, trigamma

Array = np.ndarray


class Moment(NamedTuple):
    """A state and the block whose update made it."""

    program: Program
    state: State
    block: str


def every_block(model: Any, data: dict[str, Any], constraints: Any, sweeps: int, init: Any = None) -> Iterator[Moment]:
    """The state after each block of each sweep, full steps, without a warm start."""
    plan = make_plan(model.build(data), constraints)
    state = initial_state(plan.program, init)
    for _ in range(sweeps):
        for block in plan.blocks:
            state = block.update(plan.program, state, 1.0)
            yield Moment(plan.program, state, block.name)


def last(model: Any, data: dict[str, Any], constraints: Any = (), sweeps: int = 1) -> Moment:
    """The state after some sweeps."""
    *_, found = every_block(model, data, constraints, sweeps)
    return found


def gammas_of(state: State, name: str, prior: tuple[float, float], count: int) -> Array:
    """Shapes over rates; what is known or absent as the oracle has it."""
    q = state.marginals.get(name)
    return np.array([q.shape, q.rate]) if isinstance(q, Gamma) else counted(prior, 0.0, np.zeros(count))


def beliefs_of(x: Experts, state: State) -> Beliefs:
    """Mean-field beliefs, each moment from the parameters of its marginal."""
    q, experts = state.marginals, x.yhat.shape[1]
    w = q["w"].arrays()
    cov = w["diag"][..., None] * np.eye(x.phi.shape[1]) if "diag" in w else q["w"].covariance
    gamma, z = q["gamma"], q["z"]
    if isinstance(gamma, Gamma):
        a, b = gamma.shape, gamma.rate
        edges = {"mean_z": digamma(a) - np.log(b), "var_z": trigamma(a), "mean_gamma": a / b}
        edges |= {"entropy_z": entropy_of_log(a), "shape_gamma": a, "rate_gamma": b}
    else:
        m, v = z.arrays()["mean"], z.arrays()["var"]
        edges = {"mean_z": m, "var_z": v, "mean_gamma": np.exp(m + 0.5 * v)}
        edges |= {"entropy_z": 0.5 * (LOG_2PI + 1.0 + np.log(v)), "shape_gamma": m, "rate_gamma": m}
    pred = q["pred"].arrays() if "pred" in q else {"mean": x.yhat, "var": np.ones(x.yhat.shape)}
    return Beliefs(
        mean_w=w["mean"],
        cov_w=cov,
        tau=gammas_of(state, "tau", x.tau, experts),
        beta=gammas_of(state, "beta", x.beta, experts),
        kappa=gammas_of(state, "kappa", x.kappa, experts),
        mean_pred=pred["mean"],
        var_pred=pred["var"],
        **edges,
    )


def structured_beliefs_of(x: Experts, state: State, t: Array) -> StructuredBeliefs:
    """The oracle's joint with the engine's sites, made at ``E tau = t`` (K,)."""
    h, sites = state.sites["z"]
    experts = x.yhat.shape[1]
    return StructuredBeliefs(
        joint(x, t, h, sites), gammas_of(state, "tau", x.tau, experts), gammas_of(state, "beta", x.beta, experts)
    )


def expected_tau(x: Experts, state: State) -> Array:
    """``E tau`` (K,)."""
    return mean_of(gammas_of(state, "tau", x.tau, x.yhat.shape[1]))


def random_start(x: Experts, noisy: bool, rng: np.random.Generator) -> dict[str, Any]:
    """Marginals for the globals and ``pred`` that no prior would give."""
    (rows, experts), d = x.yhat.shape, x.phi.shape[1]
    root = rng.standard_normal((experts, d, d))
    start: dict[str, Any] = {
        "w": MvNormal(rng.standard_normal((experts, d)), root @ root.swapaxes(1, 2) + 0.1 * np.eye(d))
    }
    names = ["tau", "beta"] + ["kappa"] * noisy
    start |= {name: Gamma(*rng.uniform(0.5, 3.0, (2, experts))) for name in names}
    if noisy:
        start["pred"] = Normal(rng.standard_normal((rows, experts)), rng.uniform(0.2, 2.0, (rows, experts)))
    return start
