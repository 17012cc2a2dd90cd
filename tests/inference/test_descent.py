"""Descent: when a run ends, what an interruption or an error leaves, and what each step is."""

import numpy as np
import pytest

import inference as P
from inference.descent import Runner, Settings
from inference.errors import Diverged
from inference.initial import initial_state
from inference.schedule import make_plan
from tests.inference.test_partition import experts
from tests.support.broken_blocks import Failing, replaced

RNG = np.random.default_rng(5)
Y = np.array([1.0, 2.0, 0.5, 1.5])
PHI, TARGETS = RNG.standard_normal((12, 2)), RNG.standard_normal(12)
EXPERTS = {"phi": PHI, "y": TARGETS, "yhat": TARGETS[:, None] + RNG.standard_normal((12, 2))}
FOREVER = {"rtol": 0.0, "atol": 0.0}


@P.model
def sample(m, y):
    """One mean and one precision."""
    mu, tau = m.normal("mu", mean=0.0, precision=0.1), m.gamma("tau", 1.0, 1.0)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


def infer(**options):
    return P.infer(sample, data={"y": Y}, **options)


def test_a_run_converges_after_two_quiet_iterations():
    result = infer(rtol=1e-6, atol=1e-9, iterations=100)
    changes, bounds = np.abs(np.diff(result.free_energy)), 1e-9 + 1e-6 * np.abs(result.free_energy[1:])
    quiet = changes <= bounds
    assert result.converged and result.reason == "converged" and result.n_iter == len(result.free_energy)
    assert quiet[-2:].all() and not (quiet[:-2] & quiet[1:-1]).any()


def test_a_run_that_is_cut_short_says_so():
    result = infer(iterations=2, **FOREVER)
    assert not result.converged and result.n_iter == 2 and result.reason == "iteration limit 2 reached"


def test_a_run_without_a_free_energy_uses_all_its_iterations():
    result = infer(iterations=4, free_energy=False)
    assert result.n_iter == 4 and result.free_energy is None and result.free_energy_reason == "it was not computed"
    with_it = infer(iterations=4, **FOREVER)
    assert result.posteriors["mu"].mean() == with_it.posteriors["mu"].mean()


@pytest.mark.parametrize("constraints", [P.MeanField(), "q(w,z)"], ids=["apart", "joint"])
def test_every_block_lowers_the_free_energy(constraints):
    result = P.infer(experts, data=EXPERTS, constraints=constraints, free_energy="blocks", iterations=30, **FOREVER)
    energies = np.array([f for _, f in result.free_energy_blocks])
    assert np.all(np.diff(energies) <= 1e-9 * (1.0 + np.abs(energies[:-1])))
    names = [b.name for b in result.plan.blocks]
    assert [name for name, _ in result.free_energy_blocks] == names * result.n_iter


@pytest.mark.parametrize("kind", ["after_update", "after_iteration"])
def test_an_interruption_leaves_the_last_complete_iteration(kind):
    def interrupt(event):
        if (event.kind, event.iteration, event.variable in (None, "tau")) == (kind, 3, True):
            raise KeyboardInterrupt

    complete = 3 if kind == "after_update" else 4
    result, expected = infer(callbacks=[interrupt], **FOREVER), infer(iterations=complete, **FOREVER)
    assert result.n_iter == complete and result.reason == "interrupted; this is the last complete iteration"
    assert not result.converged and result.error is None
    np.testing.assert_array_equal(result.free_energy, expected.free_energy)
    for name in ("mu", "tau"):
        assert result.posteriors[name].mean() == expected.posteriors[name].mean()


def test_an_interruption_while_the_free_energy_is_computed_leaves_what_belongs_together(monkeypatch):
    from inference import descent

    real, calls = descent.total, []

    def total(program, state):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(program, state)

    monkeypatch.setattr(descent, "total", total)
    result = infer(**FOREVER)
    monkeypatch.undo()
    expected = infer(iterations=3, **FOREVER)
    assert result.n_iter == 3 and result.posteriors["mu"].mean() == expected.posteriors["mu"].mean()


def test_an_interruption_before_the_first_iteration_leaves_the_start():
    def interrupt(event):
        if event.kind == "before_inference":
            raise KeyboardInterrupt

    result = infer(callbacks=[interrupt])
    assert result.n_iter == 0 and result.posteriors["mu"].mean() == 0.0 and result.free_energy is None


def failing(error, **how):
    plan = make_plan(sample.build({"y": Y}))
    plan = replaced(plan, plan.blocks[0], Failing(plan.blocks[1], 3, error))
    seen = []
    return Runner(plan, Settings(**FOREVER), [seen.append]).run(initial_state(plan.program), **how), seen


@pytest.mark.parametrize("error", [P.ImproperMarginal("no"), np.linalg.LinAlgError("no")])
def test_an_error_may_be_returned_with_the_last_complete_iteration(error):
    run, seen = failing(error, on_error="return")
    expected = infer(iterations=3, **FOREVER)
    assert run.error is error and run.n_iter == 3 and not run.converged
    assert run.reason == f"stopped by {type(error).__name__}; this is the last complete iteration"
    assert run.state.marginals["mu"].mean() == expected.posteriors["mu"].mean()
    assert seen[-1].kind == "after_inference"


def test_numbers_that_leave_their_range_are_named_with_their_block():
    run, _ = failing(FloatingPointError("overflow"), on_error="return")
    assert isinstance(run.error, Diverged) and run.n_iter == 3 and run.reason.startswith("stopped by Diverged")
    assert "the update of q(tau) in iteration 3" in str(run.error) and "overflow" in str(run.error)
    with pytest.raises(Diverged):
        failing(FloatingPointError("overflow"))


@pytest.mark.parametrize("how", [{}, {"on_error": "raise"}])
def test_an_error_is_raised_unless_it_is_asked_for(how):
    with pytest.raises(P.ImproperMarginal, match="no"):
        failing(P.ImproperMarginal("no"), **how)


def test_a_stranger_is_never_returned():
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError(), on_error="return")


@pytest.mark.parametrize(
    ("damping", "expected"),
    [(0.5, (0.5, 0.5)), ({"mu": 0.25}, (0.25, 1.0)), ({"mu": 0.5, "tau": 0.1}, (0.5, 0.1)), (1.0, (1.0, 1.0))],
)
def test_damping_is_one_number_or_one_a_variable(damping, expected):
    settings = Settings(damping=damping)
    assert (settings.damping_of(["mu"]), settings.damping_of(["tau"])) == expected
    assert settings.damping_of(["mu", "tau"]) == min(expected)


def test_a_damped_step_is_a_step_in_natural_parameters():
    """One sweep from the priors: mu's precision goes from 0.1 a quarter of the way to 0.1 + 4 E tau."""
    result = infer(damping={"mu": 0.25}, iterations=1)
    target_precision, target_linear = 0.1 + 4.0, Y.sum()
    precision, linear = 0.75 * 0.1 + 0.25 * target_precision, 0.25 * target_linear
    np.testing.assert_allclose(result.posteriors["mu"].var(), 1.0 / precision, rtol=1e-14)
    np.testing.assert_allclose(result.posteriors["mu"].mean(), linear / precision, rtol=1e-14)


@pytest.mark.parametrize("damping", [0.3, {"tau": 0.2}])
def test_damping_changes_the_way_and_not_the_end(damping):
    long = {"iterations": 500, "rtol": 0.0, "atol": 1e-13}
    full, damped = infer(**long), infer(damping=damping, **long)
    np.testing.assert_allclose(damped.free_energy[-1], full.free_energy[-1], rtol=1e-10)
    assert np.all(np.diff(damped.free_energy) <= 1e-12) and damped.n_iter > full.n_iter


def test_a_damped_exact_block_is_not_finished_after_one_sweep():
    @P.model
    def level(m, y):
        mu = m.normal("mu", mean=0.0, precision=1.0)
        m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))

    assert P.infer(level, data={"y": Y}).n_iter == 1
    damped = P.infer(level, data={"y": Y}, damping=0.5, iterations=200, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(damped.posteriors["mu"].mean(), Y.sum() / 5.0, rtol=1e-5)


def test_the_seconds_of_every_block_are_kept():
    timings = infer().timings
    assert {"q(mu)", "q(tau)", "free energy", "total"} <= set(timings) and min(timings.values()) >= 0.0
    assert timings["total"] >= timings["q(mu)"] + timings["q(tau)"]
