"""Training of replicates: every way to stop, the best state, and replicates that do not touch each other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from corners.errors import SpecError
from corners.method import FitStatus, Trace
from corners.optimise import Outcome, Schedule, fit_in_groups, train
from tests.support.bowls import Bowls, bowls, start
from tests.support.problems import tiny_split

STILL = frozenset({"still"})
LONG = Schedule(learning_rate=0.1, max_steps=2000, patience=40, threshold=1e-9, trace_every=1)


def run(problem: Bowls, schedule: Schedule = LONG, watcher=None) -> Outcome:
    return train(problem, start(problem.count), STILL, schedule, watcher)


def codes(outcome: Outcome) -> list[str]:
    return [status.code for status in outcome.statuses]


def same(one: Outcome, k: int, other: Outcome, j: int) -> None:
    """Replicate k of one run is replicate j of another to the last bit: state, step, status, trace."""
    assert all(torch.equal(one.params[name][k], other.params[name][j]) for name in one.params)
    assert one.best_steps[k] == other.best_steps[j] and one.best_validation[k] == other.best_validation[j]
    assert one.statuses[k] == other.statuses[j]
    for name, rows in one.trace.values.items():
        found, expected = rows[k], other.trace.values[name][j]
        length = min(len(found), len(expected))
        np.testing.assert_array_equal(found[:length], expected[:length])
        assert np.isnan(found[length:]).all() and np.isnan(expected[length:]).all()


def test_the_minimum_is_found_and_called_converged():
    problem = bowls()
    outcome = run(problem)
    assert codes(outcome) == ["converged"] * 3
    np.testing.assert_allclose(outcome.params["x"], problem.centre, atol=1e-3)


def test_the_state_kept_is_the_best_one_by_validation():
    problem = bowls(apart=0.7)
    outcome = run(problem)
    assert codes(outcome) == ["stopped_early"] * 3
    validation = outcome.trace.values["validation_nll"]
    np.testing.assert_array_equal(np.nanmin(validation, axis=1), outcome.best_validation)
    np.testing.assert_array_equal(np.nanargmin(validation, axis=1), outcome.best_steps)
    at_best = (outcome.params["x"] - problem.optimum).square().sum(-1)
    np.testing.assert_array_equal(at_best.numpy(), outcome.best_validation)
    assert outcome.statuses[0].detail == f"step {outcome.best_steps[0]} of {outcome.best_steps[0] + LONG.patience}"


class Calibrating(Bowls):
    """Bowls whose calibration error falls with the first coordinate."""

    def calibration_error(self, params, state):
        return (params["x"][:, 0] - 0.2).abs()


def test_combined_stopping_takes_the_running_median_of_five_plus_the_calibration_error():
    plain = bowls(apart=0.7)
    problem = Calibrating(**vars(plain))
    combined = replace(LONG, stopping="combined", max_steps=60)
    outcome = run(problem, combined)
    followed = run(plain, replace(LONG, max_steps=60, patience=1000))  # the same path, to its end
    for k in range(problem.count):
        nll = followed.trace.values["validation_nll"][k]
        first = followed.trace.values["first"][k]
        criterion = [np.median(nll[max(0, t - 4) : t + 1]) + abs(first[t] - 0.2) for t in range(len(nll))]
        assert outcome.best_steps[k] == int(np.argmin(criterion))
        assert outcome.best_validation[k] == nll[outcome.best_steps[k]]


def test_combined_stopping_is_refused_where_there_is_no_calibration_error():
    with pytest.raises(SpecError, match="use validation_nll"):
        run(bowls(), replace(LONG, stopping="combined"))
    with pytest.raises(SpecError, match="stopping must be 'validation_nll' or 'combined'; got 'both'"):
        replace(LONG, stopping="both")


def test_patience_counts_checks_that_do_not_improve():
    for patience in (1, 7):
        outcome = run(bowls(apart=0.7), Schedule(0.1, 2000, patience, 1e-9, trace_every=1))
        for k in range(3):
            recorded = np.isfinite(outcome.trace.values["validation_nll"][k]).sum()
            assert recorded == outcome.best_steps[k] + patience  # the check that stops a replicate is not recorded


def test_an_improvement_below_the_threshold_is_none():
    outcome = run(bowls(), Schedule(0.1, 2000, 10, threshold=1e9))
    assert outcome.best_steps == [0, 0, 0]


def test_patience_is_counted_in_checks_where_they_are_rare():
    schedule = Schedule(0.1, 2000, 5, 1e-9, check_every=4, trace_every=4)
    outcome = run(bowls(apart=0.7), schedule)
    assert all(step % 4 == 0 for step in outcome.best_steps)
    assert all(
        int(s.detail.split()[-1]) == step + 20 for s, step in zip(outcome.statuses, outcome.best_steps, strict=True)
    )


def test_the_step_limit_is_said():
    outcome = run(bowls(), Schedule(0.1, 7, 40, 1e-9))
    assert codes(outcome) == ["step_limit"] * 3
    assert [status.detail for status in outcome.statuses] == ["step 7 of 7"] * 3


def test_no_step_scores_the_start():
    outcome = run(bowls(), Schedule(0.1, 0, 40, 1e-9))
    assert codes(outcome) == ["step_limit"] * 3 and not outcome.params["x"].any()


def test_where_everything_is_fixed_one_evaluation_is_the_fit():
    outcome = train(bowls(), start(), frozenset({"x", "still"}), LONG)
    assert codes(outcome) == ["exact"] * 3 and not outcome.params["x"].any()


def test_frozen_parameters_and_the_callers_own_do_not_move():
    given = start()
    outcome = train(bowls(), given, STILL, LONG)
    assert bool((outcome.params["still"] == 1.0).all())
    assert not given["x"].any() and not given["x"].requires_grad
    assert not any(value.requires_grad for value in outcome.params.values())


def test_adjust_follows_every_step_once():
    problem = bowls()
    run(problem, Schedule(0.1, 6, 40, 1e-9))
    assert problem.steps_seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("field", ["nan_from", "blind_from"])
def test_nan_stops_its_replicate_alone(field):
    """The others end as if it had never been there; it keeps its best finite state."""
    broken, healthy = bowls(apart=0.7), bowls(apart=0.7)
    getattr(broken, field)[1] = 9
    outcome, expected = run(broken), run(healthy)
    assert codes(outcome) == ["stopped_early", "not_finite", "stopped_early"]
    same(outcome, 0, expected, 0)
    same(outcome, 2, expected, 2)
    assert outcome.best_steps[1] == 8 and outcome.statuses[1].detail == "step 8 of 9"
    before = expected.trace.values["first"][1, 8]
    assert float(outcome.params["x"][1, 0]) == before and outcome.statuses[1].usable


def test_infinity_stops_like_nan():
    broken = bowls()
    outcome = train(broken, start() | {"x": torch.tensor([[0.0, 0.0], [1e200, 0.0], [0.0, 0.0]]).double()}, STILL, LONG)
    assert codes(outcome) == ["converged", "failed", "converged"]


def test_nan_from_the_first_step_is_a_failure():
    broken = bowls()
    broken.nan_from[0] = 0
    outcome = run(broken)
    assert codes(outcome) == ["failed", "converged", "converged"] and not outcome.statuses[0].usable
    assert outcome.statuses[0].detail == "at step 0"


def test_nan_between_two_checks_is_seen():
    broken = bowls()
    broken.nan_from[2] = 6
    outcome = run(broken, Schedule(0.1, 2000, 40, 1e-9, check_every=4))
    assert codes(outcome)[2] == "not_finite" and outcome.statuses[2].detail == "step 4 of 6"


def test_replicates_that_stop_are_dropped_and_the_rest_does_not_notice():
    """Nine bowls that stop at nine different steps, against each of them alone: compaction changes nothing."""
    together = bowls(9)
    together.optimum = together.centre * torch.linspace(0.2, 1.0, 9)[:, None]
    together.nan_from[4] = 13
    outcome = run(together)
    assert len(set(outcome.best_steps)) > 5
    assert together.sizes[0] == 9 and together.sizes[-1] <= 2
    for k in range(9):
        alone = run(together.select(torch.tensor([k])))
        same(outcome, k, alone, 0)


def test_the_watcher_hears_steps_running_and_the_best():
    heard: list[tuple[int, int, float]] = []
    outcome = run(bowls(apart=0.7), Schedule(0.1, 2000, 10, 1e-9, trace_every=10), lambda *said: heard.append(said))
    steps, running, best = zip(*heard, strict=True)
    assert list(steps) == list(range(0, 10 * len(steps), 10))
    assert list(running) == sorted(running, reverse=True) and running[0] == 3
    assert list(best) == sorted(best, reverse=True) and best[-1] >= min(outcome.best_validation)


def interrupt_at(step: int):
    def watcher(now: int, running: int, best: float) -> None:
        if now >= step:
            raise KeyboardInterrupt

    return watcher


def test_an_interrupt_keeps_the_best_state_of_each():
    problem = bowls()
    problem.nan_from[1] = 3
    outcome = run(problem, LONG, interrupt_at(12))
    assert outcome.interrupted
    assert codes(outcome) == ["interrupted", "not_finite", "interrupted"]
    assert outcome.best_steps == [12, 2, 12]
    assert all(status.usable for status in outcome.statuses)
    assert outcome.statuses[0].detail == "step 12 of 12"


def test_the_detail_of_an_interrupt_names_the_step_it_came_at():
    """Validation is best long before: the best step is one number, the step reached another."""
    outcome = run(bowls(1, apart=0.9), Schedule(0.1, 2000, 10_000, 1e-9, trace_every=1), interrupt_at(90))
    assert 0 < outcome.best_steps[0] < 60
    assert outcome.statuses[0].detail == f"step {outcome.best_steps[0]} of 90"


def test_an_interrupt_before_the_first_score_is_still_called_one():
    class Impatient(Bowls):
        def objective(self, params, step):
            raise KeyboardInterrupt

    template = bowls()
    outcome = run(Impatient(template.centre, template.optimum, template.nan_from, template.blind_from))
    assert outcome.interrupted and not any(status.usable for status in outcome.statuses)
    assert all("interrupt" in status.sentence for status in outcome.statuses)


def test_the_trace_is_recorded_every_so_many_steps_and_ends_with_each_replicate():
    problem = bowls(apart=0.7)
    problem.nan_from[0] = 11
    trace = run(problem, Schedule(0.1, 2000, 30, 1e-9, trace_every=5)).trace
    np.testing.assert_array_equal(trace.steps, 5.0 * np.arange(trace.steps.size))
    assert set(trace.values) == {"objective", "validation_nll", "first"}
    assert np.isfinite(trace.values["objective"][0]).sum() == 3
    assert np.isnan(trace.values["objective"][0, 3:]).all()


def grouped(splits, seeds, fit_group):
    return fit_in_groups(splits, seeds, fit_group)


def test_splits_of_equal_shape_are_fitted_together_and_come_back_in_order():
    splits = [tiny_split(1), tiny_split(2, rows=(9, 6, 5)), tiny_split(3), tiny_split(4, rows=(9, 6, 5))]
    seen = []

    def fit_group(some, seeds):
        seen.append(list(seeds))
        pairs = [
            (split.seed, FitStatus("converged", detail=str(seed))) for split, seed in zip(some, seeds, strict=True)
        ]
        return pairs, Trace(np.arange(2.0), {"objective": np.array([[float(seed)] * 2 for seed in seeds])})

    fitted = grouped(splits, [11, 12, 13, 14], fit_group)
    assert seen == [[11, 13], [12, 14]]
    assert fitted.replicates == (1, 2, 3, 4)
    assert [status.detail for status in fitted.statuses] == ["11", "12", "13", "14"]
    np.testing.assert_array_equal(fitted.trace.values["objective"][:, 0], [11.0, 12.0, 13.0, 14.0])
    assert fitted.seconds >= 0.0


def test_one_split_a_seed():
    with pytest.raises(SpecError, match="one split a seed is needed; got 1 splits and 2 seeds"):
        grouped([tiny_split(1)], [5, 6], lambda *_: ([], Trace(np.zeros(0))))
