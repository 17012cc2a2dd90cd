"""Sample a last layer with PyMC's No-U-Turn sampler, and certify the run."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.truth import stacks
from inference.truth.chains import Chains, check_settings, fresh_seed, run_chains
from inference.truth.diagnostics import diagnose, psis_loo
from inference.truth.evidence import BridgeEstimate, bridge_evidence
from inference.truth.gate import Diagnostics, judge
from inference.truth.heads._base import Head
from inference.truth.loo import PsisLoo
from inference.truth.priors import Hyperpriors
from inference.truth.reference import Provenance, ReferencePosterior
from inference.truth.targets import Target, make_target
from inference.truth.timing import Stopwatch
from inference.truth.whitening import Whitening
from inference.types import Array, Float

TUNE = {"whitened": 300, "collapsed": 300, "plain": 1000}


def sample_last_layer(  # noqa: PLR0913 (what is sampled, and how: all of it is recorded)
    features: Any,
    targets: Any,
    *,
    likelihood: Head | None = None,
    offset: Any = None,
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors | None = None,
    form: str = "whitened",
    chains: int = 4,
    draws: int = 1000,
    tune: int | None = None,
    target_accept: float = 0.9,
    seed: int | None = None,
    progress: bool = False,
) -> ReferencePosterior:
    r"""Draw from $p(w\mid y)$ (and of the hyperparameters that have a density) and judge the run (theory 10.1).

    The target is always PyMC's log density of the model as it stands; only the geometry differs:

    - ``whitened`` moves in the coordinates in which that density's own mode and curvature are a standard Gaussian
      (Laplace's approximation where the likelihood is not Gaussian noise);
    - ``plain`` adapts a diagonal scale as PyMC does by default: slow, and the independent check of the other two;
    - ``collapsed`` (Gaussian noise with hyperpriors only) samples the hyperparameters with the weights integrated out
      and draws the weights from their exact conditional: by far the fastest where the hyperparameters are unknown.

    With hyperpriors and fewer points than features the weights are sampled non-centred, $w=z/\sqrt\alpha$.

    Parameters
    ----------
    features, targets : (N, H) and (N,) or (N, 1), finite numbers; labels 0..K-1 or counts where the head has them.
    likelihood : None is Gaussian noise; else a head such as ``Probit()``, whose parameters are numbers or densities.
    offset : $o_n$ in $f_n=w^\top\psi_n+o_n$, such as the logarithm of an exposure; heads only.
    prior_precision, noise_scale : $\alpha$ and the standard deviation $\sigma$; leave out the one that has a density.
    hyperpriors : densities of the unknown hyperparameters.
    chains, draws, tune : ``tune`` None takes 300 steps (1000 for ``plain``).
    target_accept : mean acceptance the step size is tuned to.
    seed : None draws a fresh one; either way it is in the result.
    progress : show a progress bar on standard error.

    Returns
    -------
    ReferencePosterior : call ``.require()`` before using it as truth; one that failed the gate refuses to be used.

    Raises
    ------
    DataError : shapes that do not fit, NaN or infinity (the place is named), not numbers.
    SpecError : a hyperparameter given twice or not at all, not positive; too few chains or draws; an impossible form.
    UnavailableError : PyMC or ArviZ cannot be imported.

    Example
    -------
    >>> result = sample_last_layer(np.eye(2), np.ones(2), prior_precision=1.0, noise_scale=1.0, draws=200, seed=1)
    >>> result.weights.shape, result.log_likelihood.shape, result.seed
    ((4, 200, 2), (800, 2), 1)
    """
    tune = TUNE.get(form, 0) if tune is None else tune
    settings = {"form": form, "chains": chains, "draws": draws, "tune": tune, "target_accept": target_accept}
    _check(settings)
    seed = fresh_seed() if seed is None else seed
    known = {"prior_precision": prior_precision, "noise_scale": noise_scale, "hyperpriors": hyperpriors}
    return _Run(make_target(features, targets, likelihood, offset, form, known), settings, seed, progress).result()


def _check(settings: dict[str, Any]) -> None:
    if settings["form"] not in TUNE:
        raise SpecError(f"form must be one of {', '.join(TUNE)} but got {settings['form']!r}")
    check_settings(settings)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Draws in natural units with the statistics the gate judges."""

    weights: Float[Array, "chains draws H"]
    hyperparameters: dict[str, Array]
    log_likelihood: Float[Array, "S N"]
    diagnostics: Diagnostics

    @property
    def passed(self) -> bool:
        draws = len(self.log_likelihood)
        return judge(self.diagnostics, draws=draws, hyperpriors=bool(self.hyperparameters)).passed

    def loo(self) -> PsisLoo:
        """Pareto-smoothed leave-one-out; not a number for a run that failed (stuck draws have no tail to smooth)."""
        count = len(self.log_likelihood)
        if not self.passed:
            unknown = np.full(self.log_likelihood.shape[1], np.nan)
            return PsisLoo(unknown, unknown, draws=count)
        return psis_loo(self.log_likelihood, float(np.mean(self.diagnostics.ess_mean)) / count)


class _Run:
    """One sampling run: compile (or reuse), whiten, sample, judge; each with its wall time."""

    def __init__(self, target: Target, settings: dict[str, Any], seed: int, progress: bool) -> None:
        self.target, self.settings, self.seed, self.progress = target, settings, seed, progress
        self.watch = Stopwatch()
        streams = np.random.SeedSequence(seed).spawn(settings["chains"] + 2)
        *self.chain_rngs, self.weights_rng, self.bridge_rng = [np.random.default_rng(stream) for stream in streams]

    def result(self) -> ReferencePosterior:
        with self.watch("importing"):
            stacks.pymc()
        with self.watch("compile"):
            model = self.target.twin()
        # The graph holds one problem's data at a time; threads that share it take turns.
        with model.lock, stacks.one_blas_thread():
            model.set_data(self.target.problem)
            geometry = self._geometry(model)
            with self.watch("sampling"):
                chains = self._sample(model, geometry)
            with self.watch("judging"):
                drawn = self._drawn(model, chains)
                evidence = self._evidence(model, chains, drawn)
        return self._certified(geometry, chains, drawn, evidence)

    def _geometry(self, model: Any) -> Whitening | None:
        if self.settings["form"] == "plain":
            return None
        with self.watch("whitening"):
            return self.target.whiten(model)

    def _sample(self, model: Any, geometry: Whitening | None) -> Chains:
        return run_chains(
            model.model,
            model.density,
            geometry,
            self.target.guess(model),
            rngs=self.chain_rngs,
            draws=self.settings["draws"],
            tune=self.settings["tune"],
            target_accept=self.settings["target_accept"],
            progress=self.progress,
        )

    def _drawn(self, model: Any, chains: Chains) -> _Drawn:
        hyperparameters, weights = self.target.natural(model, chains.positions, self.weights_rng)
        log_likelihood = self.target.log_likelihood(weights.reshape(-1, weights.shape[2]), hyperparameters)
        diagnostics = diagnose(weights, hyperparameters, chains.stats, self.target.real)
        return _Drawn(weights, hyperparameters, log_likelihood, diagnostics)

    def _evidence(self, model: Any, chains: Chains, drawn: _Drawn) -> BridgeEstimate | None:
        try:
            if not drawn.passed:
                raise SpecError("the run failed its gate")
            return bridge_evidence(chains.positions, model.density.batch, rng=self.bridge_rng)
        except SpecError as error:
            self.settings["no_evidence_because"] = str(error)
            return None

    def _certified(
        self, geometry: Whitening | None, chains: Chains, drawn: _Drawn, evidence: BridgeEstimate | None
    ) -> ReferencePosterior:
        with self.watch("judging"):
            loo = drawn.loo()
        floored = 0 if geometry is None else geometry.floored
        provenance = Provenance(
            model=self.target.model,
            likelihood=self.target.likelihood,
            data_sha256=self.target.problem.fingerprint(),
            hyperparameters=self.target.problem.as_dict(),
            settings={**self.settings, "curvature_directions_floored": floored},
            seed=self.seed,
            versions=stacks.versions(),
            seconds=self.watch.rounded(),
            leapfrog_steps_per_draw=float(chains.stats["tree_size"].mean()),
        )
        return ReferencePosterior(
            weights=drawn.weights,
            hyperparameters=drawn.hyperparameters,
            log_likelihood=drawn.log_likelihood,
            loo=loo,
            evidence=evidence,
            sample_stats=chains.stats,
            diagnostics=drawn.diagnostics,
            provenance=provenance,
        )
