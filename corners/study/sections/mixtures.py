"""Is a mixture better than the Gaussian with its moments? Both NLLs of every row that predicts with one."""

from corners.comparison.document import Section
from corners.comparison.sections._wording import listed, several
from corners.study.results import SeedDifference, seed_difference
from corners.study.sections._tables import column_decimals, difference_cell, mean_cells, wide_grids
from corners.study.sections._view import View

MATCHED = "nll_moment_matched"
LEVEL = 0.05
READING = (
    "Members, passes or samples make a mixture. Published figures often score the one Gaussian with the mixture's mean "
    "and variance instead; above zero the mixture is the worse of the two.",
)


def section(view: View) -> Section | None:
    """Three lines a row: the mixture, the moment-matched Gaussian, their difference by seed."""
    rows = [row for row in view.rows if any(view.has(row.name, d, MATCHED) for d in view.datasets(row))]
    if not rows:
        return None
    plain, matched = column_decimals(view, "nll"), column_decimals(view, MATCHED)
    lines, gaps = [], {}
    for row in rows:
        found = {d: difference(view, row.name, d) for d in view.datasets(row) if view.has(row.name, d, MATCHED)}
        gaps |= {(view.labels[row.name], dataset): gap for dataset, gap in found.items()}
        lines.append((f"{view.labels[row.name]}: mixture", mean_cells(view, row, "nll", plain)))
        lines.append(("– moment-matched", mean_cells(view, row, MATCHED, matched)))
        cells = {dataset: difference_cell(each.mean, each.se, each.t) for dataset, each in found.items()}
        lines.append(("– mixture minus matched", cells))
    caption = "NLL of mixtures and of the Gaussians with their moments, nats per point, mean over seeds"
    title = "Is a mixture better than the Gaussian with its moments?"
    return Section("mixtures", title, (_answer(gaps),), wide_grids(view, caption, lines), (), READING)


def difference(view: View, row: str, dataset: str) -> SeedDifference:
    """Mixture minus moment-matched, by seed."""
    values = view.results.values
    return seed_difference(values(dataset, row, "nll") - values(dataset, row, MATCHED))


def _answer(gaps: dict[tuple[str, str], SeedDifference]) -> str:
    said = []
    for word, sign in (("better", -1.0), ("worse", 1.0)):
        places = [
            f"{row} on {dataset}" for (row, dataset), gap in gaps.items() if gap.p < LEVEL and sign * gap.mean > 0
        ]
        said.append(f"{word} on {len(places)}" + (f" ({listed(places)})" if places else ""))
    return f"Of {several(len(gaps), 'pair')} of row and data set the mixture is significantly {' and '.join(said)}."
