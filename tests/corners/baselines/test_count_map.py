"""count_map: its objective by scipy's distributions, its offset, the size it learns and the penalty it chooses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._network_problem import MapProblem
from corners.baselines.count_map import CountMap
from corners.data.batch import stack_splits
from corners.data.split import Part, Split
from corners.errors import DataError, SpecError
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.poisson import Poisson
from corners.optimise import Schedule
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, real
from tests.support.task_splits import tiny_counts

SPLITS, SEEDS = [tiny_counts(1), tiny_counts(2)], [5, 6]
TINY = CountMap(MLP(3), schedule=SHORT)


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
def test_the_objective_is_the_penalised_likelihood(likelihood):
    method = replace(TINY, likelihood=likelihood, penalty_grid=(0.3,), backbone_penalty=0.07)
    head = method._head(SPLITS)
    data, _ = method._stack(SPLITS)
    params = method._init(head, data, generators(5, 6)) | {"weights": normal(3, 2, 3)}
    found, _ = method._problem(head, data, SEEDS, 3).objective(params, 0)
    for k, split in enumerate(SPLITS):
        counts, weights = split.train.targets, params["weights"][k].numpy()
        rate = counts.mean() * np.exp(MLP(3).features(params, data.train.inputs)[k].numpy() @ weights)
        size = 1.0
        each = stats.poisson(rate) if likelihood == "poisson" else stats.nbinom(size, size / (size + rate))
        expected = -each.logpmf(counts).sum() + 0.15 * weights @ weights
        expected += 0.07 * float(params["backbone.weight_0"][k].square().sum())
        assert_close(found[k], expected, rel=1e-9)


def test_on_identity_features_it_is_the_penalised_generalised_linear_model():
    """The optimum of scipy, to 1e-6; the offset is the log mean count."""
    data, _ = stack_splits(SPLITS, scale_targets=False, codes=True)
    problem = MapProblem(Identity(), Poisson(), data, real(2.0, 2.0), 0.0)
    offset = data.train.targets.mean(-1).log()
    for k in range(2):
        x, y = data.train.inputs[k].numpy(), data.train.targets[k].numpy()

        def loss(w: np.ndarray, x: np.ndarray = x, y: np.ndarray = y, k: int = k) -> float:
            latent = x @ w + float(offset[k])
            return (np.exp(latent) - y * latent).sum() + w @ w

        weights = torch.tensor(optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x)
        own = weights.expand(2, 2).clone().requires_grad_()
        value = problem.objective({"weights": own, "offset": offset}, 0)[0][k]
        (slope,) = torch.autograd.grad(value, own)
        assert float(slope[k].abs().max()) < 1e-3  # the curvature is of the order of 1e3


def test_predictions_are_poisson_at_the_rate_of_the_network():
    fit = TINY.fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        own, predictive = fit.replicates[k], fit.predict(split.test.inputs, replicate=k)
        rate = split.train.targets.mean() * np.exp(
            fit.features(split.test.inputs, replicate=k) @ own.params["weights"].numpy()
        )
        np.testing.assert_allclose(predictive.mean, rate, rtol=1e-10)
        np.testing.assert_allclose(predictive.variance, rate, rtol=1e-10)
        np.testing.assert_allclose(
            predictive.log_prob(split.test.targets), stats.poisson(rate).logpmf(split.test.targets), rtol=1e-9
        )
        assert fit.learned(k)["base_rate"] == pytest.approx(split.train.targets.mean())


def test_a_negative_binomial_learns_its_size():
    generator = np.random.default_rng(4)

    def part(rows: int) -> Part:
        inputs = generator.normal(size=(rows, 2))
        return Part(inputs, generator.negative_binomial(2.0, 2.0 / (2.0 + 20.0 * np.exp(0.5 * inputs[:, 0]))))

    split = Split(part(400), part(100), part(100), "overdispersed", task="count")
    schedule = Schedule(0.05, 200, 50, 1e-6)
    wide = CountMap(MLP(3), penalty_grid=(0.1,), schedule=schedule, likelihood="negative_binomial").fit([split], [5])
    narrow = CountMap(MLP(3), penalty_grid=(0.1,), schedule=schedule).fit([split], [5])
    nll = [-fit.predict(split.test.inputs).log_prob(split.test.targets).mean() for fit in (wide, narrow)]
    assert 1.5 < wide.learned(0)["size"] < 2.7 and nll[0] < nll[1] - 0.3


def test_a_size_at_its_bound_is_said(monkeypatch):
    monkeypatch.setattr("corners.likelihoods.negative_binomial.LOG_SIZE_BOUNDS", (-7.0, 0.1))
    fit = replace(TINY, likelihood="negative_binomial").fit(SPLITS, SEEDS)
    assert "size is at its upper bound" in fit.statuses[0].sentence
    assert "negative binomial likelihood" in fit.statuses[0].sentence
    plain = TINY.fit(SPLITS, SEEDS).statuses[0].sentence
    assert "size is at" not in plain and "poisson likelihood" in plain


def test_every_penalty_is_trained_and_validation_chooses():
    grid = (1e-3, 1.0, 1e4)
    together = replace(TINY, penalty_grid=grid).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        part = split.validation
        alone = [replace(TINY, penalty_grid=(penalty,)).fit([split], [5 + k]) for penalty in grid]
        nll = [-fit.predict(part.inputs).log_prob(part.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        assert together.learned(k)["penalty"] == grid[best]
        assert together.learned(k)["validation_nll"] == pytest.approx(nll[best], rel=1e-9)


def test_no_count_at_all_is_half_a_count():
    split = tiny_counts(1)
    none = Split(Part(split.train.inputs, np.zeros(12)), split.validation, split.test, "none", task="count")
    fit = TINY.fit([none], [5])
    assert fit.learned(0)["base_rate"] == pytest.approx(0.5 / 12)
    assert np.isfinite(fit.predict(split.test.inputs).log_prob(split.test.targets)).all()


def test_what_cannot_be_is_refused():
    with pytest.raises(SpecError, match="poisson, negative_binomial; got 'gamma'"):
        CountMap(likelihood="gamma")
    with pytest.raises(DataError, match="counts 0, 1, 2"):
        Split(*(Part([[0.0]], [-1.0]) for _ in range(3)), task="count")


def test_the_protocol_sets_it_up():
    made = CountMap.from_protocol(Protocol("mine", penalty_grid=(0.5,), dtype="float32", max_steps=9), MLP(3))
    assert (made.penalty_grid, made.dtype, made.schedule.max_steps, made.likelihood) == (
        (0.5,),
        "float32",
        9,
        "poisson",
    )
    assert isinstance(replace(made, likelihood="negative_binomial")._head(SPLITS), NegativeBinomial)
    fit = made.fit(SPLITS, SEEDS)
    assert np.isfinite(fit.predict(SPLITS[0].test.inputs).mean).all()
