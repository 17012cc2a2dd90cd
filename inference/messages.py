"""The messages into a variable, one factor at a time or all but one: what a leave-one-out check needs."""

from dataclasses import dataclass

import numpy as np

from inference.distributions import Distribution, Normal
from inference.errors import SpecError
from inference.families import Naturals, flat, marginal
from inference.matching import cavity
from inference.nodes._base import Message
from inference.program import Program, State
from inference.structure import Factor, Variable
from inference.types import Values


@dataclass(frozen=True, eq=False)
class VariableMessages:
    """The messages that meet on one variable."""

    variable: Variable
    program: Program
    messages: tuple[tuple[Factor, str, Message], ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors they come from."""
        return tuple(factor.name for factor, _, _ in self.messages)

    def naturals(self, factor: str) -> Naturals:
        """The natural coefficients that a factor sends, summed to the variable's plates."""
        chosen = [m for m in self.messages if m[0].name == factor]
        if not chosen:
            raise SpecError(f"no factor {factor!r} sends to {self.variable.name!r}; those that do: {self.factors}")
        return self._product(chosen, None, 0)

    def cavity(self, row: int, plate: str | None = None) -> Distribution:
        """The product of all messages but those of one row of a plate that the variable lacks (message_passing 5.1).

        The sum runs over the other rows; nothing is subtracted, so no digits are lost.

        Raises
        ------
        SpecError : no such plate or row, or several plates to choose from.
        ImproperMarginal : the other rows leave the variable improper.
        """
        own = {p.name for p in self.variable.plates}
        plates = {p.name: p for f, _, _ in self.messages for p in f.plates if p.name not in own}
        if plate is None and len(plates) == 1:
            (plate,) = plates
        if plate not in plates:
            raise SpecError(
                f"a row of which plate of {self.variable.name!r} is left out? Say plate=, one of {list(plates)}"
            )
        size = plates[plate].size
        if not -size <= row < size:
            raise SpecError(f"row {row} is outside plate {plate!r} of size {size}")
        return marginal(self.variable, self._product(list(self.messages), plate, row % size))

    def _product(self, messages: list[tuple[Factor, str, Message]], plate: str | None, row: int) -> Naturals:
        out = flat(self.variable)
        for factor, port, message in messages:
            mask = None if plate is None else _without(factor, plate, row)
            part = self.program.reduce(factor, port, message, mask)
            out = tuple(a + b for a, b in zip(out, part, strict=True))
        return out


class Messages:
    """``result.messages[name]``."""

    def __init__(self, program: Program, state: State) -> None:
        self._program, self._state = program, state

    def __getitem__(self, variable: str) -> VariableMessages:
        graph = self._program.graph
        if variable not in graph.variables:
            raise SpecError(f"there is no variable {variable!r}; the variables are {', '.join(graph.variables)}")
        block = next(b for b in self._program.blocks if variable in b.variables)
        found = tuple(block.messages_into(variable, self._program, self._state))
        return VariableMessages(graph.variables[variable], self._program, found)

    def without(self, factor: str) -> Normal:
        """The marginal at the port of a moment-matched factor without its message: what all other data say there.

        It is over the plates of the factor, so that entry n is the leave-one-out belief of datum n under expectation
        propagation. Entries where the datum is missing hold the marginal itself.

        Raises
        ------
        SpecError : the factor sent no message by moment matching; the text lists those that did.
        """
        sent = self._state.matched
        if factor not in sent:
            raise SpecError(
                f"no message of {factor!r} is moment-matched; those that are: {', '.join(sent) or 'none in this model'}"
            )
        found = next(f for f in self._program.graph.factors if f.name == factor)
        mean, var = cavity(found, found.node.matches[0], self._program.inbox(found, self._state), sent[factor])
        return Normal._trusted(mean=mean, var=var)


def _without(factor: Factor, plate: str, row: int) -> Values | None:
    names = [p.name for p in factor.plates]
    if plate not in names:
        return None
    shape = [1] * len(names)
    shape[names.index(plate)] = factor.plates[names.index(plate)].size
    mask = np.ones(shape)
    mask.reshape(-1)[row] = 0.0
    return mask
