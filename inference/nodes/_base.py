"""The contract of a factor node: what its author writes so that a model can use the letter.

A node is a frozen dataclass; its fields are the constants of the letter. Its rules are pure functions of the moments
of its ports. ``log_density`` is the one line everything else follows from, and what :func:`inference.check_node`
judges the rules by.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inference.distributions import Distribution
from inference.errors import NoRule, SpecError
from inference.inbox import Inbox
from inference.structure import TYPES, Held, Variable
from inference.terms import Quantity
from inference.types import Values

Message = tuple[Quantity, ...]


@dataclass(frozen=True, eq=False)
class Linear:
    """A factor as exp(-t/2 ||output - coefficient input - offset||^2 - input' extra input / 2), up to a constant.

    ``coefficient`` is a scalar or a vector where the output is a scalar (``precision`` is then t, over plates), and a
    matrix where the output is a vector (``precision`` is then a matrix). ``extra`` is the precision that an uncertain
    coefficient adds to the input, or None.
    """

    output: str
    input: str
    coefficient: Values
    precision: Values
    offset: Values | None = None
    extra: Values | None = None
    kept: Any = None
    vector_input: bool = False
    vector_output: bool = False


@dataclass(frozen=True, eq=False)
class Match:
    """What a factor sends by moment matching: a Gaussian in natural coefficients, and log Z of factor times cavity."""

    linear: Values
    precision: Values
    log_normaliser: Values


class Node(ABC):
    """A factor node.

    Class attributes
    ----------------
    letter : the builder method, ``m.<letter>(...)``
    ports : port name to type (``real``, ``positive``, ``probability``, ``binary``), in the order of the arguments
    outputs : the ports a call makes; the first is the one it returns
    kind : ``stochastic`` or ``deterministic``
    may_miss : the ports where a known value may be NaN; the factor is dropped there and the value predicted
    couples : the sets of ports that may be in one cluster, because `linear` or `joint_message` has a rule for them
    matches : the Gaussian port to which it sends by moment matching (`match`), where the true message is no Gaussian
    """

    letter: ClassVar[str]
    ports: ClassVar[Mapping[str, str]]
    outputs: ClassVar[tuple[str, ...]]
    kind: ClassVar[str] = "stochastic"
    may_miss: ClassVar[tuple[str, ...]] = ()
    couples: ClassVar[tuple[frozenset[str], ...]] = ()
    matches: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def check_declaration(cls) -> None:
        """Refuse a class whose ports, types or outputs do not fit together."""
        wrong = {t for t in cls.ports.values() if t not in TYPES}
        if wrong:
            raise SpecError(f"{cls.__name__} declares port types {sorted(wrong)}; the types are {', '.join(TYPES)}")
        strangers = {*cls.outputs, *cls.may_miss} - set(cls.ports)
        if strangers or not cls.outputs:
            raise SpecError(f"{cls.__name__} names {sorted(strangers) or 'no output'}; its ports are {list(cls.ports)}")
        if cls.kind not in ("stochastic", "deterministic"):
            raise SpecError(f"{cls.__name__} is of kind {cls.kind!r}; the kinds are stochastic and deterministic")

    @classmethod
    def arguments(cls, *args: Any, **given: Any) -> dict[str, Any]:
        """The call's arguments by name: ports first, in their order, then the constants of the node."""
        names = [port for port in cls.ports if port not in cls.outputs]
        return cls.by_name(names, args, given)

    @classmethod
    def by_name(cls, names: Sequence[str], args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by place joined with those by name.

        Raises
        ------
        SpecError : too many by place, or one both by place and by name.
        """
        if len(args) > len(names):
            raise SpecError(f"{cls.letter} takes {len(names)} arguments by place ({', '.join(names)}), not {len(args)}")
        by_place = dict(zip(names, args, strict=False))
        twice = [name for name in by_place if name in given]
        if twice:
            raise SpecError(f"{cls.letter} is given {', '.join(twice)} both by place and by name")
        return {**by_place, **given}

    @classmethod
    def examples(cls) -> tuple[Mapping[str, Any], ...]:
        """Calls by which the laws judge the letter: its constants; an input port that is left out gets a variable."""
        return ({},)

    def port_types(self) -> Mapping[str, str]:
        """The type of each port; a node whose type depends on its constants says so here."""
        return self.ports

    def event_ndim(self, port: str, held: Mapping[str, Any]) -> int:
        """How many event axes a known array at this port has; ``held`` is what the ports were given."""
        return 0

    def output_event(self, port: str, held: Mapping[str, Held]) -> tuple[int, ...]:
        """The event shape of an output."""
        return ()

    @abstractmethod
    def log_density(self, values: Mapping[str, Values]) -> Values:
        """log f at a point, arrays broadcast over leading axes."""

    @abstractmethod
    def message(self, port: str, q: Inbox) -> Message:
        """The mean-field message toward ``port``, E[log f] over the others, as natural coefficients over the plates."""

    @abstractmethod
    def average_energy(self, q: Inbox) -> Quantity:
        """U = -E log f over the plates."""

    def linear(self, ports: frozenset[str], q: Inbox) -> Linear:
        """The factor as a Gaussian potential on two ports of one structured cluster."""
        raise self.no_rule(f"the joint of {sorted(ports)}", "a Gaussian cluster")

    def joint_message(self, ports: frozenset[str], q: Inbox) -> Message:
        """The message toward a normal-gamma pair: (linear, precision, log coefficient, rate)."""
        raise self.no_rule(f"the joint of {sorted(ports)}", "a normal-gamma pair")

    def match(self, port: str, q: Inbox, mean: Values, var: Values) -> Match:
        """The Gaussian that with the cavity N(mean, var) of ``port`` has the moments of factor times cavity."""
        raise self.no_rule(port, "its cavity, by moment matching")

    def forward(self, port: str, q: Inbox) -> Distribution:
        """The message toward ``port`` that keeps the Gaussian ports' uncertainty; used to start and to predict."""
        raise self.no_rule(port, "the marginals of the other ports, forward")

    def sample(
        self, values: Mapping[str, Values], shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Values]:
        """A draw of the outputs given the other ports, of plates ``shape``."""
        raise SpecError(f"the letter {self.letter!r} cannot be simulated; give it a `sample` method")

    def no_rule(self, port: str, given: str) -> NoRule:
        """The error of a missing rule: node, port, what was given, what exists, what would help."""
        joint = "; ".join(f"joint of ({', '.join(p for p in self.ports if p in c)})" for c in self.couples)
        return NoRule(
            f"{self.letter} has no rule toward {port} given {given}. Rules that exist: mean field toward "
            f"{', '.join(self.ports)}{'; ' + joint if joint else ''}. A constraint that helps: keep the variables at "
            "these ports apart, with MeanField() or q(a)q(b)"
        )


def is_vector(held: Any) -> bool:
    """Whether what a port was given is a vector: a variable with an event, or an array with an axis."""
    return bool(held.event) if isinstance(held, Variable) else np.ndim(held) > 0
