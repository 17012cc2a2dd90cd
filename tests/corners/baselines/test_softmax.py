"""softmax: scikit-learn's logistic regression where the features are the inputs; its objective, penalty and classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special
from sklearn.linear_model import LogisticRegression

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._heads import SoftmaxHead
from corners.baselines._network_problem import MapProblem
from corners.baselines.softmax import Softmax
from corners.data.batch import stack_splits
from corners.data.split import Part, Split
from corners.errors import DataError, SpecError
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, real
from tests.support.task_splits import tiny_classes

SPLITS, SEEDS = [tiny_classes(1), tiny_classes(2)], [5, 6]
TINY = Softmax(MLP(3), schedule=SHORT)


def optimum(problem: MapProblem, params: dict[str, torch.Tensor]) -> torch.Tensor:
    """The weights at the minimum of the objective."""
    weights = params["weights"].clone().requires_grad_()
    search = torch.optim.LBFGS(
        [weights], 1.0, 500, tolerance_grad=1e-12, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        search.zero_grad()
        value = problem.objective(params | {"weights": weights}, 0)[0].sum()
        value.backward()
        return value

    search.step(closure)
    return weights.detach()


@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_on_identity_features_it_is_multinomial_logistic_regression(penalty):
    """Coefficients of scikit-learn at C = 1/λ, without intercept, to 1e-5."""
    splits = [tiny_classes(seed, rows=(60, 6, 5)) for seed in (1, 2)]
    data, _ = stack_splits(splits, scale_targets=False, codes=True)
    problem = MapProblem(Identity(), SoftmaxHead(3), data, real(penalty, penalty), 0.0)
    found = optimum(problem, {"weights": torch.zeros(2, 3, 2, dtype=torch.float64)}).numpy()
    for k in range(2):
        theirs = LogisticRegression(C=1.0 / penalty, fit_intercept=False, tol=1e-12, max_iter=10_000)
        theirs.fit(data.train.inputs[k].numpy(), data.train.targets[k].numpy())
        np.testing.assert_allclose(found[k], theirs.coef_, atol=1e-5)


def test_of_two_classes_it_is_binary_logistic_regression_at_half_the_penalty():
    """``w₁ = -w₀ = w/2``, so that ``½ λ (‖w₀‖² + ‖w₁‖²) = ¼ λ ‖w‖²``."""
    data, _ = stack_splits([tiny_classes(1, rows=(60, 6, 5), classes=2)], scale_targets=False, codes=True)
    problem = MapProblem(Identity(), SoftmaxHead(2), data, real(0.8), 0.0)
    found = optimum(problem, {"weights": torch.zeros(1, 2, 2, dtype=torch.float64)})[0].numpy()
    theirs = LogisticRegression(C=1.0 / 0.4, fit_intercept=False, tol=1e-12, max_iter=10_000)
    theirs.fit(data.train.inputs[0].numpy(), data.train.targets[0].numpy())
    np.testing.assert_allclose(found[1] - found[0], theirs.coef_[0], atol=1e-5)
    np.testing.assert_allclose(found.sum(0), 0.0, atol=1e-8)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_objective_is_the_penalised_cross_entropy(reduction):
    data, _ = stack_splits(SPLITS, scale_targets=False, codes=True)
    params = MLP(4).init(2, generators(1, 2), torch.float64) | {"weights": normal(3, 2, 3, 4)}
    problem = MapProblem(MLP(4), SoftmaxHead(3), data, real(0.3, 4.0), 0.07, reduction=reduction)
    found, _ = problem.objective(params, 0)
    for k, penalty in enumerate((0.3, 4.0)):
        weights = params["weights"][k].numpy()
        logits = MLP(4).features(params, data.train.inputs)[k].numpy() @ weights.T
        labels = data.train.targets[k].numpy().astype(int)
        each = -special.log_softmax(logits, 1)[np.arange(12), labels]
        expected = each.sum() if reduction == "sum" else each.mean()
        expected += 0.5 * penalty * (weights**2).sum() + 0.07 * float(params["backbone.weight_0"][k].square().sum())
        assert_close(found[k], expected)


def test_every_penalty_is_trained_and_validation_chooses():
    grid = (1e-3, 1.0, 1e3)
    together = replace(TINY, penalty_grid=grid).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        alone = [replace(TINY, penalty_grid=(penalty,)).fit([split], [5 + k]) for penalty in grid]
        part = split.validation
        nll = [-fit.predict(part.inputs).log_prob(part.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        assert together.learned(k)["penalty"] == grid[best]
        assert together.learned(k)["validation_nll"] == pytest.approx(nll[best], rel=1e-9)
        expected = alone[best].predict(split.test.inputs)
        found = together.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.log_probabilities, expected.log_probabilities, rtol=1e-7)
        assert ("edge of its grid" in together.statuses[k].sentence) == (best != 1)


def test_probabilities_are_the_softmax_of_the_features_and_survive_underflow():
    fit = TINY.fit(SPLITS, SEEDS)
    own = fit.replicates[1]
    logits = fit.features(SPLITS[1].test.inputs, replicate=1) @ own.params["weights"].numpy().T
    found = fit.predict(SPLITS[1].test.inputs, replicate=1)
    assert_close(found.log_probabilities, special.log_softmax(logits, 1), rel=1e-12)
    far = replace(own, members=({**own.params, "weights": 1e4 * own.params["weights"]},))
    sure = replace(fit, replicates=(far, far)).predict(SPLITS[1].test.inputs, replicate=1)
    assert np.isfinite(sure.log_probabilities).all() and sure.log_probabilities.min() < -800.0


def test_a_class_missing_from_the_training_part_is_said_and_kept():
    split = tiny_classes(1)
    without = Part(split.train.inputs, np.minimum(split.train.targets, 1.0))
    given = Split(without, split.validation, split.test, "two of three", task="classification", labels=split.labels)
    fit = TINY.fit([given, SPLITS[1]], SEEDS)
    assert "no training row has class blue" in fit.statuses[0].sentence
    assert "no training row" not in fit.statuses[1].sentence
    found = fit.predict(split.test.inputs).probabilities
    assert found.shape == (5, 3) and (found > 0.0).all()


def test_the_protocol_sets_it_up():
    protocol = Protocol(
        "mine", penalty_grid=(0.5, 2.0), backbone_penalty=0.2, max_steps=9, dtype="float32", reduction="mean"
    )
    made = Softmax.from_protocol(protocol, MLP(3))
    assert (made.penalty_grid, made.backbone_penalty, made.dtype, made.reduction) == (
        (0.5, 2.0),
        0.2,
        "float32",
        "mean",
    )
    assert made.schedule.max_steps == 9 and not made.temperature


def test_it_has_no_belief_to_judge():
    fit = TINY.fit(SPLITS, SEEDS)
    assert fit.last_layer(0, SPLITS[0]) is None
    assert set(fit.learned(0)) == {"penalty", "steps", "validation_nll"}
    assert set(fit.trace.values) == {"objective", "validation_nll", "test_nll"}


@pytest.mark.parametrize("grid", [(), (-1.0,)])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises(SpecError, match="penalty"):
        Softmax(penalty_grid=grid)


def test_targets_that_are_no_classes_are_refused():
    with pytest.raises(DataError, match="class codes"):
        Split(*(Part([[0.0]], [0.5]) for _ in range(3)), task="classification")
