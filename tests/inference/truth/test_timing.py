import pytest

from inference.truth.timing import Stopwatch


def test_blocks_of_one_name_add_up(monkeypatch):
    ticks = iter([0.0, 1.5, 10.0, 10.25, 20.0, 23.0])
    monkeypatch.setattr("inference.truth.timing.time.perf_counter", lambda: next(ticks))
    watch = Stopwatch()
    for part in ("compile", "sampling", "compile"):
        with watch(part):
            pass
    assert watch.rounded() == {"compile": 4.5, "sampling": 0.25}


def test_a_block_that_fails_counts_nothing():
    watch = Stopwatch()
    with pytest.raises(ZeroDivisionError), watch("sampling"):
        1 / 0  # noqa: B018
    assert watch.rounded() == {}
