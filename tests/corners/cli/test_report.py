"""``corners report``: writes beside the study, checks without writing, and says what differs."""

import pytest

from tests.corners.study.synthetic import draw_nothing, make_study, run_all


@pytest.fixture
def study(tmp_path, monkeypatch):
    draw_nothing(monkeypatch)
    made = make_study(tmp_path / "reports", seeds=3)
    run_all(made)
    return made


def test_a_report_is_written_and_its_page_named(command, study):
    ran = command("report", str(study.folder))
    assert ran.code == 0 and ran.out.strip() == str(study.folder / "report.html")
    assert "lines from" in ran.err
    assert {"report.html", "report.md", "scores.csv.gz", "failures.csv", "provenance.json"} <= {
        path.name for path in study.folder.iterdir()
    }


def test_a_check_passes_without_result_files_and_writes_nothing(command, study):
    command("report", str(study.folder), "--quiet")
    for path in study.runs.iterdir():
        path.unlink()
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in study.folder.iterdir() if path.is_file()}
    ran = command("report", str(study.folder / "study.toml"), "--check")
    assert ran.code == 0 and "is what its results give" in ran.out
    assert before == {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in study.folder.iterdir() if path.is_file()
    }


def test_a_check_fails_on_a_number_typed_by_hand(command, study):
    command("report", str(study.folder))
    path = study.folder / "report.md"
    path.write_text(path.read_text(encoding="utf-8").replace("published", "publisched", 1), encoding="utf-8")
    ran = command("report", str(study.folder), "--check")
    assert ran.code == 1 and ran.out == "" and "report.md" in ran.err and "publisched" in ran.err


def test_quiet_says_nothing_where_all_is_well(command, study):
    ran = command("report", str(study.folder), "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = command("report", str(study.folder), "-q", "--check")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_json_is_one_record_a_mean(command, study):
    ran = command("report", str(study.folder), "--json")
    records = ran.json()
    assert {"dataset", "row", "quantity", "mean", "se", "seeds", "published"} == records[0].keys()
    assert ("linear", "map", "nll") in {(each["dataset"], each["row"], each["quantity"]) for each in records}


def test_a_study_without_results_or_without_a_file_is_refused_in_one_sentence(command, study, tmp_path):
    for path in study.runs.iterdir():
        path.unlink()
    for folder, words in ((study.folder, "corners run"), (tmp_path / "nowhere", "study.toml")):
        ran = command("report", str(folder), "--check")
        assert ran.code == 2 and ran.out == "" and words in ran.err and ran.err.count("\n") == 1
