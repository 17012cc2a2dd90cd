"""``compare`` and Ctrl-C: what is done is kept, and nothing more is begun."""

import pytest

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines.map import Map
from corners.optimise import Schedule
from corners.study import compare
from tests.support.problems import TINY_PROTOCOL, tiny_split
from tests.support.reporters import Listener
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

SPLIT = tiny_split(1)


def run(data=SPLIT, methods=("sequential", "scroll_none"), **options):
    options = {"backbone": Identity(), "seeds": [5], "protocol": TINY_PROTOCOL} | options
    return compare(data, list(methods), **options)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_interrupted_comparison_keeps_what_is_done(at):
    """Before its first step, in its first, later: the method before is kept, the one after is not begun."""
    listener = Listener("scroll_none", at)
    comparison = run(methods=["sequential", "scroll_none", "map"], reporter=listener)
    assert comparison.provenance.settings["interrupted"] is True
    assert "sequential" in comparison.fits and "map" not in comparison.fits
    assert comparison.unavailable["map"] == "not run: the comparison was interrupted"
    assert "map" not in listener.started
    if "scroll_none" in comparison.fits:
        assert "interrupted" in comparison.fits["scroll_none"].statuses[0].sentence
    assert "sequential" in str(comparison.table())


def test_an_interrupt_in_the_first_group_of_shapes_starts_no_second_one():
    listener = Listener("sequential", 1)
    splits = [tiny_split(1), tiny_split(2, rows=(9, 4, 3))]
    comparison = run(splits, ["sequential", "map"], seeds=[5, 6], reporter=listener)
    assert listener.updates == {"sequential": 1}
    assert "map" not in comparison.fits and comparison.provenance.settings["interrupted"] is True


def test_an_interrupt_before_anything_was_scored_is_one(monkeypatch):
    """The very first evaluation takes long on a large table: Ctrl-C there must not go on with the next method."""
    from corners.engine.problem import CornerProblem

    def interrupted(self, params, step):
        raise KeyboardInterrupt

    monkeypatch.setattr(CornerProblem, "objective", interrupted)
    comparison = run(methods=["sequential", "map"])
    assert comparison.provenance.settings["interrupted"] is True and "map" not in comparison.fits


def test_an_interrupt_is_one_even_where_the_chosen_penalty_had_already_stopped():
    """MAP trains its grid at once: the row that validation chooses may have ended before Ctrl-C came."""
    method = Map(MLP(20), penalty_grid=(0.01, 100.0, 1e4), schedule=Schedule(0.05, 400, 5, 1e-6))
    listener = Listener("map", 2)
    comparison = run(tiny_split(2), [method, "sequential"], reporter=listener)
    assert listener.updates["map"] == 2  # it was under way
    assert comparison.provenance.settings["interrupted"] is True and "sequential" not in comparison.fits


def test_an_interrupt_while_the_truth_is_sampled_keeps_the_fits(sampler: Sampler):  # noqa: F811
    comparison = run(methods=["sequential", "scroll_dense", "nuts"], reporter=Listener("truth of scroll_dense"))
    assert set(comparison.fits) == {"sequential", "scroll_dense", "nuts"}
    assert ("sequential", 5) in comparison.references and ("scroll_dense", 5) not in comparison.references
    assert comparison.provenance.settings["interrupted"] is True
