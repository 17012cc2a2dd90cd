"""The contract of a block: some variables, and the update that minimises the free energy over their marginals."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from inference.nodes._base import Message
from inference.program import Program, State
from inference.structure import Factor, FactorGraph


class Block(ABC):
    """Variables that are updated together, the others held fixed."""

    variables: tuple[str, ...]

    #: for a factor that joins two variables of the block: the port of the one that is conditioned on the other
    children: Mapping[str, str] = {}

    #: variables whose entropy is counted elsewhere, in a joint or a region
    silent: tuple[str, ...] = ()

    def joints(self, graph: FactorGraph) -> Mapping[str, tuple[str, str]]:
        """For each factor that reads a normal-gamma pair of this block: its two variables."""
        return {}

    @property
    def name(self) -> str:
        """How the block is called in plans and traces, as in ``q(w, z)``."""
        return f"q({', '.join(self.variables)})"

    @abstractmethod
    def update(self, program: Program, state: State, damping: float) -> State:
        """The state with this block's marginals replaced; ``damping`` 1 is the full step."""

    @abstractmethod
    def explain(self, program: Program) -> list[str]:
        """Which rule sends each message into the block, one line each."""

    def messages_into(self, variable: str, program: Program, state: State) -> list[tuple[Factor, str, Message]]:
        """Every message that meets on a variable, over the plates of its factor, with factor and port."""
        return [
            (factor, port, factor.node.message(port, program.inbox(factor, state)))
            for factor in program.graph.touching[variable]
            for port in factor.holding(variable)
        ]
