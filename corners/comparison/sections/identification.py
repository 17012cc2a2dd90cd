"""What is not identified?"""

from typing import TYPE_CHECKING

import numpy as np

from corners.comparison import figures
from corners.comparison.attribution import attribution
from corners.comparison.document import Picture, Section
from corners.comparison.grid import Cell, Grid, number, words
from corners.comparison.palette import Style
from corners.comparison.sections._wording import counted_in, listed, per_cent, picture, ranged

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison
    from corners.comparison.findings import Findings
    from corners.comparison.identifiability import IdentifiabilityReport, Statistic

TITLE = "What is not identified?"
NOTHING = (
    "This section is for last layers with a Gaussian belief and Gaussian noise, whose predictive variance it "
    "attributes. No fit here has one, so there is nothing to attribute."
)
SHARES = ("noise", "covariance", "prior")
STATISTICS = (
    ("noise_share", "noise share"),
    ("info_sigma", "information on noise"),
    ("info_alpha", "information on prior"),
    ("alpha_runaway", "precision ratio"),
    ("feature_norm_cv", "variation of feature norms"),
    ("saturation", "saturated features"),
)
READING = (
    "The same predictive variance can be bought with noise of the observations, with width of the belief, or with the "
    "prior. Where the data cannot tell these apart, predictions may still be good, but the noise scale, the covariance "
    "and the prior precision must not be interpreted one by one.",
    "Information on noise and on the prior is Fisher information relative to a belief without width: 1 is all of it, "
    "near 0 the objective is flat in that parameter. The precision ratio compares the prior precision with the one the "
    "belief itself suggests: far above 1 it has run away. Thresholds are rules of thumb, not theorems.",
)


def section(comparison: "Comparison", look: dict[str, Style]) -> Section:  # noqa: ARG001 (sections are alike)
    """Statistics and flags of every method; bars of what the predictive variance is made of."""
    # Asked of no method in particular, the answer is all findings, never one report.
    found: Findings[IdentifiabilityReport] = comparison.identifiability()  # pyright: ignore[reportAssignmentType]
    if not found.methods:
        return Section("identification", TITLE, (NOTHING,))
    grids = (statistics_grid(found), *_flags_grid(found))
    return Section("identification", TITLE, _answers(found), grids, (_picture(comparison, found),), READING)


def _answers(found: "Findings[IdentifiabilityReport]") -> tuple[str, ...]:
    clean = [method for method in found.methods if not any(report.flagged for report in found.of(method))]
    said = []
    for method in found.methods:
        flags = flags_of(found, method)
        if flags:
            flag, raised = next(iter(flags.items()))
            more = f", and {len(flags) - 1} more" if len(flags) > 1 else ""
            said.append(f"{method}: {flag} ({_raised(raised, len(found.of(method)))}){more}.")
    if not said:
        return ("Nothing is flagged: noise, covariance and prior are told apart in every fit.",)
    nothing = f" Nothing is flagged for {listed(clean)}." if clean else ""
    return (f"Flags were raised for {len(said)} of {len(found.methods)} methods.{nothing}", *said)


def flags_of(found: "Findings[IdentifiabilityReport]", method: str) -> "dict[str, dict[str, list[Statistic]]]":
    """Every flag of a method: the statistics that raise it, by name, one a seed."""
    flags: dict[str, dict[str, list[Statistic]]] = {}
    for report in found.of(method):
        for statistic in report.flagged:
            flags.setdefault(statistic.flag, {}).setdefault(statistic.name, []).append(statistic)
    return flags


def _raised(raised: "dict[str, list[Statistic]]", seeds: int) -> str:
    """Which statistics raised a flag, with their values, and on how many seeds."""
    parts = [
        f"{name.replace('_', ' ')} {ranged([float(each.value) for each in which if each.value is not None])}"
        for name, which in raised.items()
    ]
    return f"{', '.join(parts)}; {counted_in(max(map(len, raised.values())), seeds)}"


def statistics_grid(found: "Findings[IdentifiabilityReport]") -> Grid:
    """A row a method: the statistics that say most."""
    rows = []
    for method in found.methods:
        values = [[report[name].value for report in found.of(method)] for name, _ in STATISTICS]
        rows.append((words(method), *(_mean_cell([v for v in row if v is not None]) for row in values)))
    caption = "What the data say about each hyperparameter, mean over seeds; a dash where the statistic is not defined"
    return Grid(caption, ("method", *(title for _, title in STATISTICS)), tuple(rows))


def _mean_cell(values: list[float]) -> Cell:
    return number(float(np.mean(values)), 2) if values else number(None)


def _flags_grid(found: "Findings[IdentifiabilityReport]") -> list[Grid]:
    rows = []
    for method in found.methods:
        for flag, raised in flags_of(found, method).items():
            first = next(iter(raised.values()))[0]
            thresholds = " or ".join(dict.fromkeys(each[0].threshold for each in raised.values()))
            shown = f"{_raised(raised, len(found.of(method)))}; flagged if {thresholds}"
            rows.append((words(method), words(flag), words(shown), words(first.remedy)))
    headings = ("method", "what is flagged", "by which statistic", "what helps")
    return [Grid("Every flag", headings, tuple(rows))] if rows else []


def _picture(comparison: "Comparison", found: "Findings[IdentifiabilityReport]") -> Picture:
    shares = {method: _shares(comparison, found, method) for method in found.methods}
    caption = (
        "What the predictive variance on the training part is made of, mean over seeds: noise of the observations, "
        "covariance that the data shaped, and what is left of the prior's variance."
    )
    seen = "; ".join(
        f"{method}: " + ", ".join(f"{name} {per_cent(share)}" for name, share in zip(SHARES, row, strict=True))
        for method, row in shares.items()
    )
    return picture(
        "attribution", caption, f"Shares of the predictive variance. {seen}.", figures.share_plot(shares, SHARES)
    )


def _shares(comparison: "Comparison", found: "Findings[IdentifiabilityReport]", method: str) -> tuple[float, ...]:
    seeds = [seed for name, seed in found if name == method]
    layers = [comparison.layer(method, seed) for seed in seeds]
    parts = [attribution(layer) for layer in layers if layer is not None]
    rows = [(part.noise_share, part.covariance_share, part.prior_share) for part in parts]
    return tuple(float(value) for value in np.mean(rows, axis=0))
