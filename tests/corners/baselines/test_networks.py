"""What the baselines made of networks share: derived seeds, the worst status of members, what is said of a choice."""

from dataclasses import replace

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.baselines._network_fit import derived_seed
from corners.baselines.deep_ensemble import DeepEnsemble
from corners.baselines.map import Map
from corners.baselines.mc_dropout import McDropout
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import FitStatus
from tests.support.laws import method_laws as laws


def test_derived_seeds_are_all_different():
    seeds = [derived_seed(seed, *key) for seed in range(-3, 30) for key in ((0,), (1,), (0, 1), (1, 0), (0, 2))]
    assert len(set(seeds)) == len(seeds) and not set(seeds) & set(range(-3, 30))


def test_the_worst_member_counts():
    method, scores = DeepEnsemble(penalty_grid=(0.1,)), np.array([1.0])
    for better, worse in (
        ("converged", "stopped_early"),
        ("stopped_early", "step_limit"),
        ("step_limit", "not_finite"),
    ):
        statuses = [FitStatus(better, "a"), FitStatus(worse, "b"), FitStatus(better, "c")]
        found = method._status(statuses, scores, False)
        assert (found.code, found.detail) == (worse, "the worst of 3 members: b")
        assert method._status(statuses, scores, True).code == "interrupted"
    failed = method._status([FitStatus("converged"), FitStatus("failed", "at step 0")], scores, True)
    assert failed.code == "failed" and not failed.usable


def test_every_edge_of_the_grid_is_said():
    method = McDropout(penalty_grid=(0.1, 1.0, 10.0), rate_grid=(0.05, 0.1, 0.2))
    said = {}
    for best, candidate in enumerate(method.candidates):
        scores = np.where(np.arange(9) == best, 0.0, 1.0)
        said[candidate["penalty"], candidate["rate"]] = method._status([FitStatus("converged")], scores, False).remarks
    assert said[1.0, 0.1] == ()
    assert said[0.1, 0.1] == ("penalty 0.1 is at the edge of its grid",)
    assert said[10.0, 0.05] == ("penalty 10 is at the edge of its grid", "rate 0.05 is at the edge of its grid")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"noise": "guessed"}, "noise must be one of learned, validation; got 'guessed'"),
        ({"reduction": "median"}, "reduction must be one of sum, mean; got 'median'"),
        (
            {"noise": "validation", "likelihood": Gaussian(noise_scale=0.3)},
            "noise_scale=0.3; leave one",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, match):
    with pytest.raises(SpecError, match=match):
        Map(MLP(3), **options)


@pytest.mark.parametrize("name", ["map", "laplace", "deep_ensemble", "mc_dropout", "softmax", "count_map"])
@pytest.mark.parametrize(
    "law", ["predictions", "learned", "a_replicate_is_that_run_alone", "splits_of_other_shapes", "promises"]
)
def test_the_laws_hold_with_noise_from_validation(monkeypatch, name, law):
    """And a mean as reduction; the suite itself fits under the defaults."""
    monkeypatch.setattr(laws, "TINY_PROTOCOL", replace(laws.TINY_PROTOCOL, noise="validation", reduction="mean"))
    fitted = laws.fit(name)
    check = getattr(laws, f"check_{law}")
    check(fitted) if law == "learned" else check(name, fitted)
