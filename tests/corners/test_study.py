"""``compare``: names and objects, hosts, truths, and what is refused before anything is trained."""

import numpy as np
import pytest

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.comparison.table import TABLE_SCORES
from corners.data.dataset import Dataset
from corners.engine.cells import CELLS
from corners.engine.training import CornerMethod
from corners.errors import CornersError, ImpossibleCellError, SpecError, UnavailableError, UnknownNameError
from corners.method import METHODS
from corners.protocols import get_protocol, with_options
from corners.study import compare, make_method, method_names, method_summary
from tests.support.corner_cells import cell
from tests.support.problems import SHORT, TINY_PROTOCOL, tiny_split
from tests.support.reporters import Listener, Stub, failing
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

pytestmark = pytest.mark.unchecked

SPLIT = tiny_split(1)
GENERATOR = np.random.default_rng(1)
INPUTS = GENERATOR.normal(size=(30, 2))
DATA = Dataset(INPUTS, np.sin(INPUTS[:, 0]) + 0.3 * GENERATOR.normal(size=30), name="waves")


def run(data=SPLIT, methods=("sequential", "scroll_none"), **options):
    options = {"backbone": Identity(), "seeds": [5], "protocol": TINY_PROTOCOL} | options
    return compare(data, list(methods), **options)


# Methods


def test_every_method_has_a_name_and_a_line():
    assert method_names() == [*CELLS, *METHODS.names()]
    for name in method_names():
        assert method_summary(name) and "\n" not in method_summary(name)
        assert make_method(name).name == name


def test_an_unknown_method_lists_all_of_them():
    with pytest.raises(UnknownNameError, match=r"no method is called 'scroll_ful'\. Did you mean 'scroll_") as raised:
        make_method("scroll_ful")
    assert all(name in str(raised.value) for name in method_names())


def test_the_default_backbone_is_the_protocols():
    assert make_method("sequential").corner.backbone == MLP(50, bias=True)
    unbiased = with_options(get_protocol("default"), hidden_bias=False)
    assert make_method("sequential", protocol=unbiased).corner.backbone == MLP(50, bias=False)


def test_methods_by_name_and_as_objects_side_by_side():
    own = CornerMethod("mine", cell("mean_closed_dense", backbone=MLP(3)), SHORT)
    comparison = run(methods=["map", own, "sequential"])
    assert set(comparison.methods) == {"map", "mine", "sequential"}
    assert comparison.fits["mine"].corner == own.corner
    assert np.isfinite([record["mean"] for record in comparison.records() if record["score"] == "nll"]).all()


def test_two_methods_of_one_name_are_refused():
    """Otherwise the second silently takes the first one's row."""
    one = CornerMethod("mine", cell("sequential"), SHORT)
    other = CornerMethod("mine", cell("scroll_none"), SHORT)
    with pytest.raises(SpecError, match="mine"):
        run(methods=[one, other])


def test_a_name_given_twice_is_fitted_once():
    listener = Listener()
    run(methods=["sequential", "sequential"], reporter=listener)
    assert listener.started == ["sequential"]


# Splits and seeds


def test_a_dataset_is_split_anew_by_every_seed():
    comparison = run(DATA, seeds=range(5, 8))
    assert [split.seed for split in comparison.splits] == [5, 6, 7]
    assert len({split.fingerprint for split in comparison.splits}) == 3
    assert comparison.provenance.seed_info == "each seed sets the split and the initial weights"


def test_a_split_is_kept_and_the_seeds_vary_the_start():
    comparison = run(seeds=[5, 6], backbone=MLP(3))
    assert comparison.splits == (SPLIT, SPLIT)
    one, other = (comparison.fits["sequential"].predict(SPLIT.test.inputs, replicate=k).mean for k in (0, 1))
    assert not np.allclose(one, other)
    assert comparison.provenance.seed_info == "each seed sets the initial weights"


def test_a_dataset_with_a_split_of_its_own_keeps_it_and_the_provenance_says_so():
    folds = ["train"] * 18 + ["validation"] * 6 + ["test"] * 6
    comparison = run(Dataset(DATA.inputs, DATA.targets, folds=folds), ["sequential"], seeds=[5, 6])
    assert comparison.splits[0].fingerprint == comparison.splits[1].fingerprint
    assert comparison.provenance.seed_info == "each seed sets the initial weights"


def test_own_splits_of_unequal_shapes():
    splits = [tiny_split(1), tiny_split(2, rows=(9, 4, 3)), tiny_split(3, rows=(9, 4, 3))]
    comparison = run(splits, ["sequential", "map", "gaussian_process"], seeds=[5, 6, 7])
    for name in comparison.fits:
        scores = [comparison.score("nll", name, k) for k in range(3)]
        assert [score.n for score in scores] == [5, 3, 3] and all(np.isfinite(score.mean) for score in scores)


def test_each_replicate_is_scored_on_its_own_test_part():
    comparison = run(DATA, ["sequential"], seeds=[5, 6])
    for k, split in enumerate(comparison.splits):
        predictive = comparison.fits["sequential"].predict(split.test.inputs, replicate=k)
        expected = -predictive.log_prob(split.test.targets).mean()
        assert comparison.score("nll", "sequential", k).mean == pytest.approx(expected)


# What is refused before anything is trained


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": []}, "seed"),
        ({"seeds": [5, 5]}, "twice|differ"),
        ({"seeds": [-1]}, "seed is -1"),
        ({"truth": "exact"}, "truth must be 'fixed' or 'hierarchical'; got 'exact'"),
        ({"truth_seeds": -1}, "truth_seeds counts seeds and cannot be negative; got -1"),
        ({"truth_draws": 0}, "truth_draws"),
        ({"protocol": "paper_v9"}, "no protocol is called 'paper_v9'"),
        ({"data": [SPLIT]}, "1 splits were given for 2 seeds"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_trained(change, message):
    stub = Stub(lambda: pytest.fail("it was trained"))
    options = {"data": SPLIT, "seeds": [5, 6]} | change
    data = options.pop("data")
    with pytest.raises(CornersError, match=message):
        run(data, [stub, "sequential"], **options)
    assert stub.calls == []


def test_an_unknown_name_is_refused_before_the_known_ones_are_trained():
    stub = Stub(lambda: pytest.fail("it was trained"))
    with pytest.raises(UnknownNameError, match="no method is called 'scrol'"):
        run(methods=[stub, "scrol"])


def test_a_single_name_is_no_list_of_names():
    with pytest.raises(SpecError, match=r"got the string 'sequential'; write \['sequential'\]"):
        compare(SPLIT, "sequential", seeds=[5])


def test_no_method_at_all_is_refused():
    with pytest.raises(SpecError, match="at least one method is needed; known: sequential"):
        run(methods=[])


CLASSES = Dataset(INPUTS, (INPUTS[:, 0] > 0).astype(float), name="signs", task="classification")
COUNTS = Dataset(INPUTS, np.floor(np.exp(0.5 * INPUTS[:, 0] + 1.0)), name="steps", task="count")


def test_methods_of_another_task_are_refused_with_those_for_the_table():
    with pytest.raises(SpecError, match=r"'map' is for regression tables, .* a classification table; .*softmax"):
        run(CLASSES, ["map"])
    with pytest.raises(ImpossibleCellError, match=r"^sequential: closed routing .* 'probit' has none"):
        run(CLASSES, ["sequential"])
    with pytest.raises(SpecError, match="'scroll_none' is for regression tables"):
        run(COUNTS, [make_method("scroll_none")])


@pytest.mark.parametrize("covariance", ["none", "diagonal", "dense"])
@pytest.mark.parametrize(("data", "head"), [(CLASSES, None), (CLASSES, "one_vs_all"), (COUNTS, "negative_binomial")])
def test_classes_and_counts_are_scored_ordered_and_reported(data, head, covariance, tmp_path):
    name = f"scroll_{covariance}"
    comparison = run(data, [name], seeds=[5, 6], head=head)
    table = comparison.table()
    assert [column.name for column in table.columns] == list(TABLE_SCORES[data.task])
    assert all(np.isfinite(column.mean(name)) for column in table.columns)
    report = comparison.ordering(name, 5)
    assert report.bethe_elbo.data >= -1e-9 and (abs(report.map_bethe.total) < 1e-9) == (covariance == "none")
    assert comparison.identifiability().absent[name, 5].endswith("and Gaussian noise")
    text = comparison.report(tmp_path).text.read_text(encoding="utf-8")
    assert ("trains K yes-or-no forecasts" in text) == (head == "one_vs_all")
    assert ("selective-prediction" in text) == (data.task == "classification")
    assert ("randomised PIT" in text) == (data.task == "count")


# What cannot run, and what is recorded


def test_a_method_that_cannot_run_is_a_row_with_the_reason():
    comparison = run(
        methods=["sequential", failing(UnavailableError("gpytorch is missing; pip install it")), "scroll_none"]
    )
    assert comparison.unavailable == {"broken": "gpytorch is missing; pip install it"}
    assert set(comparison.fits) == {"sequential", "scroll_none"}
    assert "unavailable: gpytorch is missing" in str(comparison.table())


@pytest.mark.parametrize(
    "error", [np.linalg.LinAlgError("not positive definite"), MemoryError("no memory"), ValueError("bad")]
)
def test_a_library_error_in_one_method_does_not_lose_the_others(error):
    """Not only our own errors: scikit-learn raises LinAlgError, torch RuntimeError."""
    comparison = run(methods=["sequential", failing(error), "scroll_none"])
    assert set(comparison.fits) == {"sequential", "scroll_none"}
    assert type(error).__name__ in comparison.unavailable["broken"] and str(error) in comparison.unavailable["broken"]


def test_the_reporter_hears_every_task_with_its_length():
    listener = Listener()
    run(methods=["sequential", failing(UnavailableError("no library")), "map"], reporter=listener)
    assert listener.started == ["sequential", "broken", "map"] and len(listener.finished) == 3
    assert listener.totals[0] == TINY_PROTOCOL.max_steps
    assert listener.finished[1] == "unavailable: no library"


def test_where_the_numbers_come_from():
    comparison = run(DATA, seeds=[5, 6], command="corners compare waves")
    record = comparison.provenance
    assert record.command == "corners compare waves" and record.protocol["name"] == "tiny"
    assert record.settings["methods"] == ["sequential", "scroll_none"] and record.settings["interrupted"] is False
    assert record.wall_seconds > 0.0 and len(record.date) >= 19
    assert comparison.dataset_name == "waves" and comparison.dataset_description["sha256"] == DATA.fingerprint
    assert comparison.seeds == (5, 6)


def test_same_call_same_numbers():
    one, other = (run(DATA, ["scroll_dense", "map"], seeds=[5, 6], backbone=MLP(3)) for _ in range(2))
    assert [r["mean"] for r in one.records()] == [r["mean"] for r in other.records()]


def test_a_table_of_several_outputs_is_refused_with_what_to_do():
    inputs = np.random.default_rng(0).normal(size=(30, 2))
    data = Dataset(inputs, np.stack([inputs[:, 0], inputs[:, 1]], axis=1), "two", target_name=["left", "right"])
    with pytest.raises(SpecError, match=r"'two' has 2 outputs \(left, right\).*Gaussian\(outputs=2\)"):
        compare(data, ["map"], seeds=[5])
