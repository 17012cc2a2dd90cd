"""Names that were meant: what is said to someone who misspelled one."""

import difflib
from collections.abc import Iterable


def meant(given: Iterable[object], known: Iterable[str]) -> str:
    """The names that were given, each with the closest known one where there is one that close.

    Example
    -------
    >>> meant(["taux", "q"], ["tau", "weights"])
    "'taux' (did you mean 'tau'?), 'q'"
    """
    there = list(known)
    return ", ".join(repr(name) + _suggestion(str(name), there) for name in given)


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1) or difflib.get_close_matches(
        name.lower(), [k for k in known if k.lower() == k], n=1
    )
    return f" (did you mean {close[0]!r}?)" if close else ""
