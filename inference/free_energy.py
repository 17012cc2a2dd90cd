"""The Bethe free energy from average energies, cluster entropies and degrees (message_passing 1.7).

F = sum over factors of (U - entropy of its clusters) + sum over variables of (degree - 1) entropy. A cluster of one
variable takes its entropy off; a pair takes off that of the conditioned-on variable and the conditional entropy; an exp
link takes off the entropy of its input. How often each entropy stands in the sum is counted once, in integers.
"""

from collections.abc import Iterable

import numpy as np

from inference.program import Program, State
from inference.structure import Factor


def total(program: Program, state: State) -> float:
    """F of the whole graph, in nats."""
    return _energy_of(program, state, program.graph.factors, program.graph.variables, state.pairs, state.regions)


def local(program: Program, state: State, variables: Iterable[str]) -> float:
    """The terms of F that depend on the marginals of these variables."""
    names = frozenset(variables)
    factors = [f for f in program.graph.factors if f.variables_in(names)]
    touched = {f.name for f in factors}
    pairs = [name for name in state.pairs if name in touched]
    regions = [name for name in state.regions if set(name.split(",")) & names]
    return _energy_of(program, state, factors, names, pairs, regions)


def terms(program: Program, state: State) -> dict[str, float]:
    """F term by term: the energy of each factor, the entropy of each variable, pair and region, as they add up."""
    out = {f"energy {f.name}": program.energy(f, state) for f in program.graph.factors}
    out |= {f"entropy {v}": _entropy(program, state, v) for v in program.graph.variables}
    factors = {f.name: f for f in program.graph.factors}
    out |= {f"entropy pair {n}": -program.sum(factors[n], p.entropy) for n, p in state.pairs.items()}
    return out | {f"entropy region {n}": -h for n, h in state.regions.items()}


def _energy_of(
    program: Program,
    state: State,
    factors: Iterable[Factor],
    variables: Iterable[str],
    pairs: Iterable[str],
    regions: Iterable[str],
) -> float:
    by_name = {f.name: f for f in program.graph.factors}
    energy = sum(program.energy(f, state) for f in factors)
    energy += sum(_entropy(program, state, v) for v in variables)
    energy -= sum(program.sum(by_name[name], state.pairs[name].entropy) for name in pairs)
    return energy - sum(state.regions[name] for name in regions)


def _entropy(program: Program, state: State, variable: str) -> float:
    counts = program.counts[variable]
    if not counts.any():
        return 0.0
    joint = next((q for names, q in state.joints.items() if names[0] == variable), None)
    entropy = state.marginals[variable].entropy() if joint is None else joint.entropy()
    return float(np.sum(counts * entropy))
