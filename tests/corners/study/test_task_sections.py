"""Sections of a study's report for classes and counts, from results alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from corners.comparison.reliability import reliability
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.count import CountPredictive
from corners.study.inspection import LATENTS, ONE_VERSUS_ALL
from corners.study.published import Published
from corners.study.reporting import study_document
from corners.study.results import Results
from corners.study.scoring import score_values
from corners.study.sections import classes, counts, protocol, ranking, scores
from corners.study.sections._view import View, quantity
from tests.corners.study.studies import HEAD, ROWS, small_study

SEEDS, POINTS = (5, 6, 7), 40
TEXT = (
    HEAD.replace('["linear", "sine"]', '["iris", "quine"]')
    + """
[[rows]]
name = "sharp"
method = "scroll_none"
head = "ordinal"
datasets = ["iris"]
[[rows]]
name = "blunt"
method = "scroll_dense"
shared_precision = true
datasets = ["iris"]
[[rows]]
name = "counting"
method = "scroll_diagonal"
datasets = ["quine"]
"""
)


def classes_of(seed: int, power: float) -> tuple[CategoricalPredictive, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.dirichlet(np.ones(3), POINTS)
    labels = np.array([generator.choice(3, p=row) for row in truth], dtype=float)
    stated = truth**power
    return CategoricalPredictive(stated / stated.sum(axis=1, keepdims=True)), labels


def counts_of(seed: int) -> tuple[CountPredictive, np.ndarray]:
    generator = np.random.default_rng(seed)
    rates = generator.gamma(2.0, 3.0, POINTS)
    predictive = CountPredictive(np.log(rates), np.zeros(POINTS), lambda k: stats.poisson.logpmf(k, rates))
    return predictive, generator.poisson(rates).astype(float)


@pytest.fixture(scope="module")
def view(tmp_path_factory) -> View:
    lines = []
    for seed in SEEDS:
        drawn = {
            ("iris", "sharp"): classes_of(seed, 3.0),
            ("iris", "blunt"): classes_of(seed, 0.4),
            ("quine", "counting"): counts_of(seed),
        }
        for (dataset, row), (predictive, targets) in drawn.items():
            values = score_values(predictive, targets) | ({LATENTS: 3.0} if row == "blunt" else {})
            facts = {"code": "converged", "status": "converged", "n_test": POINTS, "fingerprint": "f"}
            lines.append({"dataset": dataset, "row": row, "seed": seed, **facts, **values})
    study = small_study(tmp_path_factory.mktemp("tasks"), TEXT)
    return View(study, Results(pd.DataFrame(lines)), Published(study))


def test_tasks_are_known_by_the_scores_that_are_kept(view):
    assert (view.task("iris"), view.task("quine")) == ("classification", "count")
    assert view.tasks == {"classification", "count"}
    assert quantity("accuracy").aim == "higher is better" and quantity("coverage").direction == "nominal"


def test_pooled_reliability_is_that_of_all_points_together(view):
    drawn = [classes_of(seed, 0.4) for seed in SEEDS]
    pooled = CategoricalPredictive(np.concatenate([each.probabilities for each, _ in drawn]))
    wanted = reliability(pooled, np.concatenate([labels for _, labels in drawn]))
    found = classes.pooled_reliability(view, "blunt", "iris")
    held = wanted.count > classes.LEAST_SHARE * wanted.count.sum()
    np.testing.assert_allclose(found.x, wanted.confidence[held], rtol=1e-12)
    np.testing.assert_allclose(found.y, wanted.accuracy[held], rtol=1e-12)


def test_selective_risks_end_at_the_error_rate(view):
    curve = classes.selective_risks(view, "sharp", "iris")
    assert curve.y[-1] == pytest.approx(1.0 - view.results.summary("iris", "sharp", "accuracy").mean, abs=1e-12)


def test_class_and_count_sections_have_their_tables_and_figures(view):
    found = classes.section(view)
    assert [picture.name for picture in found.pictures] == ["reliability", "selective"]
    areas = {row: view.results.summary("iris", row, "selective_area").mean for row in ("sharp", "blunt")}
    assert {len(grid.rows) for grid in found.grids} == {2}
    assert f"{min(areas, key=lambda row: areas[row])} (iris)" in found.answers[0]
    counted = counts.section(view)
    assert [picture.name for picture in counted.pictures] == ["pit"] and "quine" in counted.answers[0]
    shares = counts.pit_shares(view, "counting", "quine")
    assert shares.sum() == pytest.approx(1.0)
    assert counted.grids[0].rows[0][1].value == pytest.approx(0.5 * np.abs(shares - 0.1).sum())


def test_one_versus_all_is_said_beside_its_numbers_and_nowhere_else(view):
    notes = [note for grid in ranking.section(view).grids for note in grid.notes if ONE_VERSUS_ALL in note]
    assert notes == [f"blunt: {ONE_VERSUS_ALL}."]


def test_higher_accuracy_is_better(view):
    marks = scores._marks(view, "accuracy")
    means = {row: view.results.summary("iris", row, "accuracy").mean for row in ("sharp", "blunt")}
    assert marks["iris", max(means, key=lambda row: means[row])] == "best"


def test_the_report_says_which_heads_there_were(view):
    section = protocol.section(view)
    rows = next(grid for grid in section.grids if grid.caption == "Rows of the study")
    assert [line[4].text for line in rows.rows] == ["head = ordinal", "one prior precision for all classes", "–"]
    assert any("Poisson for counts" in text for text in section.answers)
    names = {name for name, _ in study_document(view).glossary}
    assert {"ECE", "randomised PIT"} <= names


def test_regression_has_none_of_it(tmp_path):
    study = small_study(tmp_path, HEAD + ROWS)
    lines = [
        {
            "dataset": "linear",
            "row": "scroll_none",
            "seed": s,
            "code": "converged",
            "status": "",
            "n_test": 9,
            "nll": 1.0,
        }
        for s in SEEDS
    ]
    view = View(study, Results(pd.DataFrame(lines)), Published(study))
    assert view.task("linear") == "regression" and view.task("sine") is None
    assert classes.section(view) is None and counts.section(view) is None
    assert not {"ECE", "randomised PIT"} & {name for name, _ in study_document(view).glossary}
