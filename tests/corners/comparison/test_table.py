"""The score table: numbers, marks, order, and what is never dropped."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corners.comparison.grid import (
    MAX_DECIMALS,
    Cell,
    Grid,
    decimals_for,
    display_width,
    markdown,
    mean_and_error,
    number,
    words,
)
from corners.comparison.outcomes import short_status
from corners.comparison.scores._base import ScoreRule, mean_score
from corners.comparison.table import TABLE_SCORES
from corners.errors import SpecError
from corners.method import FitStatus
from tests.corners.comparison.fakes import EVIL, SEEDS, comparison

NAMES = TABLE_SCORES["regression"]


def nll(fit, split, replicate):
    """Mean of the negative log density, written from the definition."""
    predictive = fit.predict(split.test.inputs, replicate=replicate)
    residuals = split.test.targets - predictive.mean
    return float(np.mean(0.5 * (np.log(2 * np.pi * predictive.variance) + residuals**2 / predictive.variance)))


def record(table, method, score):
    return next(row for row in table.records() if (row["method"], row["score"]) == (method, score))


def test_mean_and_standard_error_are_over_seeds():
    result = comparison()
    values = [nll(result.fits["free"], split, k) for k, split in enumerate(result.splits)]
    row = record(result.table(), "free", "nll")
    assert row["mean"] == pytest.approx(np.mean(values), rel=1e-12)
    assert row["se"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3), rel=1e-12)
    assert (row["n"], row["over"], row["unit"]) == (3, "seeds", "nats per observation")


def test_marks_follow_the_one_sided_paired_test():
    result = comparison()
    table = result.table()
    values = {m: np.array([nll(result.fits[m], s, k) for k, s in enumerate(result.splits)]) for m in ("exact", "free")}
    assert record(table, "exact", "nll")["mark"] == "best"
    p = stats.ttest_1samp(values["free"] - values["exact"], 0.0, alternative="greater").pvalue
    assert record(table, "free", "nll")["mark"] == ("tied" if p >= 0.05 else "worse")


def test_one_seed_takes_the_error_over_test_points_and_says_so():
    result = comparison(seeds=(5,))
    table = result.table()
    predictive = result.fits["exact"].predict(result.splits[0].test.inputs)
    points = -predictive.log_prob(result.splits[0].test.targets)
    row = record(table, "exact", "nll")
    assert row["se"] == pytest.approx(points.std(ddof=1) / np.sqrt(points.size), rel=1e-12)
    assert (row["n"], row["over"]) == (points.size, "test points")
    assert "standard error over the test points" in table.caption and "over seeds" not in table.caption
    assert {row["mark"] for row in table.records()} == {"best", ""}
    assert "With one seed there is no test" in str(table)


def test_failed_seeds_and_unavailable_methods_stay_in_sight():
    table = comparison().table()
    assert record(table, "point", "nll")["n"] == 2
    assert record(table, "absent", "nll") | {"mean": None, "se": None, "n": 0, "mark": ""} == record(
        table, "absent", "nll"
    )
    text = " ".join(str(table).split())
    assert "1 of 3 failed (Cholesky of M at step 3)" in text
    assert "unavailable: its library is not installed" in text
    assert "2 of 3" in text and "features of exact" in text


def test_rows_are_ordered_by_the_first_score_and_the_unavailable_come_last():
    table = comparison().table()
    means = [record(table, method, "nll")["mean"] for method in table.methods[:-1]]
    assert means == sorted(means)
    assert table.methods[-1] == "absent"


def test_a_score_to_be_high_or_near_its_level_orders_the_other_way():
    result = comparison()
    table = result.table(["coverage"])
    distances = [abs(record(table, method, "coverage")["mean"] - 0.9) for method in table.methods[:-1]]
    assert distances == sorted(distances)


@pytest.mark.parametrize("seeds", [SEEDS, (5,)])
def test_text_fits_a_terminal_and_is_aligned(seeds):
    lines = str(comparison(seeds=seeds).table()).splitlines()
    assert max(map(display_width, lines)) <= 100
    start = next(k for k, line in enumerate(lines) if line.startswith("----"))
    rows = lines[start + 1 : start + 4]
    assert len({row.index("±") for row in rows}) == 1
    assert {row.split()[0] for row in rows} == {row[: row.index(" ")] for row in rows} == {"exact", "free", "point"}


def test_long_names_are_packed_into_the_width():
    fits = {"mean_closed_dense_shared": {}, "a_name_of_24_letters_too": {"shift": 0.1}}
    lines = str(comparison(fits=fits, draws=False, hosts={}).table()).splitlines()
    assert max(map(display_width, lines)) <= 100


def test_legend_says_that_the_test_is_anti_conservative():
    text = " ".join(str(comparison().table()).split())
    assert "anti-conservative" in text.replace("anti- ", "anti-")
    assert "chosen on the same data" in text


def test_nothing_usable_still_gives_a_table():
    failed = tuple(FitStatus("failed", detail="it diverged") for _ in SEEDS)
    table = comparison(fits={"only": {"statuses": failed}}, draws=False, hosts={}).table()
    assert "only" in str(table) and "it diverged" in " ".join(str(table).split())
    assert "No method has a seed that can predict" in str(table)
    assert table.records() == []


@dataclass(frozen=True)
class Surprise(ScoreRule):
    """Infinite where the predictive standard deviation is above one half and a bit, else one."""

    def __call__(self, predictive, targets):
        return mean_score("surprise", np.where(predictive.variance > 0.5, np.inf, 1.0), "ratio", "lower")

    @classmethod
    def example(cls):
        return cls()


def test_an_infinite_score_is_shown_and_is_valid_json():
    fits = {"good": {}, "bad": {"variance": 1.0}}
    table = comparison(fits=fits, draws=False, hosts={}, unavailable={}).table([Surprise()])
    row = record(table, "bad", "surprise")
    assert row["mean"] == "inf" and row["se"] is None and row["mark"] == "worse"
    assert json.loads(json.dumps(table.records(), allow_nan=False)) == table.records()
    assert "∞" in str(table)


def test_markdown_escapes_names_from_outside():
    text = comparison(dataset_name=EVIL, unavailable={EVIL: EVIL}).table().to_markdown()
    assert "<script" not in text
    assert "\\|\\*b\\*" in text
    pipes = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in pipes} == {7, 6}  # six columns of scores, five of runs


def test_markdown_marks_are_words():
    text = comparison().table().to_markdown()
    assert "(best)" in text and "**" in text


def test_published_figures_stand_beside_ours():
    table = comparison(published={("exact", "nll"): 2.843}).table()
    grid = table.scores_grid()
    assert grid.headings[:3] == ("method", "NLL", "published")
    exact = next(row for row in grid.rows if row[0].text == "exact")
    free = next(row for row in grid.rows if row[0].text == "free")
    assert (exact[2].text, free[2].text) == ("2.843", "–")


def test_dataframe_has_the_records():
    table = comparison().table()
    frame = table.to_dataframe()
    assert len(frame) == len(table.records()) == 4 * len(NAMES)
    assert frame["mean"].dtype == float and frame["mean"].isna().sum() == len(NAMES)


def test_an_empty_list_of_scores_is_refused():
    with pytest.raises(SpecError, match="at least one score"):
        comparison().table([])


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["converged"], "converged"),
        (["converged"] * 2, "both converged"),
        (["stopped_early"] * 3, "all 3 stopped early"),
        (["stopped_early", "stopped_early", "step_limit"], "2 of 3 stopped early, 1 of 3 hit the step limit"),
    ],
)
def test_statuses_are_counted(codes, expected):
    assert short_status(tuple(FitStatus(code) for code in codes)) == expected


def test_remarks_are_counted_without_their_numbers():
    statuses = tuple(FitStatus("converged", remarks=(f"noise collapsed: share {share}",)) for share in (0.01, 0.02))
    assert short_status(statuses) == "both converged; noise collapsed in both"


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.0, 3, "0"),
        (-1.26, 2, "−1.3"),
        (1234567.0, 3, "1.23×10⁶"),
        (-2e-7, 1, "−2×10⁻⁷"),
        (12345.0, 3, "12,345"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "−∞"),
        (math.nan, 3, "–"),
        (None, 3, "–"),
    ],
)
def test_numbers(value, digits, expected):
    assert number(value, digits).text == expected


@given(st.floats(1e-12, 1e12), st.integers(1, 6))
def test_a_number_is_shown_to_its_digits(value, digits):
    text = number(value, digits).text.replace(",", "").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    mantissa, _, exponent = text.partition("×10")
    shown = float(mantissa) * 10.0 ** int(exponent or 0)
    assert abs(shown - value) <= 0.5000001 * 10.0 ** (math.floor(math.log10(value)) + 1 - digits) or (
        value >= 10.0**digits and abs(shown - value) <= 0.5  # whole numbers keep all their digits
    )


@pytest.mark.parametrize(
    ("errors", "expected"), [([0.012], 3), ([0.4], 1 + 1), ([3.0], 1), ([25.0], 0), ([0.0, math.nan, 0.05], 3)]
)
def test_decimals_give_the_error_two_digits(errors, expected):
    assert decimals_for(errors) == expected


def test_decimals_without_an_error_come_from_the_means():
    assert decimals_for([math.nan], [1.234]) == 2
    assert decimals_for([1e-12]) == MAX_DECIMALS


def test_an_error_that_rounds_away_keeps_a_digit():
    assert mean_and_error(0.5, 0.0003, 2).text == "0.50 ± 0.0003"
    assert mean_and_error(0.5, 0.0, 2).text == mean_and_error(0.5, 8e-17, 2).text == "0.50 ± 0.00"
    assert mean_and_error(0.5, math.nan, 2).text == "0.50"


@given(st.text(max_size=40))
def test_markdown_text_cannot_open_a_tag_or_a_cell(text):
    shown = markdown(text)
    assert "<" not in shown and ">" not in shown and "\n" not in shown
    assert shown.count("|") == shown.count("\\|")


@given(st.lists(st.tuples(st.text(min_size=1, max_size=12), st.floats(-1e6, 1e6)), min_size=1, max_size=5))
def test_text_columns_line_up_whatever_the_names(rows):
    names = [name if name.isprintable() else "x" for name, _ in rows]
    grid = Grid(
        "caption",
        ("name", "value", "mark"),
        tuple((words(n), number(v), Cell("m")) for n, (_, v) in zip(names, rows, strict=True)),
    )
    lines = grid.to_text().splitlines()
    body = lines[next(k for k, line in enumerate(lines) if line.startswith("---")) + 1 :]
    assert len({display_width(line) for line in body}) == 1
