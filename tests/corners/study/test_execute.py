"""One cell: its fingerprint, its options, the numbers that are kept, and how it fails."""

import json
import math
import pickle
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from corners.data.dataset import Dataset
from corners.data.loading import load
from corners.data.splitters import random_split
from corners.errors import DataError, SpecError, UnavailableError
from corners.method import Fit, FitStatus, Method, Trace
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from corners.study import cells, make_method, method_names
from corners.study.cells import fingerprint, spec_facts
from corners.study.execute import Failure, Job, replicate_record, run_cell
from corners.study.scoring import score_values
from tests.architecture.sources import in_fresh_python
from tests.corners.study.studies import HEAD, ROWS, small_study, written

GENERATOR = np.random.default_rng(4)
TARGETS, MEAN, VARIANCE = GENERATOR.normal(size=7), GENERATOR.normal(size=7), GENERATOR.uniform(0.2, 2.0, size=7)


def job_of(cell, **changes) -> Job:
    data = load(cell.dataset)
    return replace(Job(cell, fingerprint(cell, data, "random"), "2026-01-31", "corners run small"), **changes)


@pytest.fixture
def cell(tmp_path):
    return small_study(tmp_path).cells()[0]


@dataclass(frozen=True)
class StubFit(Fit):
    """Predicts what it is told to, or raises it."""

    predictive: Any
    statuses: tuple[FitStatus, ...]
    seeds: tuple[int, ...]
    method: str = "stub"
    trace: Trace = field(default_factory=lambda: Trace(np.zeros(0)))
    seconds: float = 6.0

    def predict(self, inputs, *, replicate=0):
        if isinstance(self.predictive, Exception):
            raise self.predictive
        return self.predictive(inputs)

    def features(self, inputs, *, replicate=0):
        return None

    def last_layer(self, replicate, split):
        return None

    def learned(self, replicate):
        return {"penalty": 0.5}


def unit_gaussian(inputs) -> GaussianPredictive:
    return GaussianPredictive(np.zeros(len(inputs)), np.ones(len(inputs)))


def stub_fit(seeds=(5, 6), code="converged", predictive=unit_gaussian) -> StubFit:
    return StubFit(predictive, tuple(FitStatus(code) for _ in seeds), tuple(seeds))


@dataclass(frozen=True)
class Hosted(Method):
    """Borrows from a host and keeps what it was given."""

    name: str = "hosted"
    host: ClassVar[str | None] = "scroll_none"
    given: ClassVar[list[Any]] = []
    outcome: ClassVar[Any] = None

    def fit(self, splits, seeds, *, host=None, progress=None):
        self.given.append((host, tuple(seeds)))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return stub_fit(seeds) if self.outcome is None else self.outcome


@pytest.fixture
def hosted(monkeypatch):
    """The row's method replaced by :class:`Hosted`; its host stays the real one."""
    plain = cells.make_method

    def make(name, **options):
        return Hosted() if name == "scroll_none" and not made.append(name) and len(made) % 2 else plain(name, **options)

    made: list[str] = []
    monkeypatch.setattr(cells, "make_method", make)
    monkeypatch.setattr(Hosted, "given", [])
    monkeypatch.setattr(Hosted, "outcome", None)
    return Hosted


# What is kept


def test_the_record_of_a_real_cell(cell):
    found = run_cell(job_of(cell))
    assert not isinstance(found, Failure), found
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["format"], found["dataset"], found["row"], found["seeds"]) == (1, "linear", "scroll_none", [5, 6])
    assert found["fingerprint"] == job_of(cell).fingerprint
    assert [record["seed"] for record in found["records"]] == [5, 6]
    assert found["provenance"]["date"] == "2026-01-31" and found["provenance"]["command"] == "corners run small"
    assert found["provenance"]["protocol"]["max_steps"] == 4
    assert found["seconds"] >= sum(record["values"]["fit_seconds"] for record in found["records"])


def test_the_numbers_are_those_of_the_fit_itself(cell):
    found = run_cell(job_of(cell))
    data = load("linear")
    splits = [random_split(data, seed) for seed in cell.seeds]
    fit = cell.recipe(data).method.fit(splits, cell.seeds)
    for k, (split, record) in enumerate(zip(splits, found["records"], strict=True)):
        predictive = fit.predict(split.test.inputs, replicate=k)
        terms = -stats.norm.logpdf(split.test.targets, predictive.mean, np.sqrt(predictive.variance))
        assert record["values"]["nll"] == pytest.approx(terms.mean(), rel=1e-12)
        assert record["values"]["nll_se"] == pytest.approx(terms.std(ddof=1) / math.sqrt(len(terms)), rel=1e-12)
        assert record["values"]["rmse"] == pytest.approx(
            math.sqrt(np.mean((split.test.targets - predictive.mean) ** 2)), rel=1e-12
        )
        assert record["values"]["noise_scale"] == fit.learned(k)["noise_scale"]
        assert (record["code"], record["n_test"], record["usable"]) == ("step_limit", split.test.n, True)
        assert record["status"] == fit.statuses[k].sentence


def test_coverage_at_nineteen_levels():
    values = score_values(GaussianPredictive(MEAN, VARIANCE), TARGETS)
    for percent in range(5, 100, 5):
        radius = stats.norm.ppf(0.5 + percent / 200.0)
        share = np.mean(np.abs(TARGETS - MEAN) / np.sqrt(VARIANCE) <= radius)
        assert values[f"coverage_{percent:02d}"] == share
    assert values["coverage"] == values["coverage_90"]
    misses = [abs(values[f"coverage_{percent:02d}"] - percent / 100) for percent in range(5, 100, 5)]
    assert values["calibration_error"] == pytest.approx(np.mean(misses), rel=1e-12)
    assert "nll_moment_matched" not in values


def test_a_mixture_has_both_likelihoods():
    means, variances = np.stack([MEAN, MEAN + 2.0]), np.stack([VARIANCE, 2.0 * VARIANCE])
    values = score_values(MixturePredictive(means, variances), TARGETS)
    density = 0.5 * stats.norm.pdf(TARGETS, means, np.sqrt(variances)).sum(axis=0)
    matched = 1.5 * VARIANCE + 1.0
    assert values["nll"] == pytest.approx(-np.log(density).mean(), rel=1e-12)
    terms = stats.norm.logpdf(TARGETS, MEAN + 1.0, np.sqrt(matched))
    assert values["nll_moment_matched"] == pytest.approx(-terms.mean(), rel=1e-12)


def test_a_replicate_that_cannot_predict_has_no_numbers():
    split = random_split(load("linear"), 5)
    record = replicate_record(stub_fit(code="failed"), 0, split)
    assert record["usable"] is False and record["values"] == {} and record["code"] == "failed"


def test_a_replicate_whose_predictive_breaks_says_so():
    """And keeps what it learned; its sibling is scored."""
    split = random_split(load("linear"), 5)
    record = replicate_record(stub_fit(predictive=DataError("predictive variance must be positive")), 1, split)
    assert record["usable"] is False and record["seed"] == 6
    assert "cannot be scored: predictive variance must be positive" in record["status"]
    assert "nll" not in record["values"] and record["values"]["fit_seconds"] == 3.0


def test_a_mistake_in_the_code_is_no_property_of_a_replicate():
    with pytest.raises(TypeError):
        replicate_record(stub_fit(predictive=TypeError("wrong")), 0, random_split(load("linear"), 5))


# Hosts, interrupts and failures


def test_the_host_is_fitted_first_under_the_same_recipe(cell, hosted):
    found = run_cell(job_of(cell))
    assert not isinstance(found, Failure), found
    ((host, seeds),) = hosted.given
    assert host.method == "scroll_none" and seeds == (5, 6) == host.seeds
    assert host.corner.backbone.widths == (3,)
    assert found["records"][0]["values"]["fit_seconds"] == 3.0  # its own seconds, not the host's


def test_a_missing_peer_is_a_failure_with_the_reason(cell, hosted):
    hosted.outcome = UnavailableError("vbll is not installed: pip install vbll")
    found = run_cell(job_of(cell))
    assert isinstance(found, Failure) and found.reason == "vbll is not installed: pip install vbll"
    assert "UnavailableError" in found.traceback


def test_an_error_of_a_library_names_its_kind(cell, hosted):
    hosted.outcome = RuntimeError("shape mismatch")
    found = run_cell(job_of(cell))
    assert isinstance(found, Failure) and found.reason == "RuntimeError: shape mismatch"


@pytest.mark.parametrize("code", ["interrupted", "not_started"])
def test_a_half_trained_fit_is_no_result(cell, hosted, code):
    hosted.outcome = stub_fit(code=code)
    with pytest.raises(KeyboardInterrupt):
        run_cell(job_of(cell))


def test_ctrl_c_while_the_host_trains_goes_no_further(cell, hosted):
    def interrupt(step, running, best):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cell(job_of(cell), interrupt)
    assert hosted.given == []


def test_another_table_on_a_worker_is_noticed_before_training(cell, monkeypatch):
    job = job_of(cell)
    other = Dataset(np.arange(40.0), np.arange(40.0))
    monkeypatch.setattr("corners.data.loading.load", lambda _: other)
    monkeypatch.setattr("corners.study.execute._fit", lambda *_: pytest.fail("something was trained"))
    found = run_cell(job)
    assert isinstance(found, Failure) and "give every worker the same" in found.reason


def test_a_job_goes_to_another_process(cell):
    job = job_of(cell)
    assert pickle.loads(pickle.dumps(job)) == job


# Fingerprints


def prints(tmp_path, text=HEAD + ROWS, data=None, kind="random", position=0) -> str:
    cell = small_study(tmp_path, text).cells()[position]
    return fingerprint(cell, data or load(cell.dataset), kind)


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("max_steps = 4", "max_steps = 5") + ROWS,
        HEAD.replace("hidden = [3]", "hidden = [4]") + ROWS,
        HEAD.replace("seeds = 3", "seeds = 1") + ROWS,
        HEAD.replace("seeds = 3", "seeds = 3\nfirst_seed = 6") + ROWS,
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nmethod = "map"', 1),
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\noptions = { dtype = "float32" }', 1),
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nprotocol = { jitter = 0.1 }', 1),
        HEAD + "[dataset.linear]\nbackbone = 'identity'\n" + ROWS,
    ],
)
def test_what_determines_the_numbers_changes_the_fingerprint(tmp_path, text):
    assert prints(tmp_path, text) != prints(tmp_path)


def test_so_do_the_table_and_the_way_to_split(tmp_path):
    data = load("linear")
    other = Dataset(data.inputs, data.targets + 1e-9, data.name)
    assert len({prints(tmp_path), prints(tmp_path, data=other), prints(tmp_path, kind="predefined")}) == 3


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("Does it run?", "Is it fast?") + ROWS,
        HEAD.replace('title = "Small"', 'title = "Tiny"') + ROWS,
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nlabel = "None"\npublished = "Bethe"', 1),
        HEAD + ROWS.replace('"scroll_none"', '"plain"\nmethod = "scroll_none"', 1),
        HEAD.replace("max_steps = 4, patience = 4", "patience = 4, max_steps = 4") + ROWS,
        HEAD.replace(", max_steps = 4", "") + ROWS.replace('_none"', '_none"\nprotocol = { max_steps = 4 }', 1),
    ],
)
def test_what_does_not_leaves_it(tmp_path, text):
    assert prints(tmp_path, text) == prints(tmp_path)


def test_a_choice_that_nobody_has_made_leaves_earlier_results():
    """A later version may add a field; where it says nothing, cells of before are still what they were."""
    kind = ("Spec", [("rate", float)])
    before, after = make_dataclass(*kind), make_dataclass(kind[0], [*kind[1], ("tied", float | None, None)])
    assert spec_facts(before(1.0)) == spec_facts(after(1.0)) != spec_facts(after(1.0, 0.0))


def test_it_is_the_same_in_every_process(tmp_path):
    written(tmp_path)
    code = f"""
from corners.data.loading import load
from corners.study.cells import fingerprint
from corners.study.spec import read_study
print(fingerprint(read_study({str(tmp_path / "small")!r}).cells()[0], load("linear"), "random"))
"""
    done = in_fresh_python(code)
    assert done.stdout.strip() == prints(tmp_path), done.stderr


@pytest.mark.parametrize("name", method_names())
def test_every_method_reads_as_what_it_is(name):
    """An address in memory would make every result stale."""
    method = make_method(name)
    assert all(" at 0x" not in repr(getattr(method, each.name)) for each in fields(method))


# Options


def recipe_of(tmp_path, method: str, options: str):
    """The recipe of a row with options on the first table of the study."""
    text = f"{HEAD}[[rows]]\nname = 'own'\nmethod = '{method}'\noptions = {options}\n"
    return small_study(tmp_path, text).cells()[0].recipe(load("linear"))


def test_options_become_fields_of_the_method(tmp_path):
    assert recipe_of(tmp_path, "nuts", "{ draws = 600 }").method.draws == 600
    laplace = recipe_of(tmp_path, "laplace", "{ precision_grid = [1, 2.5] }").method
    assert laplace.precision_grid == (1.0, 2.5)
    vbll = [
        recipe_of(
            tmp_path, "vbll", f"{{ start = 'as_published', regularisation_weight = {given} }}"
        ).method.regularisation_weight
        for given in ("2", "[0.1, 1]", '"none"')
    ]
    assert vbll == [2.0, (0.1, 1.0), None]


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "nuts",
            "{ drows = 600 }",
            "row 'own', options: no option of nuts is called 'drows'. Did you mean 'draws'.*chains",
        ),
        ("nuts", "{ draws = 600.0 }", "row 'own', options, draws: got 600.0; allowed is a whole number"),
        ("nuts", "{ draws = true }", "draws: got True; allowed is a whole number"),
        ("nuts", "{ name = 'mine' }", "no option of nuts is called 'name'"),
        ("map", "{ backbone = 'mlp' }", "no option of map is called 'backbone'"),
        ("map", "{ dtype = 3 }", "dtype: got 3; allowed is a text"),
        ("map", "{ scale_targets = 1 }", "scale_targets: got 1; allowed is true or false"),
        ("map", "{ penalty_grid = 1.0 }", "penalty_grid: got 1.0; allowed is a list, each a number"),
        ("laplace", "{ structure = 'round' }", "row 'own', options structure: .*round"),
        ("sequential", "{ batch_size = 8 }", "row 'own', options batch_size: mini-batches are for"),
    ],
)
def test_options_that_a_method_does_not_take(tmp_path, method, options, message):
    with pytest.raises(SpecError, match=message):
        recipe_of(tmp_path, method, options)
