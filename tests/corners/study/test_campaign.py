"""A run: what it plans, in which order, what it keeps, how it is interrupted and what it says."""

import json

import pytest

from corners.errors import DataError, OutputError, SpecError, UnavailableError
from corners.study.campaign import Clock, run_study
from corners.study.execute import Failure, Job
from corners.study.outstanding import Planned, plan_study
from corners.study.store import Store
from tests.corners.study.studies import HEAD, ROWS, finished_names, result_of, small_study

DATE = "2026-01-31"
CELLS = ["linear--linear_model--5-6", "linear--linear_model--7-7", "linear--scroll_none--5-6"]


@pytest.fixture
def study(tmp_path):
    return small_study(tmp_path)


class Working:
    """Stands in for training: remembers the jobs, and fails or is interrupted where it is told to."""

    def __init__(self, failing=(), interrupted_at=None):
        self.failing, self.interrupted_at = set(failing), interrupted_at
        self.jobs: list[Job] = []

    @property
    def names(self):
        return [job.cell.name for job in self.jobs]

    def __call__(self, job, watch):
        self.jobs.append(job)
        if job.cell.name == self.interrupted_at:
            raise KeyboardInterrupt
        watch(1, 2, 0.5)
        return Failure("it broke", "Traceback") if job.cell.name in self.failing else result_of(job)


class Hearing:
    def __init__(self):
        self.said = []

    def begin(self, total):
        self.said.append(("begin", total))

    def watch(self, cell, step, running, best):
        self.said.append(("watch", cell.name, step))

    def finished(self, cell, message, done, seconds_left):
        self.said.append((cell.name, message, done, seconds_left))


def names(study):
    return [cell.name for cell in study.cells()]


def test_everything_is_run_once_and_kept(study):
    work = Working()
    ending = run_study(study, date=DATE, command="corners run small", work=work)
    assert sorted(work.names) == sorted(names(study)) == finished_names(study) == sorted(ending.ran)
    assert ending.failed == () and ending.left == () and ending.skipped == () and not ending.interrupted
    assert {(job.date, job.command) for job in work.jobs} == {(DATE, "corners run small")}
    again = Working()
    ending = run_study(study, date=DATE, work=again)
    assert again.jobs == [] and ending.ran == () and sorted(ending.skipped) == sorted(names(study))


def test_a_cell_is_kept_before_the_next_one_begins(study):
    def work(job, watch):
        assert finished_names(study) == sorted(done)
        done.append(job.cell.name)
        return result_of(job)

    done: list[str] = []
    run_study(study, date=DATE, work=work)
    assert len(done) == len(names(study))


def test_long_cells_start_first(tmp_path):
    text = HEAD.replace('"linear", "sine"', '"linear", "diabetes"') + ROWS
    efforts = [(each.cell.dataset, len(each.cell.seeds)) for each in plan_study(small_study(tmp_path, text))]
    assert efforts[:2] == [("diabetes", 2)] * 2 and efforts[-2:] == [("linear", 1)] * 2
    assert efforts == sorted(efforts, key=lambda each: -each[1])


def test_a_failure_does_not_stop_the_rest(study):
    work = Working(failing=[CELLS[0], CELLS[1]])
    ending = run_study(study, date=DATE, work=work)
    assert len(work.jobs) == len(names(study)) and len(ending.ran) == len(names(study)) - 2
    assert [(cell.name, reason) for cell, reason in ending.failed] == [(name, "it broke") for name in CELLS[:2]]
    failed = json.loads((study.runs / f"{CELLS[0]}.failed.json").read_text(encoding="utf-8"))
    assert (failed["reason"], failed["traceback"], failed["seeds"]) == ("it broke", "Traceback", [5, 6])
    assert {each.cell.name: each.reason for each in plan_study(study) if each.state == "failed"} == dict.fromkeys(
        CELLS[:2], "it broke"
    )


def test_what_failed_is_tried_again_and_success_clears_it(study):
    run_study(study, date=DATE, work=Working(failing=[CELLS[0]]))
    work = Working()
    ending = run_study(study, date=DATE, work=work)
    assert work.names == [CELLS[0]] == list(ending.ran) and ending.failed == ()
    assert not list(study.runs.glob("*.failed.json"))


def test_ctrl_c_keeps_what_is_finished_and_the_next_run_goes_on(study):
    order = [each.cell.name for each in plan_study(study)]
    ending = run_study(study, date=DATE, work=Working(interrupted_at=order[3]))
    assert ending.interrupted and list(ending.ran) == order[:3] and list(ending.left) == order[3:]
    assert finished_names(study) == sorted(order[:3])
    work = Working()
    ending = run_study(study, date=DATE, work=work)
    assert work.names == order[3:] and list(ending.skipped) == order[:3] and not ending.interrupted


def test_ctrl_c_while_a_cell_is_written(study, monkeypatch):
    plain = Store.write

    def write(self, cell, result):
        if cell.name == CELLS[0]:
            raise KeyboardInterrupt
        plain(self, cell, result)

    monkeypatch.setattr(Store, "write", write)
    ending = run_study(study, date=DATE, work=Working())
    assert ending.interrupted and CELLS[0] in ending.left


def test_stale_results_are_computed_again_and_counted(tmp_path, study):
    run_study(study, date=DATE, work=Working())
    changed = small_study(tmp_path, HEAD + ROWS.replace("hidden = []", "hidden = [2]"))
    work = Working()
    ending = run_study(changed, date=DATE, work=work)
    own = [name for name in names(study) if "linear_model" in name]
    assert sorted(work.names) == sorted(own) == sorted(ending.stale) == sorted(ending.ran)
    assert run_study(changed, date=DATE, work=Working()).stale == ()


@pytest.mark.parametrize(
    ("only", "count"),
    [
        (["linear"], 4),
        (["scroll_none"], 4),
        (["linear/scroll_none"], 2),
        (["*/linear*"], 4),
        (["s*"], 6),
        (["sine", "linear"], 8),
    ],
)
def test_only_some(study, only, count):
    ending = run_study(study, date=DATE, only=only, work=Working())
    assert len(ending.ran) == count == len(finished_names(study)) and ending.skipped == ()


def test_a_pattern_that_fits_nothing_names_what_there_is(study):
    with pytest.raises(SpecError, match=r"'yacht' fits no cell.*\(linear, sine\).*\(scroll_none, linear_model\)"):
        run_study(study, date=DATE, only=["linear", "yacht"], work=Working())


REFUSED = {
    "[[rows]]\nname = 'nuts'\noptions = { drows = 3 }\n": (SpecError, "row 'nuts', options"),
    "[[rows]]\nname = 'laplace'\noptions = { structure = 'x' }\n": (SpecError, "row 'laplace', options structure"),
}


@pytest.mark.parametrize("row", REFUSED)
def test_mistakes_in_options_are_refused_before_anything_runs(tmp_path, row):
    work = Working()
    error, message = REFUSED[row]
    with pytest.raises(error, match=message):
        run_study(small_study(tmp_path, HEAD + ROWS + row), date=DATE, work=work)
    assert work.jobs == []


def test_a_table_of_classes_is_refused_before_anything_runs(tmp_path):
    work = Working()
    rows = '[[rows]]\nname = "map"\n'
    with pytest.raises(SpecError, match="'map' is for regression tables, and this one is a classification table"):
        run_study(small_study(tmp_path, HEAD.replace('"sine"', '"iris"') + rows), date=DATE, work=work)
    assert work.jobs == []


def test_results_of_a_newer_version_are_refused_before_anything_runs(study):
    study.runs.mkdir(parents=True)
    (study.runs / f"{CELLS[2]}.json").write_text('{"format": 2}', encoding="utf-8")
    work = Working()
    with pytest.raises(DataError, match="format 2"):
        run_study(study, date=DATE, work=work)
    assert work.jobs == []


def test_a_folder_that_cannot_be_written_is_found_before_anything_runs(study):
    study.runs.parent.touch()
    work = Working()
    with pytest.raises(OutputError):
        run_study(study, date=DATE, work=work)
    assert work.jobs == []


def test_a_method_that_cannot_be_made_here_is_a_failure(study, monkeypatch):
    from corners.study import cells

    plain = cells.make_method

    def make(name, **options):
        if name == "scroll_none":
            raise UnavailableError("its library is missing")
        return plain(name, **options)

    monkeypatch.setattr(cells, "make_method", make)
    ending = run_study(study, date=DATE, work=Working())
    assert {cell.row for cell, _ in ending.failed} == {"scroll_none"} and len(ending.ran) == 4
    assert {reason for _, reason in ending.failed} == {"its library is missing"}


def test_planning_writes_nothing(study):
    assert {each.state for each in plan_study(study)} == {"missing"}
    assert not study.runs.exists()


def test_what_is_heard(study):
    hearing = Hearing()
    run_study(study, date=DATE, only=["linear"], work=Working(failing=[CELLS[1]]), listener=hearing)
    assert hearing.said[0] == ("begin", 4)
    ends = [said for said in hearing.said if len(said) == 4]
    assert [done for _, _, done, _ in ends] == [1, 2, 3, 4]
    assert {name: message for name, message, _, _ in ends}[CELLS[1]] == "failed: it broke"
    assert ("watch", CELLS[0], 1) in hearing.said
    assert ends[-1][3] == 0.0 and all(left is not None for *_, left in ends)


def test_an_ending_is_plain_data(study):
    found = run_study(study, date=DATE, work=Working(failing=[CELLS[0]])).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["failed"] == [{"dataset": "linear", "row": "linear_model", "seeds": [5, 6], "reason": "it broke"}]


def test_processes_train_real_cells(tmp_path):
    """The same numbers as in this process."""
    study = small_study(tmp_path, HEAD.replace(', "sine"', "") + ROWS)
    ending = run_study(study, date=DATE, workers=2)
    assert ending.failed == () and len(ending.ran) == 4
    apart = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in study.runs.glob("*.json")}
    for path in study.runs.glob("*.json"):
        path.unlink()
    run_study(study, date=DATE)
    for path in study.runs.glob("*.json"):
        here = json.loads(path.read_text(encoding="utf-8"))
        assert here["fingerprint"] == apart[path.name]["fingerprint"]
        for one, other in zip(here["records"], apart[path.name]["records"], strict=True):
            timed = {"fit_seconds", "predict_seconds"}
            assert {k: v for k, v in one["values"].items() if k not in timed} == {
                k: v for k, v in other["values"].items() if k not in timed
            }


# Time left


def planned(study, position, effort=10.0):
    return Planned(study.cells()[position], "missing", "f", effort)


def test_time_left_is_that_of_the_row_at_the_speed_so_far(study):
    """Cells 0 and 1 are scroll_none, 2 and 3 linear_model: 3 s an effort against 1 s, two at a time."""
    todo = [planned(study, 0), planned(study, 1, 20.0), planned(study, 2), planned(study, 3, 5.0)]
    clock = Clock(todo)
    assert clock.finish(todo[0], 30.0, 15.0) == pytest.approx((20.0 + 10.0 + 5.0) * 3.0 / 2.0)
    assert clock.finish(todo[2], 10.0, 20.0) == pytest.approx((20.0 * 3.0 + 5.0) / 2.0)
    assert clock.finish(todo[1], 60.0, 50.0) == pytest.approx(5.0 / 2.0)
    assert clock.finish(todo[3], 5.0, 52.5) == 0.0


def test_results_of_earlier_runs_inform_the_time_left(study):
    todo = [planned(study, 1), planned(study, 2)]
    clock = Clock(todo, [(planned(study, 3), 7.0)])
    assert clock.finish(todo[0], 20.0, 20.0) == pytest.approx(7.0)


def test_nothing_is_said_about_time_before_anything_is_known(study):
    todo = [planned(study, 0), planned(study, 1)]
    assert Clock(todo).finish(todo[0], None, 3.0) is None
