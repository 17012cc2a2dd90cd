"""Named cells under a protocol: which hyperpriors, jitter and mini-batches each one gets."""

import pytest

from corners.backbones.identity import Identity
from corners.beliefs import GammaPrior, InverseGammaPrior
from corners.engine.cells import CELLS
from corners.engine.named import named_cell
from corners.errors import UnknownNameError
from corners.likelihoods.gaussian import Gaussian
from corners.protocols import Protocol

FULL = Protocol(
    "full",
    learning_rate=0.02,
    max_steps=9,
    patience=4,
    batch_size=8,
    evidence_tied=10,
    jitter=1e-3,
    dtype="float32",
    scale_targets=False,
)


@pytest.mark.parametrize("name", CELLS)
def test_exact_corners_are_bare_and_the_others_carry_the_protocols_hyperpriors(name):
    """The objective of the corners is the score itself; the rest is unbounded below without hyperpriors (7.1)."""
    corner = named_cell(name, FULL, Identity()).corner
    likelihood, exact = corner.likelihood, name in ("sequential", "leave_one_out")
    assert isinstance(likelihood, Gaussian)
    assert (likelihood.hyperprior is None) == (corner.prior.hyperprior is None) == exact
    assert corner.jitter == (0.0 if exact else 1e-3)
    if not exact:
        assert corner.prior.hyperprior == GammaPrior(shape=2.0, cap=100.0)
        assert likelihood.hyperprior == InverseGammaPrior(shape=1.0, relative_scale=0.01)


@pytest.mark.parametrize("name", CELLS)
def test_only_a_free_mean_can_take_mini_batches_and_only_a_trained_precision_be_tied(name):
    method = named_cell(name, FULL, Identity())
    assert method.batch_size == (8 if CELLS[name].routing == "free" else None)
    tied = CELLS[name].routing != "mean_closed" and name not in ("sequential", "leave_one_out")
    assert method.corner.prior.evidence_tied == (10 if tied else 0)


@pytest.mark.parametrize("name", CELLS)
def test_the_schedule_and_the_rest_are_the_protocols(name):
    method = named_cell(name, FULL, Identity())
    schedule = method.schedule
    assert (schedule.learning_rate, schedule.max_steps, schedule.patience, schedule.threshold) == (0.02, 9, 4, 1e-6)
    assert (method.name, method.dtype, method.scale_targets) == (name, "float32", False)


def test_no_hyperpriors_where_the_protocol_has_none():
    bare = Protocol("bare", precision_shape=None, noise_shape=None)
    corner = named_cell("scroll_dense", bare, Identity()).corner
    assert (
        corner.prior.hyperprior is None
        and isinstance(corner.likelihood, Gaussian)
        and corner.likelihood.hyperprior is None
    )


def test_an_unknown_cell_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"no cell is called 'scroll_full'.*scroll_dense"):
        named_cell("scroll_full", FULL, Identity())
