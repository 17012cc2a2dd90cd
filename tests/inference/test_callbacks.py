"""Callbacks: what they are told, how they stop a run, and what the built-in ones do."""

import io

import numpy as np
import pytest
from rich.console import Console

import inference as P
from inference.callbacks import KINDS, NotMonotone
from inference.descent import Runner, Settings
from inference.initial import initial_state
from inference.schedule import make_plan
from tests.support.broken_blocks import Astray, replaced


@P.model
def sample(m, y):
    """One mean and one precision."""
    mu, tau = m.normal("mu", mean=0.0, precision=0.1), m.gamma("tau", 1.0, 1.0)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


DATA = {"y": np.array([1.0, 2.0, 0.5, 1.5])}


def events(*values):
    return [P.Event("after_iteration", k, 9, free_energy=f) for k, f in enumerate(values)]


def test_every_kind_of_event_is_told_in_order():
    seen = []
    P.infer(sample, data=DATA, iterations=2, callbacks=[seen.append], rtol=0.0, atol=0.0)
    expected = ["before_inference"]
    expected += ["after_update", "after_update", "after_iteration"] * 2 + ["after_inference"]
    assert [e.kind for e in seen] == expected and set(expected) == set(KINDS)
    assert [e.variable for e in seen if e.kind == "after_update"] == ["mu", "tau"] * 2
    assert [e.iteration for e in seen] == [-1, 0, 0, 0, 1, 1, 1, 2] and {e.iterations for e in seen} == {2}
    assert isinstance(seen[1].marginal, P.Normal) and isinstance(seen[2].marginal, P.Gamma)


def test_the_free_energy_is_told_where_it_was_computed():
    seen = []
    result = P.infer(sample, data=DATA, iterations=3, callbacks=[seen.append], rtol=0.0, atol=0.0)
    told = {kind: [e.free_energy for e in seen if e.kind == kind] for kind in KINDS}
    assert told["after_iteration"] == list(result.free_energy) and set(told["after_update"]) == {None}
    seen.clear()
    blocks = P.infer(sample, data=DATA, iterations=3, free_energy="blocks", callbacks=[seen.append])
    after = [(e.free_energy) for e in seen if e.kind == "after_update"]
    assert after == [f for _, f in blocks.free_energy_blocks] and after[1::2] == list(blocks.free_energy)
    seen.clear()
    P.infer(sample, data=DATA, iterations=2, free_energy=False, callbacks=[seen.append])
    assert {e.free_energy for e in seen} == {None}


@pytest.mark.parametrize("kind", ["after_iteration", "after_update"])
def test_stop_ends_the_run_with_the_iteration(kind):
    def stop(event):
        return P.STOP if (event.kind, event.iteration) == (kind, 2) else None

    result = P.infer(sample, data=DATA, callbacks=[stop], rtol=0.0, atol=0.0)
    assert result.n_iter == 3 and result.reason == "stopped by a callback" and not result.converged


def test_stop_before_the_start_leaves_the_start():
    result = P.infer(sample, data=DATA, callbacks=[lambda event: P.STOP if event.kind == "before_inference" else None])
    assert result.n_iter == 0 and result.reason == "stopped by a callback" and result.free_energy is None
    assert result.posteriors["mu"].mean() == 0.0


def test_any_of_several_callbacks_stops():
    seen = []
    result = P.infer(sample, data=DATA, callbacks=[seen.append, lambda _e: P.STOP, seen.append], rtol=0.0, atol=0.0)
    assert result.n_iter <= 1 and seen[-1].kind == "after_inference" and repr(P.STOP) == "STOP"


def test_early_stop_waits_for_calm():
    stop = P.EarlyStop(tolerance=1.0, patience=2)
    assert [stop(e) for e in events(9.0, 5.0, 4.5, 4.4)] == [None, None, None, P.STOP]
    assert [stop(e) for e in events(4.3)] == [P.STOP]
    stop(P.Event("before_inference", -1, 9))
    assert [stop(e) for e in events(4.3, 4.2, 2.0, 1.9, 1.8)] == [None, None, None, None, P.STOP], (
        "a new run starts anew"
    )
    assert (
        stop(P.Event("after_update", 0, 9, free_energy=1.8)) is None and stop(P.Event("after_iteration", 0, 9)) is None
    )


def test_early_stop_stops():
    result = P.infer(sample, data=DATA, callbacks=[P.EarlyStop(1e-2)], rtol=0.0, atol=0.0)
    falls = -np.diff(result.free_energy)
    assert result.reason == "stopped by a callback" and np.all(falls[-2:] < 1e-2) and np.all(falls[:-2] >= 1e-2)


@pytest.mark.parametrize("given", [{"tolerance": -1.0}, {"tolerance": np.nan}, {"tolerance": 1.0, "patience": 0}])
def test_early_stop_takes_what_it_can_mean(given):
    with pytest.raises(P.SpecError, match="tolerance of 0 nats or more and a patience of 1 or more"):
        P.EarlyStop(**given)


def test_trace_records_what_it_was_asked_for():
    plain, full = P.Trace(), P.Trace(("after_update", "after_inference"), marginals=True)
    result = P.infer(sample, data=DATA, iterations=3, callbacks=[plain, full], rtol=0.0, atol=0.0)
    assert plain.free_energy == list(result.free_energy) and {e.marginal for e in plain.events} == {None}
    assert [e.kind for e in full.events] == ["after_update"] * 6 + ["after_inference"]
    last = full.events[-2].marginal
    assert last is not None and last.mean() == result.posteriors["tau"].mean() and full.free_energy == []


def test_trace_knows_the_kinds_there_are():
    with pytest.raises(
        P.SpecError, match=r"no event 'after_iterations' \(did you mean 'after_iteration'\?\); the kinds are"
    ):
        P.Trace(("after_iterations",))


def test_assert_monotone_names_a_block_that_raises_the_free_energy():
    plan = make_plan(sample.build(DATA))
    broken = replaced(plan, plan.blocks[1], Astray(plan.blocks[0], P.Normal(50.0, 1.0)))
    start = initial_state(plan.program)
    with pytest.raises(NotMonotone, match=r"rose from .* to .* in the update of 'mu' in iteration 0"):
        Runner(broken, Settings(), [P.AssertMonotone()]).run(start)
    run = Runner(broken, Settings(), [P.AssertMonotone()]).run(start, on_error="return")
    assert isinstance(run.error, NotMonotone) and run.n_iter == 0 and "NotMonotone" in run.reason
    assert Runner(broken, Settings(iterations=2)).run(start).n_iter == 2, "nobody looks: nobody complains"


def test_assert_monotone_lets_a_sound_run_pass():
    check = P.AssertMonotone()
    for _ in range(2):
        result = P.infer(sample, data=DATA, callbacks=[check])
        assert result.converged and len(result.free_energy_blocks) == 2 * result.n_iter
    steps = [P.Event("after_update", 0, 1, "a", None, f) for f in (1.0, 1.0 + 1e-9, 1.0 + 2.9e-9)]
    check(P.Event("before_inference", -1, 1))
    for event in steps:
        check(event)
    with pytest.raises(NotMonotone):
        check(P.Event("after_update", 0, 1, "a", None, 1.001))


def test_progress_is_silent_without_a_terminal(capfd):
    P.infer(sample, data=DATA, callbacks=[P.Progress()])
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err == ""


def test_progress_shows_the_free_energy_on_a_terminal():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    result = P.infer(sample, data=DATA, callbacks=[P.Progress("fitting", console)])
    assert "fitting" in screen.getvalue() and f"F = {result.free_energy[-1]:.6g}" in screen.getvalue()


def test_progress_leaves_no_bar_behind():
    bar = P.Progress("fitting", Console(file=io.StringIO(), force_terminal=True))

    def interrupt(event):
        if event.kind == "after_update" and event.iteration == 1:
            raise KeyboardInterrupt

    P.infer(sample, data=DATA, callbacks=[bar, interrupt], rtol=0.0, atol=0.0)
    assert bar._bar is None
