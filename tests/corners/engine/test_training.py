"""Training of cells: mini-batches, replicates that fail or stop apart, the best state, the tied precision."""

import numpy as np
import pytest
import torch

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.covariances._base import Params
from corners.data.batch import stack_splits
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.problem import CornerProblem
from corners.engine.training import CornerMethod
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule, train
from tests.support import dense_cells as dense
from tests.support.corner_cells import cell, energy_at
from tests.support.problems import SHORT, assert_close, generators, tiny_split
from tests.support.statistics import assert_within_se

pytestmark = pytest.mark.unchecked

SPLITS = [tiny_split(seed) for seed in (1, 2, 3)]
SEEDS = [5, 6, 7]
FREE = [name for name, axes in CELLS.items() if axes.routing == "free"]


def problem(corner: Corner, batch_size: int | None = None, splits=SPLITS, seeds=SEEDS) -> tuple[CornerProblem, Params]:
    """The training problem and its start."""
    data, _ = stack_splits(splits, scale_targets=True)
    streams = generators(*seeds)
    params = corner.init(data.train.inputs, data.train.targets, streams)
    return CornerProblem(corner, data, streams, batch_size), params


def hyperpriors() -> dict:
    return {
        "prior": Prior(hyperprior=GammaPrior()),
        "likelihood": Gaussian(hyperprior=InverseGammaPrior()),
        "backbone": MLP(3),
    }


# Mini-batches


@pytest.mark.parametrize("batch_size", [1, 3, 4, 6])
@pytest.mark.parametrize("name", FREE)
def test_an_epoch_of_mini_batches_adds_up_to_the_full_objective(name, batch_size):
    """Batches that divide the rows: data terms average to the full one; everything else is whole in each."""
    corner = cell(name, **hyperpriors())
    small, params = problem(corner, batch_size)
    full, _ = problem(corner)
    assert small.steps_per_epoch == 12 // batch_size
    whole = energy_at(corner, params, corner.backbone.features(params, full.data.train.inputs), full.data.train.targets)
    rest = whole.prior + whole.hyperprior + whole.penalty
    totals = torch.stack([small.objective(params, step)[0] for step in range(small.steps_per_epoch)])
    assert_close((totals - rest).mean(0), whole.data)
    assert_close(totals.mean(0), full.objective(params, 0)[0])


def test_every_term_but_the_data_is_the_same_in_every_mini_batch():
    corner = cell("scroll_dense", **hyperpriors())
    made, params = problem(corner)
    features, targets = corner.backbone.features(params, made.data.train.inputs), made.data.train.targets
    whole = energy_at(corner, params, features, targets)
    for rows in (slice(0, 1), slice(3, 8)):
        part = energy_at(corner, params, features[:, rows], targets[:, rows], data_size=12)
        assert torch.equal(part.prior, whole.prior) and torch.equal(part.penalty, whole.penalty)
        assert torch.equal(part.hyperprior, whole.hyperprior)
        again = energy_at(corner, params, features[:, rows], targets[:, rows])
        assert_close(part.data, again.data * 12.0 / targets[:, rows].shape[1])


def test_batches_that_do_not_divide_the_rows_are_right_on_average():
    """5 of 12 rows: two are left out at random an epoch; the mean over many epochs is the full objective."""
    corner = cell("scroll_diagonal", backbone=Identity())
    small, params = problem(corner, 5)
    full, _ = problem(corner)
    epochs = np.stack([np.mean([small.objective(params, 0)[0].numpy() for _ in range(2)], axis=0) for _ in range(150)])
    assert_within_se(epochs, full.objective(params, 0)[0].numpy())
    assert small.steps_per_epoch == 2


def test_every_row_is_seen_once_an_epoch_and_replicates_shuffle_apart():
    small, _ = problem(cell("scroll_none", backbone=Identity()), 4)
    seen = torch.cat([small._next_rows() for _ in range(3)], dim=1)
    assert torch.equal(seen.sort(dim=1).values, torch.arange(12).expand(3, 12))
    assert not torch.equal(seen[0], seen[1])


def test_a_batch_as_large_as_the_data_is_the_full_batch():
    corner = cell("scroll_dense", backbone=MLP(3))
    for size in (12, 500):
        made, params = problem(corner, size)
        assert made.batch_size is None and made.steps_per_epoch == 1
        assert torch.equal(made.objective(params, 0)[0], problem(corner)[0].objective(params, 0)[0])


@pytest.mark.parametrize("name", [name for name, axes in CELLS.items() if axes.routing != "free"])
def test_mini_batches_are_refused_where_the_mean_is_bound(name):
    with pytest.raises(SpecError, match=f"{name} binds its belief to all rows.*batch_size=None"):
        CornerMethod(name, cell(name), SHORT, batch_size=4)


@pytest.mark.parametrize("batch_size", [0, -3])
def test_a_batch_without_rows_is_refused(batch_size):
    with pytest.raises(SpecError, match="batch_size"):
        CornerMethod("scroll_dense", cell("scroll_dense"), SHORT, batch_size=batch_size)


def test_training_by_mini_batch_improves_and_validates_on_all_rows():
    """The recorded validation NLL of the kept state is the NLL of the whole validation part in original units."""
    schedule = Schedule(0.03, 60, 200, 1e-6)
    fit = CornerMethod("scroll_diagonal", cell("scroll_diagonal"), schedule, batch_size=4).fit(SPLITS, SEEDS)
    validation = fit.trace.values["validation_nll"]
    np.testing.assert_array_equal(fit.trace.steps % 3, 0.0)  # checked once an epoch
    for k, split in enumerate(SPLITS):
        predictive = fit.predict(split.validation.inputs, replicate=k)
        best = np.nanmin(validation[k])
        assert -predictive.log_prob(split.validation.targets).mean() == pytest.approx(best, rel=1e-9)
    assert (np.nanmin(validation, axis=1) < validation[:, 0] - 0.05).sum() >= 2


def test_a_replicate_of_a_mini_batch_run_is_that_run_alone():
    """Each replicate has its own stream of batches, compaction included."""
    method = CornerMethod(
        "scroll_diagonal", cell("scroll_diagonal", backbone=MLP(3)), Schedule(0.05, 90, 4, 1e-6), batch_size=4
    )
    together = method.fit(SPLITS, SEEDS)
    assert len({status.detail for status in together.statuses}) > 1
    for k in range(3):
        alone = method.fit([SPLITS[k]], [SEEDS[k]])
        assert together.statuses[k].detail == alone.statuses[0].detail
        for name, value in alone.replicates[0].params.items():
            assert_close(together.replicates[k].params[name], value, rel=1e-7, abs_=1e-10)


# Stopping and the state that is kept


@pytest.mark.parametrize("name", CELLS)
def test_the_kept_state_is_the_best_recorded_one(name):
    """Validation NLL of the returned fit, computed from its own predictions, is the least on its trace."""
    fit = CornerMethod(name, cell(name, backbone=MLP(3)), Schedule(0.05, 40, 8, 1e-6, trace_every=1)).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        predictive = fit.predict(split.validation.inputs, replicate=k)
        found = -predictive.log_prob(split.validation.targets).mean()
        recorded = fit.trace.values["validation_nll"][k]
        assert found == pytest.approx(np.nanmin(recorded), rel=1e-9)
        assert fit.learned(k)["steps"] == np.nanargmin(recorded)


@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "scroll_dense", "mean_closed_dense"])
def test_replicates_that_stop_at_different_steps_are_what_they_are_alone(name):
    method = CornerMethod(name, cell(name, backbone=MLP(3)), Schedule(0.05, 60, 3, 1e-6, trace_every=1))
    together = method.fit(SPLITS, SEEDS)
    assert len({status.detail for status in together.statuses}) > 1
    for k in range(3):
        alone = method.fit([SPLITS[k]], [SEEDS[k]])
        assert together.statuses[k].detail == alone.statuses[0].detail
        for key, value in alone.replicates[0].params.items():
            assert_close(together.replicates[k].params[key], value, rel=1e-6, abs_=1e-9)


class Poisoned(CornerProblem):
    """The objective of the replicate that is called 1 becomes NaN at step 7, wherever compaction has put it."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.called = torch.arange(self.count)

    def objective(self, params, step):
        total, state = super().objective(params, step)
        return torch.where((self.called == 1) & (step >= 7), torch.nan, total), state

    def select(self, index):
        chosen = Poisoned(self.corner, self.data.select(index), [self.generators[i] for i in index.tolist()])
        chosen.called = self.called[index]
        return chosen


@pytest.mark.parametrize("count", [3, 6])  # with six the program keeps running with the stopped one inside
@pytest.mark.parametrize("name", ["sequential", "scroll_dense", "mean_closed_dense"])
def test_nan_in_one_replicate_stops_that_one_alone(name, count):
    corner = cell(name, backbone=MLP(3))
    schedule = Schedule(0.05, 20, 100, 1e-6, trace_every=1)
    splits, seeds = [SPLITS[k % 3] for k in range(count)], list(range(5, 5 + count))
    healthy, params = problem(corner, splits=splits, seeds=seeds)
    expected = train(healthy, params, corner.frozen, schedule)
    outcome = train(Poisoned(corner, healthy.data, generators(*seeds)), params, corner.frozen, schedule)
    codes = [status.code for status in outcome.statuses]
    assert codes == ["not_finite" if k == 1 else "step_limit" for k in range(count)]
    assert outcome.best_steps[1] < 7
    assert all(bool(value[1].isfinite().all()) for value in outcome.params.values())
    for k in set(range(count)) - {1}:
        assert outcome.best_validation[k] == pytest.approx(expected.best_validation[k], rel=1e-9)
        for key, value in expected.params.items():
            assert_close(outcome.params[key][k], value[k], rel=1e-7, abs_=1e-10)


@pytest.mark.parametrize(
    "corner",
    [
        cell("sequential", backbone=MLP(3)),
        cell("scroll_dense", backbone=MLP(3)),
        cell("mean_closed_dense", backbone=MLP(3)),
        cell("scroll_dense", backbone=MLP(3), prior=Prior(evidence_tied=1)),
        cell("sequential", backbone=MLP(3), prior=Prior(evidence_tied=1)),
    ],
    ids=lambda corner: f"{corner.cavity.name}-{corner.routing.name}-tied{corner.prior.evidence_tied}",
)
def test_weights_that_are_nan_stop_their_replicate_alone(corner):
    """NaN through backbone, binding and tied precision: no library error may take the siblings along."""
    made, params = problem(corner)
    params["backbone.weight_0"][1, 0, 0] = torch.nan
    outcome = train(made, params, corner.frozen, Schedule(0.05, 12, 100, 1e-6))
    assert [status.code for status in outcome.statuses] == ["step_limit", "failed", "step_limit"]


def test_parameters_stay_within_their_bounds():
    """A huge learning rate throws every parameter at its bounds: none leaves them."""
    for name in ("scroll_dense", "scroll_low_rank", "mean_closed_diagonal", "sequential"):
        corner = cell(name)
        made, params = problem(corner)
        for step in range(12):
            moved = {key: value + (-1.0) ** step * 50.0 for key, value in params.items() if key not in corner.frozen}
            _, state = made.objective(params, step)
            at = params | moved
            with torch.no_grad():
                made.adjust(at, step, state)
            for key, (low, high) in corner.bounds().items():
                ceiling = corner.likelihood.ceiling(at).get(key, torch.tensor(np.inf))
                assert bool((at[key] >= low).all() and (at[key] <= high).all() and (at[key] <= ceiling).all())


# The precision tied to the evidence


@pytest.mark.parametrize("name", ["scroll_none", "scroll_dense", "sequential"])
def test_the_tied_precision_ends_at_mackays_fixed_point(name):
    """Fixed features and fixed noise: α is the fixed point of ``α = γ/‖μ*‖²`` on the training part."""
    corner = cell(name, prior=Prior(evidence_tied=1), likelihood=Gaussian(noise_scale=0.5, learned=False))
    fit = CornerMethod(name, corner, Schedule(0.01, 60, 1000, 1e-6)).fit(SPLITS[:1], SEEDS[:1])
    layer = fit.last_layer(0, SPLITS[0])
    assert layer is not None
    expected = dense.mackay_fixed_point(layer.features, layer.targets, layer.noise_var)
    assert fit.learned(0)["prior_precision"] == pytest.approx(expected, rel=1e-4)


def test_the_tied_precision_moves_every_so_many_steps_only():
    corner = cell("scroll_diagonal", prior=Prior(evidence_tied=10), backbone=MLP(3))
    fit = CornerMethod("scroll_diagonal", corner, Schedule(0.03, 35, 1000, 1e-6, trace_every=1)).fit(SPLITS, SEEDS)
    changed = np.abs(np.diff(fit.trace.values["prior_precision"], axis=1)) > 0.0
    assert changed.any() and not changed[:, np.arange(changed.shape[1]) % 10 != 0].any()


def test_where_nothing_else_is_trained_the_precision_is_still_tied():
    """Fixed features, closed belief, fixed noise: what is asked for is α at the fixed point, not its start."""
    corner = cell("sequential", prior=Prior(evidence_tied=10), likelihood=Gaussian(noise_scale=0.5, learned=False))
    fit = CornerMethod("sequential", corner, Schedule(0.01, 200, 50, 1e-6)).fit(SPLITS[:1], SEEDS[:1])
    layer = fit.last_layer(0, SPLITS[0])
    assert layer is not None
    expected = dense.mackay_fixed_point(layer.features, layer.targets, layer.noise_var)
    assert fit.learned(0)["prior_precision"] == pytest.approx(expected, rel=1e-3)
