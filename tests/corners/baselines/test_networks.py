"""What the baselines made of networks share: derived seeds, the worst status of members, what is said of a choice."""

from corners.baselines._networks import BEST_TO_WORST, derived_seed
from corners.baselines.deep_ensemble import DeepEnsemble
from corners.baselines.mc_dropout import McDropout
from corners.method import STATUS_SENTENCES, FitStatus


def test_derived_seeds_are_all_different():
    seeds = [derived_seed(seed, *key) for seed in range(-3, 30) for key in ((0,), (1,), (0, 1), (1, 0), (0, 2))]
    assert len(set(seeds)) == len(seeds) and not set(seeds) & set(range(-3, 30))


def test_the_worst_member_counts():
    method = DeepEnsemble()
    for better, worse in (
        ("converged", "stopped_early"),
        ("stopped_early", "step_limit"),
        ("step_limit", "not_finite"),
    ):
        statuses = [FitStatus(better, "a"), FitStatus(worse, "b"), FitStatus(better, "c")]
        found = method._status(statuses, {"penalty": 0.1}, False)
        assert (found.code, found.detail) == (worse, "the worst of 3 members: b")
        assert method._status(statuses, {"penalty": 0.1}, True).code == "interrupted"
    failed = method._status([FitStatus("converged"), FitStatus("failed", "at step 0")], {"penalty": 0.1}, True)
    assert failed.code == "failed" and not failed.usable


def test_every_edge_of_the_grid_is_said():
    method = McDropout(penalty_grid=(0.1, 1.0, 10.0), rate_grid=(0.05, 0.1, 0.2))
    said = {
        (penalty, rate): method._edge_remarks({"penalty": penalty, "rate": rate})
        for penalty in method.penalty_grid
        for rate in method.rate_grid
    }
    assert said[1.0, 0.1] == ()
    assert said[0.1, 0.1] == ("penalty 0.1 is at the edge of its grid",)
    assert said[10.0, 0.05] == ("penalty 10 is at the edge of its grid", "rate 0.05 is at the edge of its grid")


def test_every_status_has_its_place_and_what_cannot_predict_is_worst():
    assert set(BEST_TO_WORST) == set(STATUS_SENTENCES)
    usable = [FitStatus(code).usable for code in BEST_TO_WORST]
    assert usable == sorted(usable, reverse=True)
