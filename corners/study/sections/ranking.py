"""Which row predicts best on which data set, and which differences are more than chance?"""

from scipy import special

from corners.comparison.document import Picture, Section
from corners.comparison.figures import Difference, studies
from corners.comparison.grid import Grid, number, whole, words
from corners.comparison.paired import CAVEAT, Ranking, rank
from corners.comparison.ranks import friedman_test, mean_ranks, nemenyi_critical_difference
from corners.comparison.sections._wording import listed, p_value, picture, several
from corners.study.inspection import ONE_VERSUS_ALL
from corners.study.results import seed_difference
from corners.study.sections._tables import Line, column_decimals, grouped_grids, mean_cells
from corners.study.sections._view import View
from corners.types import Array

MOST_RANKED = 20
"""Rows in one figure of ranks or differences; more cannot be told apart."""


def section(view: View) -> Section | None:
    """NLL with marks, mean ranks, differences from the best."""
    rankings = nll_rankings(view)
    if not rankings:
        return None
    marks = {(name, each.method): each.mark for name, ranking in rankings.items() for each in ranking.standings}
    decimals = column_decimals(view, "nll")

    def lines(rows: tuple) -> list[Line]:
        return [(view.labels[row.name], mean_cells(view, row, "nll", decimals, marks)) for row in rows]

    notes = (
        f"Mean over seeds ± its standard error. Test: {CAVEAT}. Rows with fewer seeds than the others of a data set "
        "have no mark.",
        *one_versus_all_note(view),
    )
    grids = (*grouped_grids(view, "NLL, nats per point; lower is better", lines, notes), *_ranks_grid(view))
    pictures = (*_difference_picture(view, rankings), *_rank_picture(view))
    title = "Which row predicts best, and is the difference real?"
    return Section("ranking", title, _answers(view, rankings), grids, pictures)


def one_versus_all_note(view: View) -> tuple[str, ...]:
    """What the numbers of one-versus-all rows are, where there are such rows."""
    rows = view.one_versus_all()
    return (f"{'; '.join(rows)}: {ONE_VERSUS_ALL}.",) if rows else ()


def nll_rankings(view: View) -> dict[str, Ranking]:
    """The marking rule a data set, over the rows that have all of its seeds."""
    values = {dataset: view.ranked(dataset, "nll") for dataset in view.study.datasets}
    return {dataset: rank(found) for dataset, found in values.items() if found}


def _answers(view: View, rankings: dict[str, Ranking]) -> tuple[str, ...]:
    best: dict[str, list[str]] = {}
    tied: dict[str, int] = {}
    for dataset, ranking in rankings.items():
        if ranking.best is not None:
            best.setdefault(view.labels[ranking.best], []).append(dataset)
        for each in ranking.standings:
            if each.mark in ("best", "tied"):
                tied[each.method] = tied.get(each.method, 0) + 1
    order = sorted(best.items(), key=lambda item: -len(item[1]))
    lowest = "; ".join(f"{label} on {listed(datasets, len(datasets))}" for label, datasets in order)
    most = max(tied.values(), default=0)
    steady = [view.labels[row.name] for row in view.rows if most and tied.get(row.name) == most]
    return (
        f"Lowest mean NLL: {lowest}." if best else "No row can be called best: none has a usable seed.",
        f"Best or tied with the best on most data sets ({most} of {len(rankings)}): {listed(steady)}." if most else "",
    )[: 2 if most else 1]


def _ranks_grid(view: View) -> tuple[Grid, ...]:
    values = view.means("nll")
    if len(values) < 2:
        return ()
    ranks, blocks = mean_ranks(values), next(iter(values.values())).size
    rows = tuple(
        (words(view.labels[row]), number(rank, 3), whole(blocks))
        for row, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    where = listed(view.core, len(view.core))
    caption = f"Mean rank by mean NLL among {several(len(ranks), 'row')}, over data sets ({where})"
    return (Grid(caption, ("row", "mean rank", "data sets"), rows, notes=_ranks_note(values, blocks)),)


def _ranks_note(values: dict, blocks: int) -> tuple[str, ...]:
    if blocks < 2:
        return ()
    test, apart = friedman_test(values), nemenyi_critical_difference(len(values), blocks)
    return (
        f"1 is best. Friedman's test of equal mean ranks: {p_value(test.p)}; Nemenyi's critical difference at 5 %: "
        f"{number(apart, 3).text}. A data set counts once, by its mean over seeds; few of them leave both blunt.",
    )


def _difference_picture(view: View, rankings: dict[str, Ranking]) -> tuple[Picture, ...]:
    """Rows of the first group on every data set, each beside the best of them."""
    group, rows = view.groups[0]
    shown = [row.name for row in rows][:MOST_RANKED]
    panels = {}
    for dataset in rankings:
        values = {name: each for name, each in view.ranked(dataset, "nll").items() if name in shown}
        best = rank(values).best if len(values) > 1 else None
        if best is not None:
            panels[dataset] = [_difference(view.labels[name], values[name] - values[best]) for name in values]
    if not panels:
        return ()
    caption = (
        f"NLL minus that of the best{f' of the {group}' if group else ''}, paired by seed, nats per point, with 90 % "
        "intervals over seeds. Right of zero is worse; an arrow stands for a row beyond the edge."
    )
    seen = "; ".join(f"{name}: {min(rows, key=lambda row: row.mean).method}" for name, rows in panels.items())
    figure = studies.paired_difference_plot(panels, "NLL minus best, nats per point")
    return (picture("differences", caption, f"Differences of NLL from the best row. Best on {seen}.", figure),)


def _difference(label: str, gaps: Array) -> Difference:
    """A two-sided 90 % interval leaves out zero exactly where the one-sided 5 % test calls a row worse."""
    found = seed_difference(gaps)
    reach = float(special.stdtrit(found.pairs - 1, 0.95)) * found.se if found.se > 0.0 else 0.0
    return Difference(label, found.mean, found.mean - reach, found.mean + reach)


def _rank_picture(view: View) -> tuple[Picture, ...]:
    values = view.means("nll")
    order = [row.name for row in view.rows if row.name in values][:MOST_RANKED]
    if len(order) < 3:
        return ()
    values = {name: values[name] for name in order}
    blocks = values[order[0]].size
    if blocks < 2:
        return ()
    ranks = {view.labels[row]: rank for row, rank in mean_ranks(values).items()}
    apart = nemenyi_critical_difference(len(ranks), blocks)
    best = min(ranks, key=lambda row: ranks[row])
    caption = (
        f"Mean ranks by mean NLL over {blocks} data sets; rows that a bar joins differ by less than Nemenyi's "
        f" critical difference at 5 %, {number(apart, 3).text}."
    )
    seen = f"Mean ranks from {best} with {number(ranks[best], 3).text} on."
    return (picture("ranks", caption, seen, studies.critical_difference_plot(ranks, apart)),)
