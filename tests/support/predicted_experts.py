"""Trained gated experts and new rows for them: what tests of prediction start from."""

from typing import Any

import numpy as np

import inference as P
from inference import frozen
from inference.program import Program, State
from tests.support.engine_states import beliefs_of, gammas_of
from tests.support.expert_models import bound, data_of, mean_field
from tests.support.gated_experts import Experts, Options
from tests.support.gated_experts_forward import Globals
from tests.support.simulated_experts import simulate

KNOWN = float("inf")


def trained(
    o: Options, experts: int = 2, *, constraints: Any = None, rows: int = 20
) -> tuple[Experts, Any, dict[str, Any]]:
    """Simulated data, a result, and new rows."""
    x = simulate(11, rows=rows, experts=experts, d=2, kappa=(2.0, 0.5) if o.noisy else None).experts
    constraints = mean_field(o) if constraints is None else constraints
    result = P.infer(bound(x, o), data=data_of(x), constraints=constraints, iterations=30)
    rng = np.random.default_rng(12)
    return x, result, {"phi": rng.standard_normal((4, 2)), "yhat": rng.standard_normal((4, experts))}


def globals_of(x: Experts, result: Any) -> Globals:
    """What the oracle needs of a result."""
    q, count = result.posteriors, x.yhat.shape[1]
    kept = [gammas_of(result.state, name, getattr(x, name), count) for name in ("tau", "beta", "kappa")]
    return Globals(q["w"].mean(), beliefs_of(x, result.state).cov_w, *kept)


def ahead(result: Any, new: dict[str, Any], iterations: int = 50) -> tuple[Program, State]:
    """The local state of a forward prediction."""
    problem = frozen.problem(result.trained, new)
    return frozen.settle(problem, problem.frozen, iterations)


def alone(copies: int = 1) -> tuple[Any, dict[str, Any], float, float]:
    """One expert with certain weights and noise, one new row some times over; mean and variance of its ``z``."""
    w, tau = np.array([0.7, -0.4]), 1.6
    x = simulate(11, rows=5, experts=1, d=2, tau=(KNOWN, tau)).experts
    fixed = P.Fixed("w", P.MvNormal(w[None], cov=1e-14 * np.eye(2)[None]))
    result = P.infer(bound(x, Options(gamma_factor=False)), data=data_of(x), constraints=[P.MeanField(), fixed])
    phi = np.array([1.2, 0.5])
    return result, {"phi": np.tile(phi, (copies, 1)), "yhat": np.full((copies, 1), 0.3)}, float(w @ phi), 1.0 / tau
