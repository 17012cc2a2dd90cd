"""Values of a study file as the annotations of a dataclass want them: protocols and options of methods."""

import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from corners.errors import SpecError
from corners.registry import unknown_name_message

NONE = "none"
"""How a study file says ``None``, for which TOML has no value."""
PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
WORDS = PLAIN | {dict: "a table"}


def settable(kind: type) -> dict[str, Any]:
    """Fields of a dataclass that a study file can set, with their annotations; ``name`` is not one of them.

    Example
    -------
    >>> from corners.protocols import Protocol
    >>> settable(Protocol)["patience"]
    <class 'int'>
    """
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind) if each.name != "name" and _plain(hints[each.name])}


def checked_choices(where: str, what: str, given: Mapping[str, Any], allowed: Mapping[str, Any]) -> dict[str, Any]:
    """The given values, each as its annotation wants it: lists as tuples, whole numbers as floats.

    Parameters
    ----------
    where : part of the study file, for messages.  what : what a key is called in them.
    allowed : annotations by key.

    Raises
    ------
    SpecError : another key, or a value of another type; the message names the key and what is allowed.

    Example
    -------
    >>> allowed = {"grid": tuple[float, ...], "batch_size": int | None}
    >>> checked_choices("protocol", "choice", {"grid": [1], "batch_size": "none"}, allowed)
    {'grid': (1.0,), 'batch_size': None}
    """
    for key in given:
        if key not in allowed:
            raise SpecError(f"{where}: {unknown_name_message(what, key, list(allowed))}")
    return {key: _checked(f"{where}, {key}", value, allowed[key]) for key, value in given.items()}


def _checked(where: str, value: Any, annotation: Any) -> Any:
    for member in _members(annotation):
        accepted, converted = _converted(value, member)
        if accepted:
            return converted
    allowed = " or ".join(_words(member) for member in _members(annotation))
    raise SpecError(f"{where}: got {value!r}; allowed is {allowed}")


def _converted(value: Any, annotation: Any) -> tuple[bool, Any]:
    """Whether the value is of that kind, and the value as that kind."""
    if annotation is type(None):
        return value == NONE, None
    if get_origin(annotation) is Literal:
        return value in get_args(annotation), value
    if annotation is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number, float(value) if number else None
    if annotation in WORDS:
        return isinstance(value, annotation) and (annotation is bool or not isinstance(value, bool)), value
    return _converted_list(value, get_args(annotation))


def _converted_list(value: Any, members: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, list | tuple):
        return False, None
    kinds = [members[0]] * len(value) if members[-1] is Ellipsis else list(members)
    pairs = [_converted(each, kind) for each, kind in zip(value, kinds, strict=False)]
    return len(kinds) == len(value) and all(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def _members(annotation: Any) -> list[Any]:
    """Members of a union, ``None`` first: its word would else be taken for a text."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return [annotation]
    return sorted(get_args(annotation), key=lambda member: member is not type(None))


def _plain(annotation: Any) -> bool:
    """Whether a study file has values of that kind."""
    if get_origin(annotation) in (Union, types.UnionType):
        return all(_plain(member) for member in get_args(annotation))
    if get_origin(annotation) is tuple:
        return all(member is Ellipsis or member in PLAIN for member in get_args(annotation))
    return annotation is type(None) or annotation in PLAIN or get_origin(annotation) is Literal


def _words(annotation: Any) -> str:
    if annotation is type(None):
        return f'"{NONE}"'
    if get_origin(annotation) is Literal:
        return ", ".join(repr(each) for each in get_args(annotation))
    if get_origin(annotation) is tuple:
        members = get_args(annotation)
        count = "" if members[-1] is Ellipsis else f" of {len(members)}"
        return f"a list{count}, each {_words(members[0])}"
    return WORDS[annotation]
