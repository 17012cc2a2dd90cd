"""Which orders of the literature hold here, which are reversed, and which are undecided?"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from corners.comparison.document import Section
from corners.comparison.grid import Grid, number, whole, words
from corners.comparison.sections._wording import listed, p_value, several, signed
from corners.study.published import MARGIN, OrderedPair, ordered_pairs
from corners.study.results import SeedDifference
from corners.study.sections._tables import difference_cell
from corners.study.sections._view import View

Verdict = Literal["holds", "reversed", "undecided", "not tested"]
VERDICTS: tuple[Verdict, ...] = ("holds", "reversed", "undecided", "not tested")
LEVEL = 0.05
EVERY, MOST_NAMED = 999, 20
READING = (
    "A published order is a pair of rows and a data set whose published means differ by more than the margin. It holds "
    f"where ours differ in the same direction and the paired two-sided t-test over seeds has p < {LEVEL:g}, it is "
    "reversed where they differ significantly in the other direction, and undecided otherwise.",
    "Nothing is corrected for the number of tests: where two rows do not differ at all, one test in twenty still calls "
    "a direction. Pairs that share a row are not independent.",
)


@dataclass(frozen=True)
class Judged:
    """One published order, beside what our seeds say: ``ours`` is worse minus better."""

    dataset: str
    pair: OrderedPair
    ours: SeedDifference

    @property
    def verdict(self) -> Verdict:
        """Whether it holds here."""
        if self.ours.p != self.ours.p:
            return "not tested"
        if self.ours.p >= LEVEL:
            return "undecided"
        return "holds" if self.ours.mean > 0.0 else "reversed"


def section(view: View) -> Section | None:
    """The paragraph with its counts, the counts a data set, and every reversal by name."""
    judged = judged_orders(view)
    if not judged:
        return None
    grids = (_counts_grid(view, judged), *_reversals_grid(view, judged))
    return Section("orders", "Which published rankings hold here?", _answers(view, judged), grids, (), READING)


def judged_orders(view: View) -> list[Judged]:
    """Every pair that a published table of NLL orders by more than the margin, a data set; one row a published label.

    Where several rows of the study have one label, the first one with results stands for it.
    """
    found = []
    for dataset in view.study.datasets:
        tables: dict[str, dict[str, float]] = {}
        seen: set[tuple[str, str]] = set()
        for row in view.study.rows_of(dataset):
            table, figure = view.published.table_name(row, "nll"), view.published.figure(row, dataset, "nll")
            usable = table is not None and row.published is not None and (table, row.published) not in seen
            if usable and figure is not None and view.has(row.name, dataset, "nll"):
                seen.add((str(table), str(row.published)))
                tables.setdefault(str(table), {})[row.name] = figure
        for figures in tables.values():
            for pair in ordered_pairs(figures):
                found.append(Judged(dataset, pair, view.results.difference(dataset, pair.worse, pair.better, "nll")))
    return found


def _answers(view: View, judged: list[Judged]) -> tuple[str, ...]:
    counts = Counter(each.verdict for each in judged)
    tested = len(judged) - counts["not tested"]
    first = (
        f"Of {several(len(judged), 'published order')} by NLL (pairs of methods on one data set whose published means "
        f"differ by more than {MARGIN:g} nat), {counts['holds']} hold here under the protocol "
        f"{view.study.protocol.name}, {counts['reversed']} are reversed and {counts['undecided']} are undecided by the "
        "paired test over seeds"
    )
    rest = f"; {counts['not tested']} could not be tested" if counts["not tested"] else ""
    share = f" That is {counts['holds'] / tested:.0%} of those tested." if tested else ""
    return (f"{first}{rest}.{share}", _reversed_words(view, judged))


def _reversed_words(view: View, judged: list[Judged]) -> str:
    """Every reversed pair with its data sets, those with most of them first; the table below has them all."""
    places: dict[tuple[str, str], list[str]] = {}
    for each in judged:
        if each.verdict == "reversed":
            pair = (view.labels[each.pair.worse], view.labels[each.pair.better])
            places.setdefault(pair, []).append(f"{each.dataset} {signed(each.ours.mean)}")
    if not places:
        return "No published order is reversed significantly."
    order = sorted(places.items(), key=lambda item: -len(item[1]))
    said = [f"{better} is better than {worse} ({listed(sets, EVERY)})" for (better, worse), sets in order]
    rest = f"; {len(said) - MOST_NAMED} more pairs stand in the table" if len(said) > MOST_NAMED else ""
    return f"Reversed, with our difference in nats per point: {'; '.join(said[:MOST_NAMED])}{rest}."


def _counts_grid(view: View, judged: list[Judged]) -> Grid:
    rows = []
    for dataset in view.study.datasets:
        counts = Counter(each.verdict for each in judged if each.dataset == dataset)
        if counts:
            rows.append((words(dataset), whole(counts.total()), *(whole(counts[verdict]) for verdict in VERDICTS)))
    total = Counter(each.verdict for each in judged)
    rows.append((words("all"), whole(total.total()), *(whole(total[verdict]) for verdict in VERDICTS)))
    caption = f"Published orders by NLL of more than {MARGIN:g} nat, and what became of them"
    return Grid(caption, ("data set", "orders", *VERDICTS), tuple(rows))


def _reversals_grid(view: View, judged: list[Judged]) -> tuple[Grid, ...]:
    turned = [each for each in judged if each.verdict == "reversed"]
    rows = tuple(
        (
            words(each.dataset),
            words(view.labels[each.pair.better]),
            words(view.labels[each.pair.worse]),
            number(each.pair.published, 3),
            difference_cell(each.ours.mean, each.ours.se, each.ours.t),
            words(p_value(each.ours.p)),
        )
        for each in turned
    )
    headings = ("data set", "published better", "published worse", "published gap", "our gap ± standard error", "p")
    return (Grid("Published orders that are reversed here: NLL of the worse minus the better", headings, rows),)[
        : len(turned)
    ]
