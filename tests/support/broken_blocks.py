"""Blocks that go wrong on purpose, in the place of a sound one."""

from collections.abc import Mapping
from typing import Any

from inference.blocks._base import Block
from inference.distributions import Distribution
from inference.program import Program, State
from inference.structure import FactorGraph


class Broken(Block):
    """Stands where a block stood; its updates are the block's until they are not."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.variables, self.children, self.silent = block.variables, block.children, block.silent

    def joints(self, graph: FactorGraph) -> Mapping[str, tuple[str, str]]:
        return self.block.joints(graph)

    def update(self, program: Program, state: State, damping: float) -> State:
        return self.block.update(program, state, damping)

    def explain(self, program: Program) -> list[str]:
        return self.block.explain(program)


class Astray(Broken):
    """Leaves its first variable at a distribution that nothing asked for."""

    def __init__(self, block: Block, distribution: Distribution) -> None:
        super().__init__(block)
        self.distribution = distribution

    def update(self, program: Program, state: State, damping: float) -> State:
        return state.updated(marginals={self.variables[0]: self.distribution})


class Failing(Broken):
    """Works some times and then raises."""

    def __init__(self, block: Block, times: int, error: Exception) -> None:
        super().__init__(block)
        self.times, self.error = times, error

    def update(self, program: Program, state: State, damping: float) -> State:
        self.times -= 1
        if self.times < 0:
            raise self.error
        return super().update(program, state, damping)


def replaced(plan: Any, *blocks: Block) -> Any:
    """The plan with other blocks in its program."""
    plan.program.blocks = blocks
    return plan
