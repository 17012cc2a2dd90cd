"""Speed of the sampled ground truth, as ratios within one run; ``python -m tests.benchmarks.bench_truth``.

Prints the smallest bulk effective sample size per second of sampling for whitened draws against ``pymc.sample`` on the
plain model, and for the collapsed hierarchical model against ``pymc.sample`` on the plain one: 300 points, 50 tanh
features of a fixed random net, the same acceptance. Seconds are processor time, so that a shared machine does not blur
the ratio; compilation is told apart.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.truth import Hyperpriors, last_layer_model, sample_last_layer, stacks

ROWS, FEATURES, INPUTS = 300, 50, 8
ACCEPT, SEED = 0.9, 1
NOISE, PRECISION = 0.3, 1.0


@dataclass(frozen=True)
class Row:
    """One way to sample: leapfrog steps a draw, smallest bulk effective sample size, seconds, seconds of compiling."""

    name: str
    steps: float
    ess: float
    seconds: float
    compiling: float

    @property
    def speed(self) -> float:
        """Effective draws a second of sampling."""
        return self.ess / self.seconds


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Tanh features of random inputs, targets of random weights with noise."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(ROWS, INPUTS))
    features = np.tanh(inputs @ rng.normal(size=(INPUTS, FEATURES)) / np.sqrt(INPUTS))
    return features, features @ (0.5 * rng.normal(size=FEATURES)) + NOISE * rng.normal(size=ROWS)


def processor_seconds(function: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the processor time it took."""
    start = time.process_time()
    return function(), time.process_time() - start


def ours(name: str, data: tuple[np.ndarray, np.ndarray], **settings: Any) -> Row:
    """A certified run, whitening and judging included; the first, short call compiles."""
    _, compiling = processor_seconds(lambda: sample_last_layer(*data, draws=4, tune=0, chains=2, seed=SEED, **settings))
    run, seconds = processor_seconds(lambda: sample_last_layer(*data, target_accept=ACCEPT, seed=SEED, **settings))
    run.require()
    return Row(name, run.provenance.leapfrog_steps_per_draw, float(run.diagnostics.ess_bulk.min()), seconds, compiling)


def plain(name: str, data: tuple[np.ndarray, np.ndarray], **settings: Any) -> Row:
    """``pymc.sample`` as it comes, on the same model; what a call of no length takes is compilation."""
    model = last_layer_model(*data, **settings)

    def sample(draws: int, tune: int) -> Any:
        with stacks.expected_notices(), stacks.one_blas_thread():
            return stacks.pymc().sample(
                draws=draws,
                tune=tune,
                chains=4,
                cores=1,
                model=model,
                target_accept=ACCEPT,
                random_seed=SEED,
                progressbar=False,
                compute_convergence_checks=False,
                quiet=True,
                compile_kwargs=stacks.compile_kwargs(),
            )

    _, compiling = processor_seconds(lambda: sample(4, 4))
    _, again = processor_seconds(lambda: sample(4, 4))
    draws, seconds = processor_seconds(lambda: sample(1000, 1000))
    ess = min(float(stacks.ess(flat(draws.posterior[variable].values), "bulk").min()) for variable in draws.posterior)
    return Row(name, float(draws.sample_stats["n_steps"].mean()), ess, seconds - again, compiling)


def flat(draws: np.ndarray) -> np.ndarray:
    """Draws of a variable of any shape as (chains, draws, P)."""
    return draws.reshape(*draws.shape[:2], -1)


def show(fast: Row, slow: Row, target: float) -> None:
    """Two rows and their ratio."""
    for row in (slow, fast):
        print(
            f"{row.name:<28} {row.steps:8.1f} {row.ess:9.0f} {row.seconds:9.2f} {row.speed:10.1f} {row.compiling:9.1f}"
        )
    print(f"{'ratio':<28} {'':>8} {'':>9} {'':>9} {fast.speed / slow.speed:9.1f}x   (wanted: {target:g}x)\n")


def main() -> None:
    """Print the table."""
    data = problem()
    known = {"prior_precision": PRECISION, "noise_scale": NOISE}
    hyperpriors = Hyperpriors.default(*data)
    print(f"{'':<28} {'steps':>8} {'min ESS':>9} {'seconds':>9} {'ESS/s':>10} {'compile':>9}")
    show(ours("whitened", data, **known), plain("pymc.sample, plain", data, **known), 10.0)
    show(
        ours("collapsed, hyperpriors", data, form="collapsed", hyperpriors=hyperpriors),
        plain("pymc.sample, hyperpriors", data, hyperpriors=hyperpriors),
        20.0,
    )


if __name__ == "__main__":
    main()
