"""``load(name)``: the folder, what is embedded or drawn, then OpenML (its cache first)."""

import inspect
from pathlib import Path
from typing import Any

from corners.data.aliases import canonical_name
from corners.data.catalogue import CATALOGUE
from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.data.sources.folder import FolderSource
from corners.errors import CornersError, DataError, SpecError, UnknownNameError
from corners.registry import unknown_name_message


def load(name: str, *, folder: str | Path | None = None, source: str | None = None, **options: Any) -> Dataset:
    """The table called ``name``; published names (wine, blood, credit-g, heart, bostonHousing, ...) are understood.

    Looks in the folder $CORNERS_DATA, then among the embedded and the synthetic tables, then on OpenML where the id is
    known (in scikit-learn's cache first).

    Parameters
    ----------
    folder : look only there instead.
    source : ask only this one: "folder", "embedded", "synthetic", "openml".
    options : of the source, such as ``categorical="text"`` (folder, OpenML) or ``n=300, seed=0`` (synthetic).

    Raises
    ------
    UnknownNameError : lists the known names.  SpecError : an option that the source does not have.
    DataError : the name is known, but the table is not to be had; the message says what to do.

    Example
    -------
    >>> load("sine", n=50, seed=1)
    Dataset('sine', regression, n=50, d=1, target='y')
    """
    sources = _sources(folder, source)
    for wanted in dict.fromkeys((name, canonical_name(name))):
        for which, candidate in sources.items():
            if any(entry.name == wanted for entry in candidate.entries()):
                return _load_from(which, candidate, wanted, options)
    raise _not_found(name, sources)


def available(folder: str | Path | None = None) -> list[Entry]:
    """What ``load`` can find, by name, each with the source that would be used; nothing heavy is imported.

    Example
    -------
    >>> [(e.name, e.source, e.n, e.d) for e in available() if e.name == "diabetes"]
    [('diabetes', 'embedded', 442, 10)]
    """
    sources = list(_sources(None, None).values())
    if folder is not None:
        sources = [FolderSource(Path(folder)), *(each for each in sources if not isinstance(each, FolderSource))]
    found: dict[str, Entry] = {}
    for entry in (entry for each in sources for entry in each.entries()):
        found.setdefault(entry.name, entry)
    return [found[name] for name in sorted(found)]


def _sources(folder: str | Path | None, only: str | None) -> dict[str, Source]:
    """The sources to ask, in their order."""
    if folder is not None:
        if only not in (None, "folder"):
            raise SpecError(f"folder={str(folder)!r} and source={only!r} contradict each other; give one of them")
        return {"folder": FolderSource(Path(folder))}
    classes = {name: SOURCES.get(name) for name in (SOURCES.names() if only is None else [only])}
    default = {name: classes[name].default() for name in sorted(classes, key=lambda name: classes[name].order)}
    if only is not None and default[only] is None:
        raise DataError(f"source {only!r} is not set up; for the folder, set CORNERS_DATA or give folder=...")
    return {name: made for name, made in default.items() if made is not None}


def _load_from(which: str, source: Source, name: str, options: dict[str, Any]) -> Dataset:
    allowed = [key for key in inspect.signature(source.load).parameters if key != "name"]
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise SpecError(
            f"{name!r} from source {which!r} has no option {unknown[0]!r}; it has: {', '.join(allowed) or 'none'}"
        )
    return source.load(name, **options)


def _not_found(name: str, sources: dict[str, Source]) -> CornersError:
    """What to do where the name is known, else which names are."""
    ours = canonical_name(name)
    for candidate in sources.values():
        if len(sources) == 1 or (isinstance(candidate, FolderSource) and candidate.holds(name)):
            return _own_refusal(candidate, ours if ours in CATALOGUE else name)
    if ours in CATALOGUE:
        table = CATALOGUE[ours]
        return DataError(
            f"{ours!r} ({table.n} rows, {table.d} columns) is known but not here, and OpenML has no table that is "
            "known to be the same; set CORNERS_DATA to a folder whose MANIFEST.json lists it"
        )
    known = {entry.name for candidate in sources.values() for entry in candidate.entries()} | set(CATALOGUE)
    return UnknownNameError(unknown_name_message("data set", name, sorted(known)))


def _own_refusal(source: Source, name: str) -> CornersError:
    """The error with which the source itself refuses the name: it knows best what it has."""
    try:
        source.load(name)
    except CornersError as refusal:
        return refusal
    return UnknownNameError(f"{name!r} is not among the tables that {type(source).__name__} lists, although it loads")
