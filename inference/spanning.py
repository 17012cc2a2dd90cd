"""Over which plates a factor is repeated: those it is given, else all plates of what it holds."""

from collections.abc import Mapping
from typing import Any

from inference.errors import SpecError
from inference.placing import plates_of, sizes_said
from inference.structure import Known, Plate, Variable


def span(
    where: str, inputs: Mapping[str, Any], output: Any, plates: Any
) -> tuple[dict[str, Any], Any, tuple[Plate, ...]]:
    """The inputs and the output of a factor with every index running over a plate of it, and its plates.

    Raises
    ------
    SpecError : something held has a plate that the factor lacks, or an index may run over several of its plates.

    Example
    -------
    >>> row, school = Plate("row", 3), Plate("school", 2)
    >>> effect = Variable("effect", "real", (school,))
    >>> span("normal 'y'", {"mean": effect[[0, 1, 1]]}, "y", row)[0]["mean"].plates
    (Plate(name='row', size=3),)
    """
    said = None if plates is None else plates_of(plates)
    inputs = {p: _along(v, said) for p, v in inputs.items()}
    output = _along(output, said)
    held = [v for v in (*inputs.values(), output) if isinstance(v, Variable | Known)]
    union = {p.name: p for v in held for p in v.plates}
    _one_unnamed(where, held)
    if said is None:
        return inputs, output, tuple(union.values())
    lost = tuple(p for name, p in union.items() if name not in {q.name for q in said})
    if lost:
        raise SpecError(
            f"{where} is over plates ({sizes_said(said)}), but what it holds has also ({sizes_said(lost)}); a factor "
            "is repeated over every plate of its ports: add them to plates="
        )
    return inputs, output, said


def _along(held: Any, plates: tuple[Plate, ...] | None) -> Any:
    """A view whose index was not said to run over a plate, over the one of these that has its length."""
    if plates is None or not isinstance(held, Variable) or held.gather is None or held.gather.target is None:
        return held
    target, own = held.gather.target, {p.name for p in held.plates}
    if not held.gather.unnamed or target.name in {p.name for p in plates}:
        return held
    fits = tuple(p for p in plates if p.size == target.size and p.name not in own)
    if len(fits) > 1:
        raise SpecError(
            f"the index into {held.name!r} has {target.size} places, which fits the plates ({sizes_said(fits)}); say "
            f"which: {held.name}.at({held.gather.source.name!r}, index, onto=plate)"
        )
    return held.along(fits[0]) if fits else held


def _one_unnamed(where: str, held: list[Any]) -> None:
    views = [v for v in held if isinstance(v, Variable) and v.gather is not None and v.gather.unnamed]
    names = {v.gather.target.name: v.name for v in views if v.gather is not None and v.gather.target is not None}
    if len(names) > 1:
        raise SpecError(
            f"{where}: it is not said that the indices into {' and '.join(names.values())} run over one plate; pass "
            "plates=, or name the plate: x.at(plate, index, onto=plate)"
        )
