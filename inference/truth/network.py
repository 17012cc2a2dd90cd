"""Sample every weight of a small network with PyMC's No-U-Turn sampler, and certify the function it finds."""

from typing import Any

import numpy as np

from inference.truth import stacks
from inference.truth.chains import Chains, check_settings, fresh_seed, run_chains
from inference.truth.diagnostics import diagnose, psis_loo
from inference.truth.gate import judge
from inference.truth.loo import PsisLoo
from inference.truth.network_models import NetworkTwin, fill, natural_network_draws, network_twin
from inference.truth.network_problem import NetworkPrior, NetworkProblem, network_problem
from inference.truth.network_reference import NetworkReference
from inference.truth.priors import HalfNormal, Prior
from inference.truth.reference import Provenance, gaussian_log_density
from inference.truth.timing import Stopwatch
from inference.types import Array, Float

UNIT_NOISE = HalfNormal(1.0)


def sample_network(  # noqa: PLR0913 (what is sampled, and how: all of it is recorded)
    inputs: Any,
    targets: Any,
    *,
    units: int,
    at: Any,
    noise_scale: float | Prior = UNIT_NOISE,
    prior: NetworkPrior | None = None,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 1000,
    target_accept: float = 0.9,
    seed: int | None = None,
    progress: bool = False,
) -> NetworkReference:
    r"""Draw $f(x)=w_2^\top\tanh(W_1x+b_1)+b_2$, $y\sim N(f(x),\sigma^2)$, from its posterior and judge the run.

    All weights are sampled, from the priors of :class:`~inference.truth.network_problem.NetworkPrior`; what is judged
    and kept is f at the inputs ``at`` (theory 10.1), since the weights are not identified. Starts are within one prior
    standard deviation of zero, uniformly; the scales are adapted as PyMC does by default.

    Parameters
    ----------
    inputs, targets : (N, D) and (N,) or (N, 1), finite; standardise them, or choose the prior to their units.
    units : hidden units U.
    at : (M, D), the inputs at which the function is judged and kept.
    noise_scale : $\sigma$ as a number, or a density of it; a standard half-normal by default.
    chains, draws, tune, target_accept, seed, progress : as in :func:`inference.truth.sample_last_layer`.

    Returns
    -------
    NetworkReference : one that failed its gate refuses to be used.

    Raises
    ------
    DataError, SpecError : as ``network_problem`` says; too few chains or draws.
    UnavailableError : PyMC or ArviZ cannot be imported.

    Example
    -------
    >>> x = np.linspace(-1.0, 1.0, 8)[:, None]
    >>> run = sample_network(x, x[:, 0], units=1, at=x[:2], noise_scale=1.0, draws=20, tune=20, seed=1)
    >>> run.function.shape, run.diagnostics.names, run.passed  # 80 draws prove nothing
    ((4, 20, 2), ('function[0]', 'function[1]'), False)
    """
    settings = {"chains": chains, "draws": draws, "tune": tune, "target_accept": target_accept}
    check_settings(settings)
    problem = network_problem(inputs, targets, units=units, at=at, noise_scale=noise_scale, prior=prior)
    watch, seed = Stopwatch(), fresh_seed() if seed is None else seed
    with watch("importing"):
        stacks.pymc()
    with watch("compile"):
        twin = network_twin(problem.noise_family)
    with twin.lock, stacks.one_blas_thread(), watch("sampling"):
        fill(twin.shared, problem)
        found = _sample(twin, problem, settings, seed, progress)
    with watch("judging"):
        judged = _judged(problem, found)
    return NetworkReference(**judged, provenance=_provenance(problem, found, settings, seed, watch))


def _sample(twin: NetworkTwin, problem: NetworkProblem, settings: dict[str, Any], seed: int, progress: bool) -> Chains:
    spread = float(problem.targets.std()) or 1.0
    noise = [] if problem.noise_family is None else [np.log(0.3 * spread)]
    return run_chains(
        twin.model,
        twin.density,
        None,
        np.concatenate([noise, np.zeros(len(problem.scales))]),
        rngs=[np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(settings["chains"])],
        draws=settings["draws"],
        tune=settings["tune"],
        target_accept=settings["target_accept"],
        progress=progress,
    )


def _judged(problem: NetworkProblem, found: Chains) -> dict[str, Any]:
    """The fields of a reference but for its provenance."""
    noise, weights = natural_network_draws(problem, found.positions)
    function = problem.function(weights, problem.at)
    scale = noise["noise_scale"].reshape(-1) if noise else np.full(len(weights), problem.noise_scale)
    log_likelihood = gaussian_log_density(problem.targets, problem.function(weights, problem.inputs), scale)
    by_chain = function.reshape(*found.positions.shape[:2], -1)
    diagnostics = diagnose(by_chain, noise, found.stats, label="function")
    passed = judge(diagnostics, draws=len(weights), hyperpriors=True).passed
    return {
        "inputs": problem.at,
        "function": by_chain,
        "hyperparameters": noise,
        "log_likelihood": log_likelihood,
        "moments": np.stack([function.mean(axis=0), function.std(axis=0, ddof=1)]),
        "loo": _loo(log_likelihood, float(diagnostics.ess_mean.mean()), passed),
        "diagnostics": diagnostics,
    }


def _provenance(
    problem: NetworkProblem, found: Chains, settings: dict[str, Any], seed: int, watch: Stopwatch
) -> Provenance:
    return Provenance(
        model=f"full network, 1 hidden layer of {problem.units} tanh units, {problem.inputs.shape[1]} inputs, biases",
        data_sha256=problem.fingerprint(),
        hyperparameters=problem.as_dict(),
        settings=settings,
        seed=seed,
        versions=stacks.versions(),
        seconds=watch.rounded(),
        leapfrog_steps_per_draw=float(found.stats["tree_size"].mean()),
    )


def _loo(log_likelihood: Float[Array, "S N"], effective: float, passed: bool) -> PsisLoo:
    """Not a number for a run that failed: stuck draws have no tail to smooth."""
    if not passed:
        unknown = np.full(log_likelihood.shape[1], np.nan)
        return PsisLoo(unknown, unknown, draws=len(log_likelihood))
    return psis_loo(log_likelihood, effective / len(log_likelihood))
