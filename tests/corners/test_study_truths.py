"""``compare``: hosts are fitted first, and every belief gets its own truth."""

import numpy as np

from corners.backbones.identity import Identity
from corners.errors import TruthError, UnavailableError
from corners.study import compare
from corners.study.running import stream
from tests.support.problems import TINY_PROTOCOL, tiny_split
from tests.support.reporters import Listener, failing
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

SPLIT = tiny_split(1)


def run(data=SPLIT, methods=("sequential", "scroll_none"), **options):
    options = {"backbone": Identity(), "seeds": [5], "protocol": TINY_PROTOCOL} | options
    return compare(data, list(methods), **options)


def test_a_host_is_added_and_fitted_first(sampler: Sampler):  # noqa: F811
    listener = Listener()
    comparison = run(methods=["nuts", "map"], reporter=listener, truth_seeds=0)
    assert listener.started.index("sequential") < listener.started.index("nuts")
    assert comparison.hosts == {"nuts": "sequential"}
    assert comparison.fits["nuts"].host is comparison.fits["sequential"]


def test_a_method_whose_host_could_not_be_fitted_says_so(sampler: Sampler):  # noqa: F811
    comparison = run(methods=[failing(UnavailableError("no library"), "sequential"), "nuts", "scroll_none"])
    assert "sequential" in comparison.unavailable["nuts"] and "could not be fitted" in comparison.unavailable["nuts"]
    assert set(comparison.fits) == {"scroll_none"}


def test_every_belief_is_compared_with_its_own_truth(sampler: Sampler):  # noqa: F811
    """On the first ``truth_seeds`` seeds; the draws that NUTS made for its host are used again, a point has none."""
    comparison = run(methods=["sequential", "scroll_dense", "map", "nuts"], seeds=[5, 6, 7], truth_seeds=2)
    assert set(comparison.references) == {
        ("sequential", 5),
        ("sequential", 6),
        ("scroll_dense", 5),
        ("scroll_dense", 6),
    }
    nuts = comparison.fits["nuts"]
    assert comparison.references["sequential", 5] is nuts.references[0]
    assert len(sampler.asked) == 3 + 2
    seeds = [asked["seed"] for asked in sampler.asked]
    assert seeds[:3] == [5, 6, 7] and seeds[3:] == [stream("scroll_dense", 5), stream("scroll_dense", 6)]
    assert len(set(seeds)) == 5  # each belief is checked by draws of its own
    layers = [asked["layer"] for asked in sampler.asked[3:]]
    expected = comparison.fits["scroll_dense"].last_layer(1, comparison.splits[1])
    np.testing.assert_array_equal(layers[1].features, expected.features)


def test_without_nuts_among_the_methods_nothing_is_sampled(sampler: Sampler):  # noqa: F811
    assert run(methods=["sequential"], truth_seeds=3).references == {} and sampler.asked == []


def test_the_number_of_draws_is_the_same_for_every_truth(sampler: Sampler):  # noqa: F811
    run(methods=["scroll_dense", "nuts"], truth_draws=300)
    assert [asked["draws"] for asked in sampler.asked] == [300, 300]


def test_more_truths_than_seeds_are_as_many_as_there_are(sampler: Sampler):  # noqa: F811
    comparison = run(methods=["sequential", "nuts"], seeds=[5, 6], truth_seeds=9)
    assert set(comparison.references) == {("sequential", 5), ("sequential", 6)}


def test_hierarchical_truths_are_sampled_with_the_fits_own_hyperpriors(sampler: Sampler):  # noqa: F811
    comparison = run(methods=["scroll_dense", "nuts"], truth="hierarchical")
    asked = [each for each in sampler.asked if each["hierarchical"]]
    assert {each["layer"].family for each in asked} == {"dense"}
    assert ("scroll_dense", 5) in comparison.references
    layer = next(each["layer"] for each in asked if each["layer"].routing == "free")
    assert layer.precision_prior is not None and layer.noise_prior is not None


def test_a_truth_that_fails_its_gate_is_a_reason_and_no_number(sampler: Sampler):  # noqa: F811
    sampler.failing = TruthError("R-hat 1.3 exceeds 1.01")
    comparison = run(methods=["sequential", "scroll_dense", "nuts"])
    assert comparison.references == {}
    assert "R-hat 1.3" in comparison.reference_failures["scroll_dense", 5]
    assert "R-hat 1.3" in comparison.fits["nuts"].statuses[0].sentence
