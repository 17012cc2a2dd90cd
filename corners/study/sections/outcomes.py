"""How did the runs end? Status codes, remarks, what could not run and why, and what is still missing."""

from collections import Counter

from corners.comparison.document import Section
from corners.comparison.grid import Grid, whole, words
from corners.comparison.outcomes import SHORT_STATUS
from corners.comparison.sections._wording import listed, several
from corners.method import STATUS_SENTENCES
from corners.study.results import OUTDATED
from corners.study.sections._tables import sentence_case
from corners.study.sections._view import View

ALL = 99
USELESS = ("failed", "not_started")
READING = ("A seed that failed has no score and is left out of every mean and test of its row.",)


def section(view: View) -> Section:
    """Codes a row, remarks, failures, and what the study plans but nobody ran."""
    counts = _codes(view)
    grids = (_codes_grid(view, counts), *_remarks_grid(view), *_failures_grid(view), *_missing_grid(view))
    return Section("outcomes", "How did the runs end?", _answers(view, counts), grids, (), READING)


def words_of(code: str) -> str:
    """A status code in a few words."""
    sentence = SHORT_STATUS.get(code, STATUS_SENTENCES.get(code, code.replace("_", " ")))
    return sentence.partition(":")[0].partition(";")[0]


def remarks_of(code: str, sentence: str) -> list[str]:
    """What a status says after the words of its code, without the numbers of single seeds.

    Example
    -------
    >>> remarks_of("converged", "converged; noise collapsed: share 0.01; penalty at the edge of its grid (10)")
    ['noise collapsed', 'penalty at the edge of its grid']
    """
    rest = sentence.removeprefix(STATUS_SENTENCES.get(code, "")).lstrip()
    if rest.startswith("("):
        rest = rest.partition("); ")[2]
    heads = [part.partition(":")[0].partition(",")[0].partition(" (")[0].strip() for part in rest.split("; ")]
    return list(dict.fromkeys(head for head in heads if head))


def _codes(view: View) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row, code in zip(view.results.frame["row"], view.results.frame["code"], strict=True):
        found.setdefault(row, Counter())[code] += 1
    return {row.name: found[row.name] for row in view.rows if row.name in found}


def _codes_grid(view: View, counts: dict[str, Counter[str]]) -> Grid:
    total: Counter[str] = sum(counts.values(), Counter())
    codes = [code for code, _ in total.most_common()]
    rows = tuple(
        (words(view.labels[row]), whole(found.total()), *(whole(found[code]) for code in codes))
        for row, found in counts.items()
    )
    caption = "Seeds by how their training ended, over all data sets"
    return Grid(caption, ("row", "seeds", *map(words_of, codes)), rows)


def _remarks_grid(view: View) -> tuple[Grid, ...]:
    """By remark and row: on which data sets, how often."""
    found: dict[tuple[str, str], Counter[str]] = {}
    frame = view.results.frame
    for dataset, row, code, status in zip(frame["dataset"], frame["row"], frame["code"], frame["status"], strict=True):
        for remark in remarks_of(code, status):
            found.setdefault((remark, row), Counter())[dataset] += 1
    order = {row.name: place for place, row in enumerate(view.rows)}
    rows = tuple(
        (
            words(sentence_case(remark)),
            words(view.labels.get(row, row)),
            whole(places.total()),
            words(", ".join(f"{dataset} {places[dataset]}" for dataset in view.study.datasets if places[dataset])),
        )
        for (remark, row), places in sorted(found.items(), key=lambda item: (item[0][0], order.get(item[0][1], 0)))
    )
    caption = "Remarks of the fits: on how many seeds, and where"
    return (Grid(caption, ("remark", "row", "seeds", "data sets"), rows),)[: len(rows)]


def _failures_grid(view: View) -> tuple[Grid, ...]:
    """By row and reason; the data sets that share it stand together."""
    found: dict[tuple[str, str], list[str]] = {}
    for failure in view.results.failures:
        found.setdefault((failure.row, failure.reason), []).append(failure.dataset)
    rows = tuple(
        (words(view.labels.get(row, row)), words(listed(list(dict.fromkeys(places)), ALL)), words(reason))
        for (row, reason), places in found.items()
    )
    return (Grid("Rows that could not run", ("row", "data sets", "unavailable: reason"), rows),)[: len(rows)]


def missing(view: View) -> dict[str, dict[str, int]]:
    """Seeds that the study plans and nobody ran, by row and data set."""
    found: dict[str, dict[str, int]] = {}
    for row in view.rows:
        for dataset in view.datasets(row):
            planned = set(view.study.seeds_of(dataset, row.name))
            count = len(planned - set(view.results.seeds(dataset, row.name)))
            if count:
                found.setdefault(row.name, {})[dataset] = count
    return found


def _missing_grid(view: View) -> tuple[Grid, ...]:
    rows = tuple(
        (
            words(view.labels[row]),
            whole(sum(places.values())),
            words(", ".join(f"{dataset} {count}" for dataset, count in places.items())),
        )
        for row, places in missing(view).items()
    )
    return (Grid("Planned and without a result", ("row", "seeds", "data sets"), rows),)[: len(rows)]


def _answers(view: View, counts: dict[str, Counter[str]]) -> tuple[str, ...]:
    total: Counter[str] = sum(counts.values(), Counter())
    ends = listed([f"{count} {words_of(code)}" for code, count in total.most_common()], ALL)
    said = [f"Of {several(total.total(), 'fit')}: {ends}."] if total else ["No fit has a result."]
    useless = sum(total[code] for code in USELESS)
    said += [f"{several(useless, 'fit')} cannot predict."] if useless else ["Every fit can predict."] * bool(total)
    failed = list(dict.fromkeys(view.labels.get(each.row, each.row) for each in view.results.failures))
    said += [f"Not everything could run: {listed(failed)}; the reasons stand below."] if failed else []
    absent = sum(count for places in missing(view).values() for count in places.values())
    old = sum(sum(rows.values()) for rows in view.results.provenance.get(OUTDATED, {}).values())
    said += (
        [f"{several(old, 'fit')} stand here that were run under other choices than the study has now."] if old else []
    )
    said += [f"The study is not finished: {several(absent, 'planned fit')} have no result yet."] if absent else []
    return tuple(said)
