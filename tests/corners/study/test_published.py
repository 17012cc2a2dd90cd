"""Published figures: read as they stand, found under any known name, ordered with a margin."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.data.aliases import canonical_name
from corners.data.catalogue import CATALOGUE
from corners.errors import DataError, SpecError
from corners.study.published import MARGIN, PublishedTable, ordered_pairs, read_published, read_table
from corners.study.spec import read_study
from tests.corners.study.synthetic import PUBLISHED, make_study

REGRESSION = {"boston", "concrete", "energy", "kin8nm", "naval", "power", "wine", "yacht"}
CLASSIFICATION = {
    *("australian", "banknote", "blood", "breast_cancer", "credit-g", "heart"),
    *("ionosphere", "iris", "magic", "pima", "sonar", "spambase"),
}


@pytest.mark.parametrize(("task", "count", "names"), [("regression", 13, REGRESSION), ("class", 5, CLASSIFICATION)])
def test_every_committed_table_reads_and_names_known_data_sets(task, count, names):
    tables = [read_table(path) for path in sorted(PUBLISHED.glob(f"*{task}*.csv"))]
    assert len(tables) == count
    assert {name for table in tables for line in table.figures.values() for name in line} == names
    assert {canonical_name(name) for name in names} <= set(CATALOGUE)


def test_a_row_may_have_a_label_and_no_tables(tmp_path):
    """For a contrast alone: without tables of its own it would be compared with the study's."""
    study = make_study(tmp_path)
    published = read_published(study)
    dense = study.row("scroll_dense")
    assert published.table_name(dense, "nll") is not None
    assert published.table_name(replace(dense, published_tables={}), "nll") is None


def test_the_readme_names_the_source_and_only_tables_that_exist():
    text = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert "arXiv:2605.08446" in text
    named = set(re.findall(r"`((?:linear_)?regression_[a-z_]+)`", text))
    assert named <= {path.stem for path in PUBLISHED.glob("*.csv")}


@pytest.mark.parametrize("name", ["wine", "wine_red", "winequality-red"])
def test_a_data_set_is_found_under_any_name_it_is_known_by(name):
    assert read_table(PUBLISHED / "regression_nll.csv").figure("MAP", name) == 0.973


def test_what_the_table_leaves_out_is_absent(tmp_path):
    (tmp_path / "t.csv").write_text("method,a,b\nm,1.5,\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv")
    assert (table.figure("m", "a"), table.figure("m", "b"), table.figure("n", "a")) == (1.5, None, None)


@pytest.mark.parametrize(
    "text", ["", "name,a\nm,1\n", "method,a\nm,1\nm,2\n", "method,a\nm,1,2\n", "method,a\nm,nan\n", "method,a\nm,x\n"]
)
def test_a_file_that_is_no_table_is_refused_by_name(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.csv"):
        read_table(tmp_path / "t.csv")


@given(st.dictionaries(st.text(max_size=3), st.floats(-5.0, 5.0), max_size=8), st.floats(0.0, 1.0))
def test_ordered_pairs_are_all_pairs_beyond_the_margin(figures, margin):
    expected = {(a, b) for a in figures for b in figures if figures[b] - figures[a] > margin}
    found = ordered_pairs(figures, margin)
    assert {(each.better, each.worse) for each in found} == expected and len(found) == len(expected)
    assert all(each.published == figures[each.worse] - figures[each.better] for each in found)


def test_the_margin_is_above_the_rounding_of_the_tables():
    assert MARGIN > 2 * 0.0005


def test_a_row_has_its_own_tables_before_those_of_the_study(tmp_path):
    study = make_study(tmp_path)
    published = read_published(study)
    dense, two = study.row("scroll_dense"), study.row("scroll_dense_2l")
    assert published.figure(dense, "linear", "nll") == 3.4  # yacht, Bethe-FG
    assert published.figure(two, "linear", "nll") == 3.253  # yacht, Bethe-FG-2L
    assert published.figure(two, "linear", "rmse") is None
    assert published.figure(study.row("leave_one_out"), "linear", "nll") is None
    assert published.contrast("regression_two_minus_one_layer_nll", dense, "linear") == -0.147
    assert published.quantities() == ("nll", "rmse")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('nll = "regression_nll"', 'nll = "regresion_nll"', "Did you mean 'regression_nll'"),
        ('published = "Bethe-Obs"', 'published = "Bethe-Ob"', "row 'scroll_none'.*Did you mean 'Bethe-Obs'"),
        ('"regression_two_minus_one_layer_nll"', '"two_minus_one"', "no published table is called 'two_minus_one'"),
    ],
)
def test_a_table_or_label_that_is_not_there_is_refused(tmp_path, old, new, said):
    path = make_study(tmp_path).folder / "study.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=said):
        read_published(read_study(path))


def test_a_study_may_bring_its_own_tables(tmp_path):
    study = make_study(tmp_path)
    own = study.folder / "published"
    own.mkdir()
    (own / "regression_rmse.csv").write_text("method,yacht\nMAP,1.25\n", encoding="utf-8")
    published = read_published(study)
    assert published.figure(study.row("map"), "linear", "rmse") == 1.25
    assert isinstance(published.table("regression_nll"), PublishedTable)
