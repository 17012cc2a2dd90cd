"""How was it run?"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison import figure_data, figures
from corners.comparison.document import Picture, Section
from corners.comparison.grid import Cell, Grid, number, whole, words
from corners.comparison.palette import Style
from corners.comparison.sections._wording import listed, picture, several

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison

READING = (
    "A seed sets the initial weights and, where the data have no split of their own, the split. The test part decides "
    "nothing: training stops on the validation part, and the state with the lowest validation NLL is kept.",
    "In the training figure each panel has its own scale, and the first steps are cut off at the top. A curve that "
    "still falls at its right end was stopped by the step limit.",
)


def section(comparison: "Comparison", look: dict[str, Style]) -> Section:
    """Provenance, splits, learned hyperparameters, status of every seed, what was not run; training curves."""
    grids = [
        *_provenance_grids(comparison),
        _splits_grid(comparison),
        *_learned_grid(comparison),
        _status_grid(comparison),
        *_not_run_grid(comparison),
    ]
    pictures = tuple(_trace_picture(comparison, look))
    return Section("run", "How was it run?", _answers(comparison), tuple(grids), pictures, READING)


def _answers(comparison: "Comparison") -> tuple[str, ...]:
    source = comparison.provenance
    protocol = source.protocol.get("name", "unnamed")
    seeds = f"seed {comparison.seeds[0]}" if len(comparison.seeds) == 1 else f"{len(comparison.seeds)} seeds"
    first = (
        f"{several(len(comparison.fits), 'method')} fitted on {comparison.dataset_name} with {seeds} under protocol "
        f"{protocol}, in {duration(source.wall_seconds)}, on {source.date[:10]}."
    )
    parts = [f"{method} ({reason})" for method, reason in comparison.unavailable.items()]
    failures = len(comparison.reference_failures)
    parts += [f"{failures} of the posterior references that were asked for"] if failures else []
    return (first, f"Not run: {listed(parts)}." if parts else "Everything that was asked for was run.")


def duration(seconds: float) -> str:
    """Seconds in the unit a person would use.

    Example
    -------
    >>> duration(42.0), duration(150.0), duration(5400.0)
    ('42 seconds', '2.5 minutes', '1.5 hours')
    """
    for size, unit in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.3g} seconds"


def _provenance_grids(comparison: "Comparison") -> list[Grid]:
    source = comparison.provenance
    facts = {
        "command": source.command,
        "date": source.date,
        "wall time": duration(source.wall_seconds),
        "commit": source.commit or "not run from a checkout of the project",
        "versions": ", ".join(f"{name} {version}" for name, version in source.versions.items()),
        **source.machine,
        "seeds": "; ".join(filter(None, [", ".join(map(str, comparison.seeds)), source.seed_info])),
    }
    parts = {
        "Where the numbers come from": facts,
        "Data": comparison.dataset_description,
        "Protocol": source.protocol,
        "Settings of this comparison": source.settings,
    }
    return [_facts_grid(caption, values) for caption, values in parts.items() if values]


def _facts_grid(caption: str, facts: Mapping[str, Any]) -> Grid:
    rows = tuple((words(key.replace("_", " ")), words(plain(value))) for key, value in facts.items() if value != "")
    return Grid(caption, ("what", "value"), rows)


def plain(value: Any) -> str:
    """A setting as a person writes it.

    Example
    -------
    >>> plain(True), plain(None), plain((0.1, 1.0))
    ('yes', 'none', '0.1, 1')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return json.dumps(value, default=str, ensure_ascii=False)
    return ", ".join(plain(each) for each in value) if isinstance(value, list | tuple) else str(value)


def _splits_grid(comparison: "Comparison") -> Grid:
    rows = []
    for seed, split in zip(comparison.seeds, comparison.splits, strict=True):
        sizes = [part.targets.size for part in (split.train, split.validation, split.test)]
        rows.append((words(seed), *(whole(size) for size in sizes), words(getattr(split, "kind", "own"))))
    return Grid("Rows of every part, seed by seed", ("seed", "training", "validation", "test", "split"), tuple(rows))


def _learned_grid(comparison: "Comparison") -> list[Grid]:
    learned = {m: [comparison.fits[m].learned(k) for k in _usable(comparison, m)] for m in comparison.fits}
    names = list(dict.fromkeys(name for rows in learned.values() for row in rows for name in row))
    if not names:
        return []
    rows = tuple(
        (words(method), *(_spread([row[name] for row in rows if name in row]) for name in names))
        for method, rows in learned.items()
    )
    caption = "Learned hyperparameters: mean over seeds (lowest to highest); noise scale in units of the target"
    return [Grid(caption, ("method", *(name.replace("_", " ") for name in names)), rows)]


def _spread(values: list[float]) -> Cell:
    if not values:
        return number(None)
    mean, low, high = float(np.mean(values)), min(values), max(values)
    return (
        number(mean) if low == high else Cell(f"{number(mean).text} ({number(low).text} to {number(high).text})", mean)
    )


def _usable(comparison: "Comparison", method: str) -> list[int]:
    return [k for name, k in comparison.usable() if name == method]


def _status_grid(comparison: "Comparison") -> Grid:
    rows = []
    for method in comparison.fits:
        seeds: dict[str, list[str]] = {}
        for seed, status in zip(comparison.seeds, comparison.statuses(method), strict=True):
            seeds.setdefault(status.sentence, []).append(str(seed))
        rows += [(words(method), words(", ".join(which)), words(sentence)) for sentence, which in seeds.items()]
    return Grid("How every seed ended", ("method", "seeds", "status"), tuple(rows))


def _not_run_grid(comparison: "Comparison") -> list[Grid]:
    rows = [(words(method), words("all"), words(reason)) for method, reason in comparison.unavailable.items()]
    rows += [
        (words(f"reference for {method}"), words(seed), words(reason))
        for (method, seed), reason in comparison.reference_failures.items()
    ]
    return [Grid("Not run, and why", ("what", "seed", "reason"), tuple(rows))] if rows else []


def _trace_picture(comparison: "Comparison", look: dict[str, Style]) -> list[Picture]:
    curves = {method: figure_data.training_curves(fit) for method, fit in comparison.fits.items()}
    curves = {method: lines for method, lines in curves.items() if lines}
    if not curves:
        return []
    caption = (
        "Validation NLL while training, a line a seed; the dot is the lowest recorded value, whose state was kept. "
        "Methods that are not trained step by step have no panel."
    )
    kept = "; ".join(
        f"{method} {min(c.selected_value for c in lines):.3g} to {max(c.selected_value for c in lines):.3g}"
        for method, lines in curves.items()
    )
    drawing = figures.trace_plot(curves, look)
    return [picture("training", caption, f"Lowest validation NLL over seeds, nats per point: {kept}.", drawing)]
