"""How was it run? Every choice of the protocol, rows, seeds, versions, commits, dates, machines and time."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from corners.comparison.document import Section
from corners.comparison.grid import Grid, number, whole, words
from corners.comparison.sections._wording import listed, several
from corners.protocols import PROTOCOLS, Protocol, get_protocol
from corners.study.heads import Head
from corners.study.sections._view import View

ALL, DIGITS = 99, 12
NONE = "none"
READING = (
    "The study file beside this report holds the same choices; with it and the commits above, corners run gives these "
    "numbers again, up to the last digits that another processor or library rounds differently.",
)


def section(view: View) -> Section:
    """Protocol, rows, data sets, then where the numbers come from."""
    grids = (
        _protocol_grid(view.study.protocol),
        _rows_grid(view),
        *_datasets_grid(view),
        *_environment_grids(view),
        *_seconds_grid(view),
    )
    return Section("protocol", "How was it run?", _answers(view), grids, (), READING)


def shown(value: Any) -> str:
    """A choice as a study file would have it.

    Example
    -------
    >>> shown((0.1, 1.0)), shown(None), shown(True), shown({"jitter": 1e-3})
    ('0.1, 1', 'none', 'yes', 'jitter = 0.001')
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} = {shown(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def meanings() -> dict[str, str]:
    """What each choice of a protocol means, from the documentation of :class:`Protocol`, in which some share a text."""
    found: dict[str, str] = {}
    for names, text in re.findall(r"^([a-z_, ]+) : (.+(?:\n    .+)*)", inspect.getdoc(Protocol) or "", re.MULTILINE):
        first, *others = (name.strip() for name in names.split(","))
        found |= {first: " ".join(text.replace("``", "").split()), **dict.fromkeys(others, f"see {first}")}
    return found


def _protocol_grid(protocol: Protocol) -> Grid:
    said, plain = meanings(), get_protocol("default").to_dict()
    rows = tuple(
        (words(name), words(shown(value)), words(shown(plain[name])), words(said.get(name, "")))
        for name, value in protocol.to_dict().items()
        if name != "name"
    )
    known = f"; named protocols are {listed(sorted(PROTOCOLS))}"
    caption = f"Every choice of the protocol {protocol.name}{known}"
    return Grid(caption, ("choice", "here", "in default", "what it is"), rows)


def _rows_grid(view: View) -> Grid:
    rows = []
    for row in view.rows:
        hidden = view.study.hidden if row.hidden is None else row.hidden
        changes = [*_head_words(row.head), *(["one prior precision for all classes"] if row.shared_precision else [])]
        changes += [shown(each) for each in (row.options, row.protocol) if each]
        rows.append(
            (
                words(view.labels[row.name]),
                words(row.name),
                words(row.method),
                words("-".join(map(str, hidden)) or "linear"),
                words("; ".join(changes) or "–"),
                words(row.published or "–"),
            )
        )
    headings = ("row", "name", "method", "hidden units", "its own choices", "published as")
    return Grid("Rows of the study", headings, tuple(rows))


def _heads(view: View) -> tuple[str, ...]:
    """Which head a cell has where nothing names one; of regression alone there is nothing to say."""
    if view.study.head is not None:
        return (
            f"Head of the cells where no row or data set names another: {'; '.join(_head_words(view.study.head))}.",
        )
    if not view.tasks - {"regression"}:
        return ()
    return (
        "Cells have the head of their table where nothing names one: Gaussian for numbers, Poisson for counts, probit "
        "for two classes, one-versus-all for more.",
    )


def _head_words(head: Head | None) -> list[str]:
    """The head with its options, where one is named."""
    if head is None:
        return []
    named = [f"head = {shown(head.name)}"] if head.name is not None else []
    return [*named, *([shown(head.options)] if head.options else [])]


def _datasets_grid(view: View) -> tuple[Grid, ...]:
    rows = []
    for dataset in view.study.datasets:
        spec = view.study.dataset(dataset)
        seeds = sorted({len(view.study.seeds_of(dataset, row.name)) for row in view.study.rows_of(dataset)})
        changes = [*_head_words(spec.head), *([shown(spec.protocol)] if spec.protocol else [])]
        changes += ["features are the inputs"] if spec.backbone == "identity" else []
        points = view.results.frame.loc[view.results.frame["dataset"] == dataset, "n_test"]
        tested = whole(float(points.median())) if len(points) else number(None)
        count = whole(len(view.study.rows_of(dataset)))
        counts = words(listed([str(n) for n in seeds], ALL))
        rows.append(
            (words(dataset), tested, count, counts, words("; ".join(changes) or "–"), words(_data(view, dataset)))
        )
    headings = ("data set", "test points", "rows", "seeds a row", "its own choices", "sha256 of the table")
    return (Grid("Data sets of the study", headings, tuple(rows)),)


def _data(view: View, dataset: str) -> str:
    """What the table was when it was run, by the first digits of its hash; more than one where it changed since."""
    cells = view.results.provenance.get("cells", {}).values()
    found = dict.fromkeys(str(cell.get("data", ""))[:DIGITS] for cell in cells if cell["dataset"] == dataset)
    return listed([text for text in found if text], ALL) or "–"


def _environment_grids(view: View) -> tuple[Grid, ...]:
    environments: Sequence[Mapping[str, Any]] = view.results.provenance.get("environments", ())
    grids = []
    for place, environment in enumerate(environments):
        facts = {**environment.get("machine", {}), **environment.get("versions", {})}
        rows = tuple((words(name), words(value)) for name, value in facts.items())
        which = f" {place + 1} of {len(environments)}" if len(environments) > 1 else ""
        grids.append(Grid(f"Machine and versions{which}", ("what", "which"), rows))
    return tuple(grids)


def _seconds_grid(view: View) -> tuple[Grid, ...]:
    seconds: Mapping[str, Mapping[str, float]] = view.results.provenance.get("wall_seconds", {})
    rows = tuple(
        (words(dataset), number(sum(seconds[dataset].values()), 3))
        for dataset in view.study.datasets
        if dataset in seconds
    )
    caption = "Wall seconds of all cells, fits and predictions together"
    return (Grid(caption, ("data set", "seconds"), rows),)[: len(rows)]


def _answers(view: View) -> tuple[str, ...]:
    study, facts = view.study, view.results.provenance
    seconds = sum(sum(rows.values()) for rows in facts.get("wall_seconds", {}).values())
    dates, commits = facts.get("dates", {}), list(facts.get("commits", ()))
    first, last = str(dates.get("first", ""))[:10], str(dates.get("last", ""))[:10]
    when = (
        f"run between {first} and {last}" if first != last else f"run on {first}" if first else "run on unknown dates"
    )
    source = f"at commit{'s' * (len(commits) > 1)} {listed(commits, ALL)}" if commits else "outside a checkout"
    return (
        f"{several(len(study.rows), 'row')} on {several(len(study.datasets), 'data set')} under the protocol "
        f"{study.protocol.name}, seeds {study.seeds[0]} to {study.seeds[-1]} where nothing else is said; each seed "
        "sets the split, where a data set has none of its own, and the initial weights.",
        *_heads(view),
        f"{several(len(view.results.frame), 'fit')}, {when} {source}; {number(seconds / 3600.0, 2).text} hours of wall "
        "time over all cells.",
    )
