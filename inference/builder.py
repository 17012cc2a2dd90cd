"""The model language: what a model function writes to, one factor a call.

``m.<letter>(name, ...)`` places a factor and returns its output. Types, plates and shapes are checked as the call is
made, and the error names the letter, the port, what it holds and what it takes.
"""

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex

from inference.distributions import Distribution
from inference.errors import SpecError
from inference.naming import meant
from inference.nodes._base import Node
from inference.placing import Labels, as_array, place, plates_of, sizes_said
from inference.registry import LETTERS
from inference.spanning import span
from inference.structure import Factor, FactorGraph, Held, Known, Plate, Variable
from inference.wiring import check_batch, check_factor, check_link, check_observable, check_types, make_node

NAME = re.compile(r"[^\s,()'\"]+")
"""What a variable may be called: anything that constraints can name."""


class Builder:
    """What a model function writes to: every letter is a method, besides ``plate``, ``data`` and ``chain``.

    Example
    -------
    >>> m = Builder("coin", {})
    >>> m.beta("bias", a=1.0, b=1.0)
    Variable('bias', probability, plates ())
    """

    def __init__(self, name: str, data: Mapping[str, Any]) -> None:
        self._name, self._data = name, data
        self._labels = Labels(data)
        self._plates: dict[str, Plate] = {}
        self._variables: dict[str, Variable] = {}
        self._factors: list[Factor] = []

    def plate(self, name: str, size: SupportsIndex) -> Plate:
        """A named plate; asking again for the same name and size returns the same plate.

        Raises
        ------
        SpecError : the size is no whole number, or the name is taken by a plate of another size.
        """
        try:
            count = None if isinstance(size, bool) else operator.index(size)
        except TypeError:
            count = None
        if count is None or not isinstance(name, str):
            raise SpecError(f"a plate is a name and a size, as in m.plate('row', len(y)); got {name!r} and {size!r}")
        return self._register(Plate(name, count))

    def data(self, name: str, values: Any, plates: Plate | tuple[Plate, ...] = ()) -> Known:
        """A known array with its plates said: its leading axes are ``plates``, an axis more is a vector.

        This is how an array enters a letter of whose plates it has not the leading ones.

        Raises
        ------
        SpecError : its leading axes do not have the sizes of the plates.
        DataError : it holds what is no finite number.
        """
        array, named = as_array(values, name), plates_of(plates)
        if array.shape[: len(named)] != tuple(p.size for p in named):
            raise SpecError(f"data {name!r} has shape {array.shape}, which does not begin with ({sizes_said(named)})")
        return Known(self._labels.of(values, name), array, named, array.shape[len(named) :])

    def chain(
        self,
        name: str,
        *,
        start: Distribution,
        step: Callable[[Variable], Mapping[str, Any]],
        length: int | Plate,
        plates: Plate | tuple[Plate, ...] = (),
    ) -> Variable:
        """A Gaussian Markov chain: ``start`` at place 0, then one factor from each place to the next.

        ``step`` is given the previous state and returns the arguments of the factor: of ``normal`` (``mean``,
        ``precision``), ``mvnormal`` (``mean``, ``matrix``, ``cov``, ...) or ``softdot`` (``w``, ``phi``, ``tau``);
        ``letter`` names another. The chain's plates are ``plates`` and then time.

        Raises
        ------
        SpecError : the length is 0, ``start`` is no Gaussian, or ``step`` returns no arguments.
        """
        time = length if isinstance(length, Plate) else self.plate(f"{name}.time", length)
        if time.size < 1:
            raise SpecError(f"chain {name!r} has length {time.size}; it needs at least its start")
        if getattr(start, "support", None) != "real":
            raise SpecError(f"chain {name!r} starts at a Gaussian, P.Normal or P.MvNormal, not at {start!r}")
        outer = plates_of(plates)
        node, _ = make_node(LETTERS.get("prior"), (start,), {})
        check_batch(node, f"{name}.start", outer)
        chain = self._add_variable(Variable(name, "real", (*outer, time), tuple(start.event_shape), chain=time))
        self._put(f"{name}.start", node, {"x": chain.at(time.name, 0)}, outer)
        if time.size > 1:
            self._step(chain, time, outer, step)
        return chain

    def _step(self, chain: Variable, time: Plate, outer: tuple[Plate, ...], step: Callable[..., Any]) -> None:
        arrows = Plate(f"{time.name}[1:]", time.size - 1)
        following = chain.at(time.name, slice(1, None), onto=arrows)
        said = step(chain.at(time.name, slice(None, -1), onto=arrows))
        if not isinstance(said, Mapping):
            raise SpecError(
                f"the step of chain {chain.name!r} returns the arguments of its letter by name, as in "
                f"dict(mean=a, precision=q); got {said!r}"
            )
        given = dict(said)
        letter = given.pop("letter", None) or _letter_of(chain, given)
        self.place(letter, f"{chain.name}.step", following, given=given, plates=(*outer, arrows), in_chain=True)

    def __getattr__(self, letter: str) -> Callable[..., Any]:
        if letter.startswith("_"):
            raise AttributeError(letter)
        if letter not in LETTERS.names():
            others = [name for name in dir(Builder) if not name.startswith("_")]
            known = [*LETTERS.names(), *others]
            raise SpecError(
                f"there is no letter {meant([letter], known)}; the letters are {', '.join(LETTERS.names())}"
            )
        return functools.partial(self._call, letter)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *LETTERS.names()]

    def _call(
        self,
        letter: str,
        name: str | Variable | tuple[str, ...],
        *args: Any,
        observed: Any = None,
        plates: Plate | tuple[Plate, ...] | None = None,
        **given: Any,
    ) -> Any:
        label = name[0] if isinstance(name, tuple) and name else name
        label = label.name if isinstance(label, Variable) else label
        if not isinstance(label, str):
            raise SpecError(f"m.{letter} takes a name first, or a variable that gets one more factor; got {name!r}")
        return self.place(letter, label, name, args, given=given, observed=observed, plates=plates)

    def place(
        self,
        letter: str,
        label: str,
        output: str | Variable | tuple[str, ...],
        args: tuple[Any, ...] = (),
        *,
        given: Mapping[str, Any],
        observed: Any = None,
        plates: Plate | tuple[Plate, ...] | None = None,
        in_chain: bool = False,
    ) -> Any:
        """Put one factor into the graph; what a letter's method does."""
        node, inputs = make_node(LETTERS.get(letter), args, given)
        label = self._unique(label)
        if observed is not None:
            check_observable(node, label, output, observed)
        inputs, output, spanned = span(f"{letter} {label!r}", inputs, output, plates)
        outer = tuple(self._register(p) for p in spanned)
        held = {p: self._held(node, label, p, v, outer, node.event_ndim(p, inputs)) for p, v in inputs.items()}
        check_types(node, label, held)
        returned = self._outputs(node, label, output, observed, held, outer)
        check_factor(node, label, held, outer, in_chain=in_chain)
        check_link(node, label, held, self._factors)
        self._put(label, node, {p: held[p] for p in node.ports}, outer)
        return returned

    def _held(self, node: Node, label: str, port: str, value: Any, plates: tuple[Plate, ...], event_ndim: int) -> Held:
        if isinstance(value, Variable):
            return self._own(value)
        output = port in node.outputs
        name = (
            value.label if isinstance(value, Known) else self._labels.of(value, label if output else f"{label}.{port}")
        )
        where = f"{node.letter} {label!r}, port {port}"
        return place(where, name, value, node.port_types()[port], event_ndim, plates)

    def _outputs(
        self, node: Node, label: str, output: Any, observed: Any, held: dict[str, Held], plates: tuple[Plate, ...]
    ) -> Any:
        names = (output,) if isinstance(output, str | Variable) else tuple(output)
        if len(names) != len(node.outputs):
            raise SpecError(f"{node.letter} makes {len(node.outputs)} variables {node.outputs}; got names {names}")
        for port, name in zip(node.outputs, names, strict=True):
            event = node.output_event(port, held)
            if observed is not None:
                held[port] = self._held(node, label, port, observed, plates, len(event))
            elif isinstance(name, Variable):
                held[port] = self._own(name)
            else:
                held[port] = self._add_variable(Variable(name, node.port_types()[port], plates, event))
            if held[port].event != event:
                kind = "observed values have" if observed is not None else f"variable {label!r} has"
                raise SpecError(
                    f"{node.letter} {label!r} makes an event of shape {event}; the {kind} {held[port].event}"
                )
        made = [held[port] for port in node.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    def _own(self, variable: Variable) -> Variable:
        if self._variables.get(variable.name) is not variable.root:
            raise SpecError(
                f"{variable!r} is not of this model, so nothing closes it; make it with a letter of the same builder"
            )
        return variable

    def _register(self, plate: Plate) -> Plate:
        known = self._plates.setdefault(plate.name, plate)
        if known.size != plate.size:
            raise SpecError(f"plate {plate.name!r} has size {known.size}, not {plate.size}; use another name")
        return known

    def _add_variable(self, variable: Variable) -> Variable:
        if not isinstance(variable.name, str) or not NAME.fullmatch(variable.name):
            raise SpecError(f"{variable.name!r} is no name; leave out spaces, commas, brackets and quotes")
        if variable.name in self._variables:
            raise SpecError(f"there are two variables {variable.name!r}; every name is used once")
        self._variables[variable.name] = variable
        return variable

    def _unique(self, label: str) -> str:
        taken = {f.name for f in self._factors}
        return next(n for k in range(len(taken) + 1) if (n := label if k == 0 else f"{label}#{k + 1}") not in taken)

    def _put(self, name: str, node: Node, ports: Mapping[str, Held], plates: tuple[Plate, ...]) -> None:
        self._factors.append(Factor(name, node, ports, tuple(self._register(p) for p in plates)))

    def graph(self) -> FactorGraph:
        """The graph written so far."""
        return FactorGraph(self._name, dict(self._plates), dict(self._variables), tuple(self._factors), self._data)


def _letter_of(chain: Variable, arguments: Mapping[str, Any]) -> str:
    if {"w", "phi"} & set(arguments):
        return "softdot"
    return "mvnormal" if chain.event else "normal"
