"""How does each belief compare with the truth?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison import figures
from corners.comparison.document import Picture, Section
from corners.comparison.figure_data import Marginal, marginals
from corners.comparison.grid import Cell, Grid, number, whole, words
from corners.comparison.palette import Style
from corners.comparison.sections._wording import NO_BREAK, counted_in, listed, picture, ranged

if TYPE_CHECKING:
    from corners.comparison.agreement import AgreementReport
    from corners.comparison.comparison import Comparison
    from corners.comparison.findings import Findings

TITLE = "How does each belief compare with the truth?"
CHECKS = (
    ("posterior means", "worst z of a mean"),
    ("posterior standard deviations", "worst z of a sd"),
    ("whitened covariance", "covariance error"),
    ("log predictive densities", "worst z of a prediction"),
)
SAMPLED = (
    "The truth is a sample from the exact posterior of the weights, {given}, drawn by NUTS and used only if it passed "
    "its gate. A z is a difference in Monte Carlo standard errors, the worst of all weights or test points; up to 4.5 "
    "chance explains it. The covariance error is in units of what chance gives; up to 3 it is explained."
)
FIXED = "given the same features, targets, noise and prior precision that the fit ended with"
HIERARCHICAL = (
    "given the same features and targets, with noise and prior precision drawn too (so that even an exact belief, "
    "which holds them fixed, differs somewhat)"
)
READING = (
    "The W2 distance is in units of the posterior's own width: 0.1 is small, 1 means that the belief lies elsewhere. "
    "The gain in prediction is the mean log predictive density of the belief minus that of the draws, in nats per "
    "test point.",
    "k-hat says how well draws from the belief could stand in for the posterior: below 0.5 is good, above 0.7 "
    "unreliable.",
    "A belief of an exact cell is the posterior, so it should agree. A free belief is trained to predict: its "
    "covariance is fitted variance, it does not shrink as data are added, and nothing makes it an approximation to "
    "the posterior. That it differs here is what the theory says, not a fault.",
)


def section(comparison: "Comparison", look: dict[str, Style]) -> Section:
    """Agreement of every belief with its draws, the gates that the draws passed, and a few marginals."""
    # Asked of no method in particular, the answer is all findings, never one report.
    found: Findings[AgreementReport] = comparison.agreement()  # pyright: ignore[reportAssignmentType]
    if not found.methods:
        return Section("truth", TITLE, (_nothing(comparison),))
    grids = (agreement_grid(found), *_gate_grid(comparison))
    drawn = any(reference.hyperparameters for reference in comparison.references.values())
    reading = (SAMPLED.format(given=HIERARCHICAL if drawn else FIXED), *READING)
    return Section("truth", TITLE, _answers(comparison, found), grids, (_picture(comparison, found, look),), reading)


def _nothing(comparison: "Comparison") -> str:
    if comparison.task != "regression" and not comparison.reference_failures:
        return (
            "There is no sample from a posterior to compare with, so nothing is said about the truth: none was asked "
            "for, or no belief has a head that can be sampled."
        )
    reasons = list(dict.fromkeys(comparison.reference_failures.values()))
    said = f"it failed: {listed(reasons)}" if reasons else "none was asked for"
    return f"There is no sample from a posterior to compare with: {said}. Nothing can be said about the truth here."


def _answers(comparison: "Comparison", found: "Findings[AgreementReport]") -> tuple[str, ...]:
    reports = {method: found.of(method) for method in found.methods}
    agreeing = [method for method, rows in reports.items() if all(row.agrees for row in rows)]
    differing = [method for method in reports if method not in agreeing]
    answers = [f"Within Monte Carlo error of the posterior in every fit: {listed(agreeing)}."] if agreeing else []
    answers += [_distance(method, reports[method]) for method in differing]
    free = [method for method in differing if any(report.free for report in reports[method])]
    if free:
        answers.append(
            f"{listed(free)} {'is' if len(free) == 1 else 'are'} free: a free belief is fitted to predict and is not "
            "an approximation to the posterior, so that difference is expected and no fault of the fit."
        )
    failed = len(comparison.reference_failures)
    if failed:
        answers.append(
            f"For {failed} more {'fit' if failed == 1 else 'fits'} there is no trusted sample; section 5 says why."
        )
    return tuple(answers)


def _distance(method: str, reports: "Sequence[AgreementReport]") -> str:
    """In which checks a method differs from its draws, and by how much."""
    differing = sum(not report.agrees for report in reports)
    checks = list(dict.fromkeys(check.name for report in reports for check in report.checks))
    failed = [name for name in checks if any(c.name == name and not c.passed for r in reports for c in r.checks)]
    where = "every check" if failed == checks else listed(failed)
    seeds = f" on {counted_in(differing, len(reports))}" if len(reports) > 1 else ""
    distance = ranged([report.w2_relative for report in reports])
    gain = ranged([report.log_predictive.mean_difference for report in reports])
    sizes = f"W2 distance {distance} posterior widths, gain in prediction {gain} nats per point"
    return f"{method} differs from the posterior in {where}{seeds}: {sizes}."


def agreement_grid(found: "Findings[AgreementReport]") -> Grid:
    """A row a method: fits that agree, worst statistics of every check, distances."""
    rows = []
    for method in found.methods:
        reports = found.of(method)
        agreeing = sum(report.agrees for report in reports)
        worst = [_worst(reports, name) for name, _ in CHECKS]
        distance = float(np.mean([report.w2_relative for report in reports]))
        gain = float(np.mean([report.log_predictive.mean_difference for report in reports]))
        verdict = f"{agreeing} of {len(reports)}"
        rows.append(
            (words(method), words(verdict), *worst, number(distance, 2), number(gain, 2), words(_k_hats(reports)))
        )
    headings = ("method", "agree", *(title for _, title in CHECKS), "W2 distance", "gain in prediction", "k-hat")
    caption = (
        "Beliefs against draws of the posterior: fits in which every test passed, worst statistics over seeds, mean "
        "distances"
    )
    return Grid(caption, headings, tuple(rows))


def _worst(reports: "Sequence[AgreementReport]", name: str) -> Cell:
    values = [check.worst for report in reports for check in report.checks if check.name == name]
    return number(max(values), 2) if values else number(None)


def _k_hats(reports: "Sequence[AgreementReport]") -> str:
    """Verdicts of all fits; those with a number put together: ``2.9 to 3.7 (unreliable)``."""
    found: dict[str, list[float]] = {}
    for report in reports:
        value, bracket, verdict = (report.k_hat or "not computed").partition(" (")
        known = found.setdefault(f" ({verdict}" if bracket else value, [])
        known += [float(value)] if bracket else []
    return ", ".join(f"{ranged(values)}{verdict}" if values else verdict for verdict, values in found.items())


def _gate_grid(comparison: "Comparison") -> list[Grid]:
    rows = []
    for (method, seed), reference in comparison.references.items():
        gate = getattr(reference, "gate", None)
        if gate is not None:
            draws = whole(int(np.prod(reference.weights.shape[:2])))
            rows.append((words(method), words(seed), draws, *(_gate_cell(check.value) for check in gate.checks)))
            names = tuple(check.name for check in gate.checks)
            bounds = tuple(f"{check.relation.replace('<=', '≤')}{NO_BREAK}{check.bound:g}" for check in gate.checks)
    if not rows:
        return []
    caption = "The gate of every sample: the worst value found, and what was required"
    return [Grid(caption, ("sample for", "seed", "draws", *names), tuple(rows), ("", "", "", *bounds))]


def _gate_cell(value: float) -> Cell:
    return Cell(f"{value:.4g}", value)


def _picture(comparison: "Comparison", found: "Findings[AgreementReport]", look: dict[str, Style]) -> Picture:
    shown = {method: next(seed for name, seed in found if name == method) for method in found.methods}
    rows = {method: _marginals(comparison, method, seed) for method, seed in shown.items()}
    seeds = listed(sorted({str(seed) for seed in shown.values()}, key=int))
    caption = (
        f"Draws of the posterior (grey) and the belief (line) for the weights farthest from zero, seed {seeds}. Every "
        "method has features of its own, so weight 3 of one is not weight 3 of another. A vertical line is a belief "
        "without width; a peak that leaves its panel is a belief much narrower than the posterior."
    )
    seen = "; ".join(f"{method}: {_ratio(row)}" for method, row in rows.items())
    drawing = figures.marginal_plot(rows, look)
    return picture("marginals", caption, f"Width of the belief relative to the draws. {seen}.", drawing)


def _marginals(comparison: "Comparison", method: str, seed: int) -> list[Marginal]:
    k = comparison.seeds.index(seed)
    layer: Any = comparison.layer(method, seed) or comparison.fits[method].sampled_layer(k, comparison.splits[k])
    draws = comparison.references[method, seed].weights.reshape(-1, layer.mean.size)
    return marginals(draws, layer.mean, np.diag(layer.covariance))


def _ratio(row: Sequence[Marginal]) -> str:
    return ", ".join(f"weight {each.weight} {each.scale / float(each.draws.std()):.2f}" for each in row)
