"""A variable whose marginal is given and stays."""

from inference.blocks._base import Block
from inference.distributions import Distribution
from inference.program import Program, State


class Fixed(Block):
    """A marginal that is never updated: a constraint, or a posterior that is carried over."""

    def __init__(self, variable: str, distribution: Distribution) -> None:
        self.variables = (variable,)
        self.distribution = distribution

    def update(self, program: Program, state: State, damping: float) -> State:
        """Nothing moves."""
        return state

    def explain(self, program: Program) -> list[str]:
        """One line."""
        return [f"q({self.variables[0]}) is fixed; no message is used"]
