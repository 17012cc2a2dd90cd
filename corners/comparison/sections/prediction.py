"""Which cell predicts best, and is the difference real?"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from scipy import stats

from corners.comparison import figure_data, figures
from corners.comparison.document import Picture, Section
from corners.comparison.figures import Difference
from corners.comparison.grid import Cell, Grid, decimals_for, mean_and_error, number, whole, words
from corners.comparison.paired import paired_difference
from corners.comparison.palette import Style
from corners.comparison.sections._wording import listed, p_value, picture, signed, with_error

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison
    from corners.comparison.table import ScoreColumn, ScoreTable

NORMAL_90 = 1.645
ALONE = "There is no other method to compare it with."
STANDARD_ERROR = (
    "The standard error in a cell says how much that method varies from seed to seed. It does not say whether two "
    "methods differ, because a hard split is hard for both: the paired differences below the table do."
)
CALIBRATION = (
    "In the calibration figure a right method has a flat histogram and a line at zero. A histogram like a U, or a line "
    "below zero, means intervals that are too narrow; a hump, or a line above zero, too wide. Inside the grey band the "
    "deviation is what chance gives with the test points of one seed."
)
READING: Mapping[str, tuple[str, ...]] = {
    "regression": (
        "Compare methods within a column; every score is a mean per test point on the target's original scale. NLL "
        "judges the whole predictive distribution and punishes confident errors without limit, CRPS does so mildly, "
        "RMSE sees only the predictive mean. Calibration error and coverage say whether the stated uncertainty is "
        "honest, not whether it is small.",
        STANDARD_ERROR,
        CALIBRATION,
    ),
    "classification": (
        "Compare methods within a column; every score is a mean per test point. NLL is that of the true class, with "
        "its probability clipped at 1e-12; it punishes confident errors hardest, the Brier score (0 to 2, summed over "
        "the classes) mildly, accuracy sees only the predicted class. The calibration errors say whether the "
        "probabilities are honest, not whether they are useful; a right method does not score zero on few points.",
        STANDARD_ERROR,
    ),
    "count": (
        "Compare methods within a column; every score is a mean per test point. NLL is that of the count's "
        "probability, CRPS judges the whole distribution mildly, RMSE sees only the mean, which a wide belief about a "
        "log rate can make very large. Calibration error and coverage are those of the randomised PIT, since whole "
        "counts could only be covered too often.",
        STANDARD_ERROR,
        CALIBRATION,
    ),
}


def section(comparison: "Comparison", look: dict[str, Style]) -> Section:
    """Score table, differences from the best, runs; difference plot, slice and calibration."""
    table = comparison.table()
    differences = nll_differences(table)
    grids = [
        _scores_grid(comparison, table),
        *([_differences_grid(table, differences)] if differences else []),
        table.outcomes_grid(),
    ]
    pictures = [
        *_difference_picture(table, differences, look),
    ]
    if comparison.task != "classification":
        pictures += [*_band_picture(comparison, table, look), *_calibration_picture(comparison, table, look)]
    title = "Which method predicts best, and is the difference real?"
    return Section(
        "prediction", title, _answers(table, differences), tuple(grids), tuple(pictures), READING[comparison.task]
    )


def _scores_grid(comparison: "Comparison", table: "ScoreTable") -> Grid:
    """The scores, and below them what must be said beside the numbers of some methods."""
    said: dict[str, list[str]] = {}
    for method, note in comparison.notes.items():
        said.setdefault(note, []).append(method)
    grid = table.scores_grid()
    return replace(grid, notes=(*grid.notes, *(f"{listed(methods, 99)}: {note}." for note, methods in said.items())))


def nll_differences(table: "ScoreTable") -> list[Difference]:
    """NLL minus the best's, best first, with 90 % intervals: over seeds (t), or over the test points of the one.

    A two-sided 90 % interval leaves out zero exactly where the one-sided 5 % test calls a method worse.
    """
    column = _nll(table)
    best = column.ranking.best if column else None
    if column is None or best is None:
        return []
    rows = [(method, *_difference(column, method, best)) for method in table.methods if column.count(method)]
    known = [
        Difference(method, mean, mean - reach, mean + reach)
        for method, mean, reach in rows
        if math.isfinite(mean + reach)
    ]
    return sorted(known, key=lambda each: (each.method != best, each.mean))


def _difference(column: "ScoreColumn", method: str, best: str) -> tuple[float, float]:
    if method == best:
        return 0.0, 0.0
    if column.single:
        pair = column.scores[method][0], column.scores[best][0]
        # A single seed has a score wherever it has a column, so neither is None here.
        difference = paired_difference(*pair)  # pyright: ignore[reportArgumentType]
        return difference.mean, NORMAL_90 * difference.se
    standing = column.ranking[method]
    if standing.difference is None:
        return math.nan, math.nan
    reach = stats.t.ppf(0.95, standing.pairs - 1) * standing.difference_se if standing.difference_se else 0.0
    return standing.difference, float(reach)


def _nll(table: "ScoreTable") -> "ScoreColumn | None":
    return next((column for column in table.columns if column.name == "nll"), None)


def _answers(table: "ScoreTable", differences: list[Difference]) -> tuple[str, ...]:
    column = _nll(table)
    if column is None or not differences:
        return (
            "No method can be called best: none has a usable seed, or none is finite on all of them.",
            *_missing(table),
        )
    best = differences[0].method
    over = "standard error over test points, one seed" if table.single else f"mean over {len(table.seeds)} seeds"
    score = with_error(column.mean(best), column.error(best))
    first = f"{best} predicts best by NLL: {score} nats per point ({over})."
    doubts = _one_seed_doubt(differences) if table.single else _tested(column, best)
    return (f"{first} {doubts}", *_other_scores(table, best), *_missing(table))


def _tested(column: "ScoreColumn", best: str) -> str:
    said: dict[str, list[str]] = {"tied": [], "worse": [], "no test": []}
    for standing in sorted(column.ranking.standings, key=lambda each: each.difference or 0.0):
        if standing.method != best:
            p = f", {p_value(standing.p)}" if standing.p is not None else ""
            size = f"{signed(standing.difference)}{p}" if standing.difference is not None else standing.remark
            said[standing.mark].append(f"{standing.method} ({size})")
    words = {
        "tied": "Not distinguishable from it by the paired test",
        "worse": "Worse by more than chance explains",
        "no test": "No test was possible for",
    }
    parts = [f"{words[mark]}: {listed(methods)}." for mark, methods in said.items() if methods]
    return " ".join(parts) or ALONE


def _one_seed_doubt(differences: list[Difference]) -> str:
    if len(differences) == 1:
        return ALONE
    following = differences[1]
    clear = "does not include" if following.low > 0.0 else "includes"
    return (
        f"The next one, {following.method}, is {following.mean:.2g} nats per point behind; the 90 % interval over test "
        f"points, {following.low:.2g} to {following.high:.2g}, {clear} zero. With one seed nothing can be said about "
        "other splits or starts: run several seeds before calling a difference real."
    )


def _other_scores(table: "ScoreTable", best: str) -> tuple[str, ...]:
    others = [(column.heading, column.ranking.best) for column in table.columns if column.name != "nll"]
    differing = [f"{heading}: {name}" for heading, name in others if name not in (best, None)]
    if not others:
        return ()
    if not differing:
        return (f"{best} is also best by {listed([heading for heading, _ in others])}.",)
    return (f"Other scores name another best ({'; '.join(differing)}); see the table for what is tied.",)


def _missing(table: "ScoreTable") -> tuple[str, ...]:
    short = [each for each in table.outcomes if each.usable < each.replicates]
    absent = [each for each in table.outcomes if not each.available]
    parts = [f"{each.method} has {each.usable} of {each.replicates} seeds ({each.status})" for each in short]
    parts += [f"{each.method} is {each.status}" for each in absent]
    return (f"Not everything could be scored: {'; '.join(parts)}.",) if parts else ()


def _differences_grid(table: "ScoreTable", differences: list[Difference]) -> Grid:
    column = _nll(table)
    assert column is not None
    reaches = [0.5 * (each.high - each.low) for each in differences]
    decimals = decimals_for(reaches, [each.mean for each in differences])
    rows = []
    for each, reach in zip(differences, reaches, strict=True):
        standing = column.ranking[each.method]
        verdict = "no test" if standing.mark == "no test" else standing.mark
        shown = Cell("0", 0.0) if standing.mark == "best" else mean_and_error(each.mean, reach, decimals)
        rows.append((words(each.method), shown, number(standing.p, 2), whole(standing.pairs), words(verdict)))
    over = "test points" if table.single else "seeds"
    caption = f"NLL minus the best's, nats per point, with the half width of a 90 % interval over {over}"
    return Grid(caption, ("method", "difference ± half width", "p", "seeds", "verdict"), tuple(rows))


def _difference_picture(table: "ScoreTable", rows: list[Difference], look: dict[str, Style]) -> list[Picture]:
    if len(rows) < 2:
        return []
    over = "test points of the one seed" if table.single else "seeds"
    caption = (
        f"How much worse than {rows[0].method} each method is, seed by seed, with 90 % intervals over {over}. "
        "Right of zero is worse; the number is the mean. An arrow stands for a method beyond the edge of the figure."
    )
    seen = "; ".join(f"{row.method} {row.mean:+.2g} ({row.low:.2g} to {row.high:.2g})" for row in rows[1:])
    drawing = figures.difference_plot(rows, look, "NLL minus best, nats per point")
    return [picture("differences", caption, f"NLL minus that of {rows[0].method}, nats per point: {seen}.", drawing)]


def _band_picture(comparison: "Comparison", table: "ScoreTable", look: dict[str, Style]) -> list[Picture]:
    usable = set(comparison.usable())
    replicate = max(
        range(len(comparison.seeds)), key=lambda k: sum((m, k) in usable for m in comparison.fits), default=0
    )
    where = figure_data.slice_inputs(comparison.splits[replicate])
    bands = {
        method: figure_data.predictive_bands(comparison.fits[method].predict(where.inputs, replicate=replicate))
        for method in table.methods
        if (method, replicate) in usable
    }
    if not bands:
        return []
    target = comparison.splits[replicate].target_name
    caption = (
        f"Predictive mean with 50 % and 95 % intervals, seed {comparison.seeds[replicate]}. {where.sentence} "
        "All panels share one scale; a band that leaves it is cut off."
    )
    seen = f"Predictive bands of {listed(list(bands))} for {target} along {where.label}."
    return [picture("bands", caption, seen, figures.band_plot(where, bands, look, target))]


def _calibration_picture(comparison: "Comparison", table: "ScoreTable", look: dict[str, Style]) -> list[Picture]:
    replicates: dict[str, list[int]] = {}
    for method, k in comparison.usable():
        replicates.setdefault(method, []).append(k)
    rows = {
        method: figure_data.calibration(comparison.fits[method], comparison.splits, replicates[method])
        for method in table.methods
        if method in replicates
    }
    if not rows:
        return []
    pit = "randomised PIT" if comparison.task == "count" else "PIT"
    caption = (
        f"Calibration. Left: histogram of the predictive distribution function at the test targets ({pit}). Right: how "
        "much more of the test points the central intervals cover than they promise. Grey: where a right method lies "
        f"with probability 95 %, for the {min(row.points for row in rows.values())} test points of one seed; seeds are "
        "pooled."
    )
    level = int(figure_data.LEVELS.searchsorted(0.9))
    seen = ", ".join(f"{method} {row.coverage[level]:.0%}" for method, row in rows.items())
    drawing = figures.calibration_plot(rows, look)
    return [picture("calibration", caption, f"Coverage of the central 90 % interval: {seen}.", drawing)]
