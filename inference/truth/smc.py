"""The evidence by sequential Monte Carlo in PyMC: an estimate that owes nothing to NUTS or to the bridge."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from inference.errors import SpecError, TruthError
from inference.truth import stacks
from inference.truth.chains import fresh_seed
from inference.truth.evidence import SmcEstimate
from inference.truth.heads._base import Head
from inference.truth.priors import Hyperpriors
from inference.truth.targets import HeadTarget, make_target


def smc_evidence(
    features: Any,
    targets: Any,
    *,
    likelihood: Head | None = None,
    offset: Any = None,
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors | None = None,
    particles: int = 1000,
    chains: int = 4,
    seed: int | None = None,
) -> SmcEstimate:
    r"""$\log p(y)$ as ``pymc.sample_smc`` accumulates it on its way from the prior to the posterior (theory 10.3).

    Each chain is a run of its own; their mean is the estimate and their spread its error, which does not see what all
    runs share: proposals from one Gaussian come short where the posterior is none. Trust it to 0.3 nats with Gaussian
    noise; under a head with a sampled precision it was seen to miss by as much, three of its own errors.

    With Gaussian noise and hyperpriors the weights are integrated out first; under a head with a sampled precision they
    are non-centred. The other arguments are those of :func:`inference.truth.sample_last_layer`.

    Parameters
    ----------
    particles, chains : particles of a run, and independent runs.
    seed : None draws a fresh one.

    Raises
    ------
    SpecError : fewer than 2 chains or 100 particles, and what ``sample_last_layer`` refuses.
    TruthError : a run did not arrive at the posterior.

    Example
    -------
    >>> found = smc_evidence(np.eye(2), np.ones(2), prior_precision=1.0, noise_scale=1.0, particles=500, seed=1)
    >>> exact = -np.log(2 * np.pi * 2.0) - 0.5  # two targets with variance 2
    >>> bool(abs(found.log_evidence - exact) < 0.3)
    True
    """
    if chains < 2 or particles < 100:
        raise SpecError(f"SMC needs at least 2 chains of 100 particles but got {chains} of {particles}")
    form = "whitened" if hyperpriors is None or likelihood is not None else "collapsed"
    known = {"prior_precision": prior_precision, "noise_scale": noise_scale, "hyperpriors": hyperpriors}
    target = make_target(features, targets, likelihood, offset, form, known)
    if isinstance(target, HeadTarget) and hyperpriors is not None:
        # Weights whose scale is sampled too are a funnel: proposals from one Gaussian then lose half a nat of it.
        target.form = "non_centred"
    values = last_finite(
        _stages(target.fresh_model(), particles, chains, fresh_seed() % 2**32 if seed is None else seed)
    )
    return SmcEstimate(
        log_evidence=float(np.mean(values)),
        se=float(np.std(values, ddof=1) / np.sqrt(len(values))),
        chains=tuple(values),
        particles=particles,
    )


def _stages(model: Any, particles: int, chains: int, seed: int) -> Sequence[Any]:
    """What every chain accumulated at every stage of its way."""
    pm = stacks.pymc()  # sets the level of its logger when it is imported
    with stacks.expected_notices(), _quietly(), stacks.one_blas_thread():
        trace = pm.sample_smc(
            draws=particles,
            model=model,
            chains=chains,
            cores=1,
            random_seed=seed,
            compute_convergence_checks=False,
            return_inferencedata=False,  # stages of several lengths do not fit into it (pymc 7192)
            progressbar=False,
            compile_kwargs=stacks.compile_kwargs(),
        )
    return trace.report.log_marginal_likelihood


def last_finite(stages: Sequence[Any]) -> list[float]:
    """The last finite value of every chain: PyMC writes NaN for every stage before the posterior.

    Chains may differ in the number of their stages.

    Raises
    ------
    TruthError : a chain has none.

    Example
    -------
    >>> last_finite([[np.nan, np.nan, -3.0], [np.nan, -3.5]])
    [-3.0, -3.5]
    """
    found = []
    for chain, stage in enumerate(stages):
        values = np.asarray(stage, dtype=np.float64).reshape(-1)
        finite = values[np.isfinite(values)]
        if not len(finite):
            raise TruthError(
                f"SMC chain {chain} holds no finite evidence: it did not reach the posterior; more particles"
            )
        found.append(float(finite[-1]))
    return found


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """PyMC announces every run on its logger, and divides by probabilities of zero on the way."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            yield
    finally:
        logger.setLevel(level)
