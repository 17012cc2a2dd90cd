"""Cells with other heads, trained end to end: labels and counts stay what they are, and the fit predicts them."""

from dataclasses import replace

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.data.split import Part, Split
from corners.engine.named import named_cell
from corners.errors import DataError, ImpossibleCellError
from corners.likelihoods.logistic import Logistic
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import Ordinal
from corners.likelihoods.poisson import Poisson
from corners.likelihoods.probit import Probit
from corners.likelihoods.student_t import StudentT
from corners.protocols import Protocol, with_options

pytestmark = pytest.mark.unchecked

PROTOCOL = Protocol("short", learning_rate=0.05, max_steps=150, patience=40)
SEEDS = [5, 6]


def split_of(kind: str, seed: int) -> Split:
    """A latent score of two inputs, read as a label, an ordered label, one of three classes, a count or a number."""
    generator = np.random.default_rng(seed)

    def part(count: int) -> Part:
        x = generator.normal(size=(count, 2))
        score = 2.0 * x[:, 0] - x[:, 1]
        targets = {
            "binary": (score > 0.3 * generator.normal(size=count)).astype(float),
            "ordered": np.digitize(score, [-1.0, 1.0]).astype(float),
            "classes": np.argmax(np.column_stack([x[:, 0], x[:, 1], -x.sum(1)]), axis=1).astype(float),
            "counts": generator.poisson(np.exp(0.5 * score)).astype(float),
            "numbers": score + 0.2 * generator.standard_t(3.0, size=count),
        }[kind]
        return Part(3.0 + 2.0 * x, targets)

    task = {"counts": "count", "numbers": "regression"}.get(kind, "classification")
    return Split(part(120), part(60), part(60), kind, seed=seed, task=task)


HEADS = [
    (Probit(), "binary"),
    (Logistic(), "binary"),
    (Ordinal(classes=3), "ordered"),
    (OneVsAll(3), "classes"),
    (Poisson(), "counts"),
    (NegativeBinomial(), "counts"),
    (StudentT(), "numbers"),
]


def nll(predictive, targets) -> float:
    return -float(predictive.log_prob(targets).mean())


def base_rate(split: Split) -> float:
    """NLL of what knows the training targets and no input."""
    train, test = split.train.targets, split.test.targets
    if split.task == "regression":
        return 0.5 * float(np.log(2.0 * np.pi * train.var()) + np.mean((test - train.mean()) ** 2) / train.var())
    shares = np.bincount(train.astype(int), minlength=int(test.max()) + 1) + 1.0
    return -float(np.log(shares / shares.sum())[test.astype(int)].mean())


@pytest.mark.parametrize(("head", "kind"), HEADS, ids=lambda value: getattr(value, "name", value))
def test_a_trained_cell_beats_the_base_rate_and_replicates_are_their_own(head, kind):
    splits = [split_of(kind, seed) for seed in SEEDS]
    method = named_cell("scroll_diagonal", PROTOCOL, MLP(6), head)
    fit = method.fit(splits, SEEDS)
    alone = method.fit(splits[1:], SEEDS[1:])
    for k, split in enumerate(splits):
        predictive = fit.predict(split.test.inputs, replicate=k)
        assert fit.statuses[k].usable
        assert nll(predictive, split.test.targets) < base_rate(split) - 0.1
        assert fit.last_layer(k, split) is None, "its posterior is not Gaussian"
    one, other = fit.predict(splits[1].test.inputs, replicate=1), alone.predict(splits[1].test.inputs)
    np.testing.assert_allclose(one.log_prob(splits[1].test.targets), other.log_prob(splits[1].test.targets), rtol=1e-8)


@pytest.mark.parametrize("shared", [False, True])
def test_the_validation_nll_of_the_trace_is_that_of_the_prediction(shared):
    """One-versus-all is trained by another score than its predictive's; what stops it is the predictive's."""
    split = split_of("classes", 7)
    method = named_cell("scroll_none", replace(PROTOCOL, max_steps=1, learning_rate=1e-12), MLP(6), OneVsAll(3))
    corner = method.corner
    prior = replace(corner.prior, shared=shared)
    own = type(corner)(
        corner.cavity, corner.routing, corner.covariance, corner.likelihood, prior, corner.backbone, jitter=1e-4
    )
    fit = replace(method, corner=own).fit([split], [7])
    found = nll(fit.predict(split.validation.inputs), split.validation.targets)
    assert fit.trace.values["validation_nll"][0, 0] == pytest.approx(found, rel=1e-9)


def test_wrong_targets_are_refused_in_words():
    numbers = split_of("numbers", 1)
    with pytest.raises(DataError, match="class labels must be 0 to 1"):
        named_cell("scroll_none", PROTOCOL, MLP(3), Probit()).fit([numbers], [1])
    with pytest.raises(DataError, match="count"):
        named_cell("scroll_none", PROTOCOL, MLP(3), Poisson()).fit([numbers], [1])


@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "shared_closed", "mean_closed_dense"])
def test_cells_that_bind_to_a_conjugate_posterior_say_that_there_is_none(name):
    with pytest.raises(ImpossibleCellError, match="'probit' has none; use routing 'free'"):
        named_cell(name, PROTOCOL, MLP(3), Probit())


@pytest.mark.parametrize(("head", "kind"), [each for each in HEADS if each[1] != "numbers"])
def test_the_laplace_cell_learns_and_says_that_it_is_approximate(head, kind):
    splits = [split_of(kind, seed) for seed in SEEDS]
    fit = named_cell("laplace_closed", with_options(PROTOCOL, max_steps=30), MLP(6), head).fit(splits, SEEDS)
    for k, split in enumerate(splits):
        assert "approximate: laplace stands for the posterior" in fit.statuses[k].sentence
        assert nll(fit.predict(split.test.inputs, replicate=k), split.test.targets) < base_rate(split)


def test_of_gaussian_noise_the_laplace_cell_is_the_posterior_and_says_nothing():
    split = split_of("numbers", 5)
    laplace, closed = (
        named_cell(name, PROTOCOL, MLP(6)).fit([split], [5]) for name in ("laplace_closed", "shared_closed")
    )
    assert "approximate" not in laplace.statuses[0].sentence
    for moment in ("mean", "variance"):
        np.testing.assert_allclose(
            getattr(laplace.predict(split.test.inputs), moment), getattr(closed.predict(split.test.inputs), moment)
        )
