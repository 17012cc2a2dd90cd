"""The written report: order, numbers, escaping, nothing loaded from elsewhere, nothing half written."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from corners.comparison.comparison import check_writable
from corners.comparison.grid import number
from corners.comparison.sections.prediction import nll_differences
from corners.errors import OutputError
from corners.method import FitStatus
from tests.corners.comparison.fakes import EVIL, LinearFit, comparison

QUESTIONS = ("predicts best", "with the truth", "ordering", "not identified", "was it run")
LIMIT = 2_000_000


class Page(HTMLParser):
    """Tags with their attributes, text of headings, cells of tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.headings, self.path = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "wbr"):
            self.path.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append({"text": "", "value": None})
        if tag == "data":
            self.tables[-1][-1][-1]["value"] = float(dict(attrs)["value"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([int(tag[1]), ""])

    def handle_endtag(self, tag):
        assert self.path.pop() == tag

    def handle_data(self, data):
        if self.path and re.fullmatch("h[1-6]", self.path[-1]):
            self.headings[-1][1] += data
        if "td" in self.path or ("tbody" in self.path and "th" in self.path):
            self.tables[-1][-1][-1]["text"] += data


@pytest.fixture(scope="module")
def result():
    return comparison()


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    return result.report(tmp_path_factory.mktemp("report") / "new" / "folder")


@pytest.fixture(scope="module")
def page(report):
    return Page(report.page.read_text(encoding="utf-8"))


def test_sections_answer_in_order(page):
    titles = [text for level, text in page.headings if level == 2]
    numbered = [title for title in titles if re.match(r"\d\.", title)]
    assert len(numbered) == len(QUESTIONS)
    assert all(part in title for part, title in zip(QUESTIONS, numbered, strict=True))
    assert titles[0] == "What is compared" and titles[-1] == "What the words mean"


def test_every_number_of_the_score_table_is_that_of_the_records(result, page):
    table = next(rows for rows in page.tables if rows[1][0]["text"] == result.table().methods[0] and len(rows[1]) == 6)
    names = ("nll", "rmse", "crps", "calibration_error", "coverage")
    records = {(row["method"], row["score"]): row for row in result.records()}
    seen = 0
    for row in table[1:]:
        for cell, name in zip(row[1:], names, strict=True):
            record = records[row[0]["text"], name]
            if record["mean"] is None:
                assert cell["text"].startswith("–")
                continue
            assert cell["value"] == record["mean"]
            mean, error = re.match(r"([−\d.,]+) ± ([\d.]+)", cell["text"]).groups()
            decimals = len(mean.partition(".")[2])
            assert float(mean.replace("−", "-")) == pytest.approx(record["mean"], abs=0.5000001 * 10.0**-decimals)
            assert float(error) == pytest.approx(record["se"], abs=0.5000001 * 10.0 ** -len(error.partition(".")[2]))
            assert cell["text"].endswith(record["mark"] if record["mark"] in ("best", "tied") else cell["text"][-1])
            seen += 1
    assert seen == 15


def test_every_shown_number_rounds_the_value_behind_it(page):
    for rows in page.tables:
        for cell in (cell for row in rows for cell in row if cell["value"] is not None):
            shown = re.match(r"[−\d.,]+", cell["text"])
            if shown and "×" not in cell["text"] and "%" not in cell["text"]:
                text = shown.group().replace("−", "-").replace(",", "")
                step = 10.0 ** -len(text.partition(".")[2])
                assert float(text) == pytest.approx(cell["value"], abs=0.5000001 * step, rel=2e-3)


def test_failed_and_unavailable_are_in_the_first_section_with_reasons(report):
    text = report.page.read_text(encoding="utf-8")
    first = text[text.index('id="prediction"') : text.index('id="truth"')]
    assert "Cholesky of M at step 3" in first and "its library is not installed" in first


def test_the_last_section_holds_the_provenance(report):
    text = report.page.read_text(encoding="utf-8")
    last = text[text.index('id="run"') :]
    for part in (
        "corners compare hand_made.csv --target y",
        "0123456789abcdef",
        "1.5 minutes",
        "numpy 2.0",
        "patience",
    ):
        assert part in last
    assert "R-hat 1.2 exceeds 1.01" in last and "Learned hyperparameters" in last


def test_free_beliefs_are_not_called_faulty(report):
    text = report.text.read_text(encoding="utf-8")
    assert "free is free: a free belief is fitted to predict and is not an approximation to the posterior" in text


def test_the_page_needs_nothing_else(report, page):
    text = report.page.read_text(encoding="utf-8")
    assert len(text.encode()) < LIMIT
    assert "<script" not in text and "@import" not in text and "url(" not in text
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "data", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:image/"))
        assert tag not in ("link", "script", "iframe", "object", "base")


def test_the_page_is_accessible_and_made_for_small_screens(page):
    assert [attributes["lang"] for tag, attributes in page.tags if tag == "html"] == ["en"]
    assert any(attributes.get("name") == "viewport" for tag, attributes in page.tags if tag == "meta")
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == 7 and all(len(attributes["alt"]) > 30 for attributes in images)
    tables = sum(tag == "table" for tag, _ in page.tags)
    assert tables == sum(tag == "caption" for tag, _ in page.tags)
    assert tables == sum(attributes.get("class") == "scroll" for _, attributes in page.tags)


def test_markdown_has_the_same_sections_and_its_figures_exist(report):
    text = report.text.read_text(encoding="utf-8")
    headings = re.findall(r"^## \d\. (.*)$", text, flags=re.MULTILINE)
    assert all(part in title for part, title in zip(QUESTIONS, headings, strict=True))
    figures = re.findall(r"\]\((figures/[a-z]+\.png)\)", text)
    assert len(figures) == 7
    for name in figures:
        assert (report.folder / name).read_bytes().startswith(b"\x89PNG")
    assert not re.search(r"[^\n]\n(#|\*[A-Z]|\|[^\n]*\|\n[^|\n])", text.replace("\n\n", "\0"))


def test_json_holds_the_records_and_survives_a_round_trip(result, report):
    numbers = json.loads(report.numbers.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert numbers["records"] == result.records()
    assert numbers["seed_records"] == result.seed_records()
    assert numbers["provenance"]["commit"] == "0123456789abcdef"
    assert {row["method"] for row in numbers["agreement"]} == {"exact", "free"}
    assert {row["pair"] for row in numbers["ordering"]} == {"MAP <= Bethe", "Bethe <= ELBO"}
    assert len(numbers["learned"]) == 8 and len(numbers["identifiability"]) > 6


def test_nothing_half_written_is_left_behind(report):
    assert sorted(path.name for path in report.folder.iterdir()) == [
        "figures",
        "index.html",
        "report.md",
        "scores.json",
    ]


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are made but not rendered, which is what takes the time."""
    monkeypatch.setattr("corners.comparison.figures.render", lambda _: b"png")


@pytest.mark.usefixtures("undrawn")
def test_names_from_outside_are_escaped_everywhere(tmp_path):
    failed = (FitStatus("failed", detail=EVIL), FitStatus("converged", remarks=(EVIL,)))
    result = comparison(
        seeds=(5, 6),
        fits={EVIL: {}, "other": {"statuses": failed}},
        dataset_name=EVIL,
        dataset_description={EVIL: EVIL},
        unavailable={f"absent {EVIL}": EVIL},
        reference_failures={(EVIL, 6): EVIL},
        hosts={"other": EVIL},
        method_summaries={EVIL: EVIL},
        split_fields={"feature_names": [EVIL, f"2 {EVIL}"], "target_name": EVIL},
    )
    report = result.report(tmp_path)
    for text in (report.page.read_text(encoding="utf-8"), report.text.read_text(encoding="utf-8")):
        assert "<script" not in text and "&lt;script&gt;" in text
    lines = [line for line in report.text.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert not any(re.search(r"(?<!\\)\|\*b", line) for line in lines)
    Page(report.page.read_text(encoding="utf-8"))  # tags nest


@pytest.mark.usefixtures("undrawn")
def test_one_seed_without_draws_says_what_cannot_be_said(tmp_path):
    report = comparison(seeds=(5,), draws=False).report(tmp_path)
    text = report.text.read_text(encoding="utf-8")
    assert "With one seed nothing can be said about other splits or starts" in text
    assert "There is no sample from a posterior to compare with: none was asked for" in text
    assert "standard error over the test points" in text and "standard error over seeds" not in text
    assert not (tmp_path / "figures" / "marginals.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_comparison_in_which_nothing_worked_still_reports(tmp_path):
    failed = tuple(FitStatus("failed", detail="it diverged") for _ in range(3))
    report = comparison(fits={"only": {"statuses": failed}}, draws=False, hosts={}).report(tmp_path)
    text = report.page.read_text(encoding="utf-8")
    assert "No method can be called best" in text and "it diverged" in text


@pytest.mark.parametrize("folder", ["file", "file/below", "file/far/below"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch, folder):
    (tmp_path / "file").write_text("in the way")
    result = comparison()
    monkeypatch.setattr(LinearFit, "predict", None)  # predicting would raise another error
    with pytest.raises(OutputError, match=r"cannot write a report to .*file is not a folder; choose another folder"):
        result.report(tmp_path / folder)


def test_a_system_that_refuses_is_quoted(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("corners.comparison.report.tempfile.TemporaryFile", refuse)
    with pytest.raises(OutputError, match=r"cannot be written to \(Permission denied\)"):
        check_writable(tmp_path / "new")


def test_checking_a_folder_creates_nothing(tmp_path):
    assert check_writable(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_a_file_that_cannot_be_replaced_leaves_no_parts(tmp_path):
    (tmp_path / "index.html").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*index\.html"):
        comparison(seeds=(5,), draws=False, fits={"exact": {}}, hosts={}).report(tmp_path)
    assert not list(tmp_path.rglob("*.part"))


def test_dash_stands_for_what_is_not_there():
    assert number(None).text == "–"


@pytest.mark.parametrize("shift", [0.02, 0.1, 0.3])
def test_an_interval_leaves_out_zero_exactly_where_the_test_says_worse(shift):
    table = comparison(fits={"exact": {}, "moved": {"shift": shift}}, draws=False, hosts={}, unavailable={}).table()
    best, other = nll_differences(table)
    assert (best.mean, best.low, best.high) == (0.0, 0.0, 0.0)
    assert (other.low > 0.0) == (table.columns[0].ranking[other.method].mark == "worse")


def test_one_seed_takes_its_intervals_from_the_test_points():
    result = comparison(seeds=(5,), draws=False)
    best, other = nll_differences(result.table())[:2]
    scores = [result.score("nll", method, 0).pointwise for method in (other.method, best.method)]
    difference = scores[0] - scores[1]
    assert other.mean == pytest.approx(difference.mean(), rel=1e-9)
    half = 1.645 * difference.std(ddof=1) / difference.size**0.5
    assert (other.high - other.low) / 2 == pytest.approx(half, rel=1e-9)
