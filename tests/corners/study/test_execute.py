"""One cell run: the numbers that are kept, what its status says, and how it fails."""

import json
import math
import pickle
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from corners.data.dataset import Dataset
from corners.data.loading import load
from corners.data.splitters import random_split
from corners.errors import DataError, UnavailableError
from corners.likelihoods._quadrature import QuadratureWarning
from corners.method import Fit, FitStatus, Method, Trace
from corners.predictive.gaussian import GaussianPredictive
from corners.study import cells
from corners.study.cells import fingerprint
from corners.study.execute import Failure, Job, replicate_record, run_cell
from corners.study.fitting import WIDE
from tests.corners.study.studies import small_study


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


def test_what_quadrature_met_while_scoring_is_said_unless_training_said_it():
    def wide(inputs):
        text = "a marginal variance of 12 exceeds 10: 32 nodes lose digits"
        warnings.warn(text, QuadratureWarning, stacklevel=1)
        return unit_gaussian(inputs)

    split = random_split(load("linear"), 5)
    assert replicate_record(stub_fit(predictive=wide), 0, split)["status"] == f"converged; scored: {WIDE}"
    trained = replace(stub_fit(predictive=wide), statuses=(FitStatus("converged", remarks=(WIDE,)),), seeds=(5,))
    assert replicate_record(trained, 0, split)["status"] == f"converged; {WIDE}"
    assert replicate_record(stub_fit(), 0, split)["status"] == "converged"


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
