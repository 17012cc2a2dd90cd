"""Drive PyMC's NUTS step over a compiled density, chain by chain.

``pymc.sample`` compiles initial points and trace functions anew for every call; driving the step itself costs nothing
but the leapfrog steps, so a second run of the same structure starts at once.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.truth import stacks
from inference.truth.density import CompiledDensity
from inference.truth.whitening import Whitening
from inference.types import Array, Float

START_SPREAD = 1.5  # standard deviations: wider than the posterior, so that R-hat can see a chain that stays behind
STATS = {"energy": float, "diverging": bool, "tree_size": float, "mean_tree_accept": float, "step_size": float}


@dataclass(frozen=True, eq=False)
class Chains:
    """Positions in the coordinates of the density after tuning, and the sampler's statistics of every draw."""

    positions: Float[Array, "chains draws P"]
    stats: dict[str, Array]


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what no run can be judged with.

    Raises
    ------
    SpecError : fewer than 2 chains or 4 draws, a negative ``tune``, a ``target_accept`` outside (0, 1).
    """
    for name, least in (("chains", 2), ("draws", 4), ("tune", 0)):
        if settings[name] < least:
            raise SpecError(f"{name} must be at least {least} but got {settings[name]}; R-hat needs chains to compare")
    if not 0.0 < settings["target_accept"] < 1.0:
        raise SpecError(f"target_accept must lie strictly between 0 and 1 but got {settings['target_accept']}")


def fresh_seed() -> int:
    """A seed from the operating system, for a run that was given none; the result says which it was."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)


def run_chains(
    model: Any,
    density: CompiledDensity,
    whitening: Whitening | None,
    guess: Float[Array, " P"],
    *,
    rngs: list[np.random.Generator],
    draws: int,
    tune: int,
    target_accept: float,
    progress: bool = False,
) -> Chains:
    """One chain for every generator; without a whitening PyMC adapts a diagonal scale from jittered starts."""
    positions = np.empty((len(rngs), draws, len(guess)))
    stats: dict[str, Array] = {name: np.empty((len(rngs), draws), dtype=kind) for name, kind in STATS.items()}
    with _progress(progress, len(rngs) * (tune + draws)) as tick, _divergences_overflow():
        for chain, rng in enumerate(rngs):
            step, point = _step(model, density, whitening, guess, rng, target_accept)
            for i in range(tune + draws):
                if i == tune:
                    step.stop_tuning()
                point, (stat,) = step.step(point)
                tick()
                if i >= tune:
                    positions[chain, i - tune] = density.position(point)
                    for name, values in stats.items():
                        values[chain, i - tune] = stat[name]
    return Chains(positions, stats)


def _step(
    model: Any,
    density: CompiledDensity,
    whitening: Whitening | None,
    guess: Array,
    rng: np.random.Generator,
    target_accept: float,
) -> tuple[Any, dict[str, Array]]:
    pm = stacks.pymc()
    if whitening is None:
        start, potential = guess + rng.uniform(-1.0, 1.0, len(guess)), None
    else:
        start = whitening.start(rng, START_SPREAD)
        # A dense mass matrix equal to the inverse covariance is whitening: the same trajectories, no change of target.
        quadpotential = stacks.load("pymc.step_methods.hmc.quadpotential")
        potential = quadpotential.QuadPotentialFull(whitening.covariance, rng=rng.spawn(1)[0])
    point = density.point(start)
    step = pm.NUTS(
        vars=model.value_vars,
        model=model,
        logp_dlogp_func=density,
        potential=potential,
        target_accept=target_accept,
        initial_point=point,
        rng=rng,
    )
    return step, point


@contextlib.contextmanager
def _progress(show: bool, total: int) -> Iterator[Callable[[], object]]:
    if not show:
        yield lambda: None
        return
    rich = stacks.load("rich.progress")
    console = stacks.load("rich.console").Console(stderr=True)
    with rich.Progress(console=console) as bar:
        task = bar.add_task("NUTS", total=total)
        yield lambda: bar.advance(task)


def _divergences_overflow() -> Any:
    # A trajectory that runs off overflows; the sampler calls that a divergence and the gate counts it.
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")
