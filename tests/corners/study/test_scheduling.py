"""Jobs in this process, in processes and on a cluster: streamed, nothing lost, nothing finished run twice."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from corners.errors import SpecError, UnavailableError
from corners.study import campaign
from corners.study.scheduling import Lost, schedule
from corners.study.store import Store, read_cell
from tests.corners.study.studies import (
    HEAD,
    ROWS,
    deadly_cell,
    die_once,
    finished_names,
    log_start,
    small_study,
    starts,
    wait_for,
)


def squared(k: int) -> int:
    return k * k


def process_facts(_: int) -> tuple[int, str | None]:
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


def waits_for_the_second(folder: Path, job: int) -> int:
    """The first job ends when somebody has received the second one's result."""
    if job == 0:
        wait_for((folder / "received").exists)
    return job


def deadly(folder: Path, killer: int, times: int, job: int) -> int:
    """The job ``killer`` kills its process so many times, after half of the others are received."""
    log_start(folder, str(job))
    if job == killer:
        wait_for((folder / "half").exists)
        for count in range(times):
            die_once(folder / f"killed{count}")
    return job


def received(folder: Path, results) -> dict:
    """Every result; says when there are three."""
    found = {}
    for position, result in results:
        assert position not in found
        found[position] = result
        if len(found) == 3:
            (folder / "half").touch()
            (folder / "before").write_text(" ".join(map(str, found)), encoding="utf-8")
    return found


def test_one_worker_is_this_process():
    assert list(schedule(squared, [3, 1, 2])) == [(0, 9), (1, 1), (2, 4)]
    assert dict(schedule(process_facts, [0]))[0][0] == os.getpid()


def test_one_worker_runs_a_job_only_when_its_result_is_wanted():
    """What was finished is kept before the next begins."""
    begun = []
    results = schedule(begun.append, [1, 2, 3])
    next(results)
    assert begun == [1]


def test_processes_have_the_threads_they_were_given():
    found = dict(schedule(process_facts, range(4), workers=2, threads=1))
    assert sorted(found) == [0, 1, 2, 3]
    assert os.getpid() not in {process for process, _ in found.values()}
    assert {threads for _, threads in found.values()} == {"1"}


def test_results_come_as_they_finish(tmp_path):
    order = []
    for position, _ in schedule(partial(waits_for_the_second, tmp_path), [0, 1], workers=2):
        order.append(position)
        (tmp_path / "received").touch()
    assert order == [1, 0]


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    found = received(tmp_path, schedule(partial(deadly, tmp_path, 1, 1), range(8), workers=2))
    assert found == {k: k for k in range(8)}
    assert (tmp_path / "killed0").exists()
    for job in (tmp_path / "before").read_text(encoding="utf-8").split():
        assert starts(tmp_path).count(job) == 1, "a finished job was run again"


def test_a_job_that_kills_its_process_again_is_lost_alone(tmp_path):
    found = received(tmp_path, schedule(partial(deadly, tmp_path, 1, 2), range(6), workers=2))
    assert {k: found[k] for k in found if k != 1} == {k: k for k in (0, 2, 3, 4, 5)}
    assert isinstance(found[1], Lost) and "memory" in found[1].reason


def test_a_run_that_is_given_up_leaves_no_process(tmp_path):
    results = schedule(process_facts, range(50), workers=2)
    _, (process, _) = next(results)
    results.close()
    wait_for(lambda: _ended(process), 30.0)


def test_a_finished_run_leaves_no_process():
    found = dict(schedule(process_facts, range(4), workers=2))
    for process in {process for process, _ in found.values()}:
        wait_for(partial(_ended, process), 30.0)


def _ended(process: int) -> bool:
    return not Path(f"/proc/{process}").exists() or "Z" in _state(process)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_no_worker_at_all_is_refused():
    with pytest.raises(SpecError, match="workers counts processes"):
        schedule(squared, [1], workers=0)


def test_nobody_at_the_address(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("corners.study.scheduling.CONNECT_SECONDS", 0.3)
    with pytest.raises(UnavailableError, match=r"no scheduler answers at 'tcp://127\.0\.0\.1:9'.*dask scheduler"):
        list(schedule(squared, [1], scheduler="tcp://127.0.0.1:9"))


def test_without_distributed_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(UnavailableError, match=r"bethe-corners\[cluster\]"):
        list(schedule(squared, [1], scheduler="tcp://127.0.0.1:9"))


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made:
        yield made.scheduler_address


def test_a_cluster_runs_them_elsewhere(cluster):
    found = dict(schedule(process_facts, range(4), scheduler=cluster))
    assert sorted(found) == [0, 1, 2, 3] and os.getpid() not in {process for process, _ in found.values()}


def test_work_that_a_cluster_cannot_run_is_a_reason(cluster):
    (found,) = dict(schedule(partial(int, base=3), [7], scheduler=cluster)).values()
    assert isinstance(found, Lost) and "TypeError" in found.reason


def test_a_worker_of_a_cluster_that_is_killed_half_way(cluster, tmp_path, monkeypatch):
    """Nothing lost, nothing finished run twice: every cell file is written once, also over two runs."""
    study = small_study(tmp_path, HEAD.replace("chunk = 2", "chunk = 1") + ROWS)
    written: list[str] = []
    plain = Store.write
    monkeypatch.setattr(Store, "write", lambda *given: (written.append(given[1].name), plain(*given))[1])
    ending = campaign.run_study(study, date="2026-01-01", scheduler=cluster, work=deadly_cell)
    names = [cell.name for cell in study.cells()]
    assert (study.folder / "killed").exists(), "no worker was killed"
    assert ending.failed == () and not ending.interrupted and sorted(ending.ran) == sorted(names)
    assert finished_names(study) == sorted(names) == sorted(written)
    kept = (study.folder / "kept").read_text(encoding="utf-8").split()
    assert len(kept) >= (len(names) - 1) // 2
    assert all(starts(study.folder).count(name) == 1 for name in kept)
    assert starts(study.folder).count("linear--scroll_none--7-7") == 2
    for cell in study.cells():
        assert read_cell(study.runs / f"{cell.name}.json")["seeds"] == list(cell.seeds)
    again = campaign.run_study(study, date="2026-01-01", scheduler=cluster, work=deadly_cell)
    assert again.ran == () and len(again.skipped) == len(names) and sorted(written) == sorted(names)


def test_ctrl_c_does_not_reach_the_processes(tmp_path):
    """A terminal sends it to all of them; only the one that gathers stops."""
    found = dict(schedule(interrupted_itself, [0, 1], workers=2))
    assert found == {0: "deaf", 1: "deaf"}


def interrupted_itself(_: int) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "deaf"
