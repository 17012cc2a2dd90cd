"""How the cost of training grows with rows and with seeds; ``python -m tests.benchmarks.bench_scaling``.

Two tables, every number a ratio to the first line of its own method and table: time and peak memory of one training
step (objective, gradient, Adam, bounds) on synthetic rows. With mini-batches of fixed size both stay flat while rows
grow from a thousand to a million; the data themselves and the epoch's order of rows, which are there once, are left
out. ``map`` has no mini-batches: its step grows with the rows. Seeds share one tensor program, so that many cost less
than as many times one.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.profiler import ProfilerActivity, profile

from corners.baselines._network_problem import WEIGHTS, MapProblem
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.engine.problem import CornerProblem
from corners.optimise import Problem
from corners.study import make_method
from tests.benchmarks.bench_engine import best_of

CELLS = ("scroll_none", "scroll_diagonal", "scroll_dense")
METHODS = (*CELLS, "map")
COLUMNS, SCORED_ROWS, BATCH = 10, 100, 256
ROWS, FULL_BATCH_ROWS = (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000, 100_000)
SEEDS, SEED_ROWS = (1, 5, 20, 80), 500
REPEATS = 10


@dataclass(frozen=True)
class Cost:
    """Seconds and peak bytes of one step, and the bytes that are there all along."""

    seconds: float
    peak: int
    data: int


def synthetic(rows: int, seeds: int) -> SplitBatch:
    """Standard normal inputs with a smooth target and noise, every seed its own."""
    generator = torch.Generator().manual_seed(0)

    def part(count: int) -> PartBatch:
        inputs = torch.randn(seeds, count, COLUMNS, generator=generator, dtype=torch.float64)
        noise = torch.randn(seeds, count, generator=generator, dtype=torch.float64)
        return PartBatch(inputs, inputs[..., 0].sin() + 0.3 * noise)

    return SplitBatch(part(rows), part(SCORED_ROWS), part(SCORED_ROWS), torch.zeros(seeds, dtype=torch.float64))


def problem_of(name: str, data: SplitBatch, batch_size: int | None) -> tuple[Problem, Params, frozenset[str]]:
    """The method's problem at its start, as its training would pose it, with one penalty for ``map``."""
    method = make_method(name)
    generators = [torch.Generator().manual_seed(seed) for seed in range(data.count)]
    if name in CELLS:
        params = method.corner.init(data.train.inputs, data.train.targets, generators)
        return CornerProblem(method.corner, data, generators, batch_size), params, method.corner.frozen
    params = method.likelihood.init(data.train.targets)
    params |= method.backbone.init(COLUMNS, generators, torch.float64)
    width = method.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
    params[WEIGHTS] = torch.zeros(data.count, width, dtype=torch.float64)
    penalties = torch.ones(data.count, dtype=torch.float64)
    problem = MapProblem(method.backbone, method.likelihood, data, penalties, method.backbone_penalty)
    return problem, params, method.likelihood.frozen | method.backbone.frozen


def step_of(problem: Problem, params: Params, frozen: frozenset[str]) -> Callable[[], None]:
    """One step of training: what ``corners.optimise.train`` does between two checks."""
    params = {name: value.detach().clone() for name, value in params.items()}
    optimiser = torch.optim.Adam([params[n].requires_grad_() for n in params if n not in frozen], lr=0.01, foreach=True)

    def step() -> None:
        total, state = problem.objective(params, 1)
        optimiser.zero_grad(set_to_none=True)
        total.sum().backward()
        optimiser.step()
        with torch.no_grad():
            problem.adjust(params, 1, state)

    return step


def peak_bytes(step: Callable[[], None]) -> int:
    """Most bytes that tensors of the step hold at one time, beyond those held before it."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        step()
    assert found.profiler is not None
    events = [event for event in found.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda each: each.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def cost(name: str, rows: int, seeds: int, batch_size: int | None) -> Cost:
    """What one step costs, after a first one that draws the order of rows and sets up Adam."""
    data = synthetic(rows, seeds)
    step = step_of(*problem_of(name, data, batch_size))
    step()
    # A thousand rows are three mini-batches; a new order of rows would be counted, so the peak is the second batch's.
    peak = peak_bytes(step)
    repeats = REPEATS if batch_size is not None or rows * seeds < 50_000 else 3
    order = 8 * rows * seeds if batch_size else 0
    return Cost(best_of(step, repeats), peak, data.train.inputs.nbytes + data.train.targets.nbytes + order)


def report(name: str, what: str, counts: tuple[int, ...], measure: Callable[[int], Cost]) -> None:
    """A line a count, as ratios to the first."""
    first: Cost | None = None
    for count in counts:
        found = measure(count)
        first = first or found
        print(
            f"{name:<16}{count:>9,} {what}: time x {found.seconds / first.seconds:.2f} ({found.seconds * 1e3:.2f} ms), "
            f"memory of the step x {found.peak / first.peak:.2f} ({found.peak / 1e6:.1f} MB), "
            f"data {found.data / 1e6:.1f} MB"
        )


def main() -> None:
    """Both tables."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would announce its every start and stop
    print(f"one step against rows, one seed: mini-batches of {BATCH} for scroll_*, all rows for map")
    for name in CELLS:
        report(name, "rows", ROWS, lambda rows, name=name: cost(name, rows, 1, BATCH))
    report("map", "rows", FULL_BATCH_ROWS, lambda rows: cost("map", rows, 1, None))
    print(f"one step against seeds, all of {SEED_ROWS} rows")
    for name in METHODS:
        report(name, "seeds", SEEDS, lambda seeds, name=name: cost(name, SEED_ROWS, seeds, None))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
