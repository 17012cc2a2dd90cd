"""Labels and counts that a head cannot have, in any part of a split; and those that are merely unusual."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from corners.backbones.identity import Identity
from corners.beliefs import Marginals
from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.engine.named import named_cell
from corners.errors import DataError
from corners.likelihoods._base import Likelihood
from corners.likelihoods.logistic import Logistic
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import Ordinal
from corners.likelihoods.poisson import Poisson, with_exposure
from corners.likelihoods.probit import Probit
from corners.protocols import Protocol

PROTOCOL = Protocol("short", learning_rate=0.05, max_steps=20, patience=10)
ROWS = 12


def split_of(**targets) -> Split:
    """Labels 0, 1, 0, 1, ... in every part but those given; a regression, so that no check of the table comes first."""
    generator = np.random.default_rng(3)
    parts = {
        name: Part(generator.normal(size=(ROWS, 2)), targets.get(name, np.arange(ROWS) % 2.0))
        for name in ("train", "validation", "test")
    }
    return Split(**parts, name="heads", seed=1)


def fit(head: Likelihood, split: Split):
    return named_cell("scroll_none", PROTOCOL, Identity(), head).fit([split], [1])


def with_last(value: float, start: int = 0) -> np.ndarray:
    return np.append(start + np.arange(ROWS - 1) % 2.0, value)


@pytest.mark.parametrize("part", ["train", "validation", "test"])
@pytest.mark.parametrize(
    ("head", "value", "message"),
    [
        (Probit(), 2.0, "class labels must be 0 to 1, one code a class; 1 of 12 are not .such as 2."),
        (Logistic(), -1.0, "class labels must be 0 to 1, one code a class; 1 of 12 are not .such as -1."),
        (Probit(), 0.5, "such as 0.5"),
        (OneVsAll(3), 3.0, "class labels must be 0 to 2, one code a class; 1 of 12 are not .such as 3."),
        (Ordinal(classes=3), 3.0, "class labels must be 0 to 2"),
        (Poisson(), -1.0, "counts must be whole numbers 0, 1, 2, ...; 1 of 12 are not .first in row 11: -1."),
        (NegativeBinomial(), 2.5, "counts must be whole numbers .*first in row 11: 2.5."),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_target_that_the_head_cannot_have_is_refused_in_every_part(head, value, message, part):
    with pytest.raises(DataError, match=message) as refusal:
        fit(head, split_of(**{part: with_last(value)}))
    assert part == "train" or str(refusal.value).startswith(f"the {part} part of 'heads': ")


def test_ordinal_classes_that_were_counted_in_the_training_labels():
    """Without ``classes`` a label of another part can be beyond them: it is refused, and given the number it is not."""
    later = split_of(test=with_last(2.0))
    with pytest.raises(DataError, match=r"the test part of 'heads': class 2 is not among the 2 .*Ordinal\(classes=3\)"):
        fit(Ordinal(), later)
    assert fit(Ordinal(classes=3), later).statuses[0].usable


def test_labels_from_one_to_k_are_refused_in_words():
    """{1, 2}: the table takes class 0 as one that is empty, two-class heads do not."""
    ones_and_twos = split_of(**dict.fromkeys(("train", "validation", "test"), 1.0 + np.arange(ROWS) % 2))
    for head in (Probit(), Logistic(), OneVsAll(2)):
        with pytest.raises(DataError, match=r"labels must be 0 to 1.* number the classes from 0"):
            fit(head, ones_and_twos)
    with pytest.raises(DataError, match="run from 1 to 2; without a number of classes they must start at 0"):
        fit(Ordinal(), ones_and_twos)


@pytest.mark.parametrize("head", [Probit(), Logistic(), OneVsAll(2), Ordinal(classes=2)], ids=lambda head: head.name)
def test_one_class_in_the_training_part_is_accepted(head):
    """The prior keeps the fit finite, and the class that was seen is the likelier one."""
    split = split_of(train=np.zeros(ROWS))
    fitted = fit(head, split)
    predictive = fitted.predict(split.test.inputs)
    assert fitted.statuses[0].usable and bool(np.isfinite(predictive.log_prob(split.test.targets)).all())


@pytest.mark.parametrize("head", [OneVsAll(3), Ordinal(classes=3)], ids=lambda head: head.name)
def test_a_class_missing_from_the_training_part_is_accepted_and_can_be_scored(head):
    split = split_of(test=with_last(2.0))
    predictive = fit(head, split).predict(split.test.inputs)
    assert predictive.classes == 3 and bool(np.isfinite(predictive.log_prob(split.test.targets)).all())


@pytest.mark.parametrize("head", [Poisson(), NegativeBinomial()], ids=lambda head: head.name)
def test_counts_that_are_all_zero_are_accepted(head):
    split = split_of(train=np.zeros(ROWS))
    fitted = fit(head, split)
    assert fitted.statuses[0].usable
    assert bool(np.isfinite(fitted.predict(split.test.inputs).log_prob(split.test.targets)).all())


@pytest.mark.parametrize("exposure", [0.0, -1.0, float("inf"), float("nan")])
def test_an_exposure_that_says_nothing_is_refused(exposure):
    """Its logarithm would be -inf: the datum would be sure to be 0, and its gradient NaN."""
    marginals = Marginals(torch.zeros(2).double(), torch.ones(2).double())
    with pytest.raises(DataError, match=r"exposures must be positive and finite; 1 of 2 are not .*row 1"):
        with_exposure(marginals, torch.tensor([1.0, exposure]).double())


@pytest.mark.parametrize(
    ("targets", "task", "message"),
    [
        (["a", "b", "a"], "classification", "column 'target' holds 'a' .str. in row 0 .*only numbers are allowed"),
        ([0.0, 0.5, 1.0], "classification", r"class codes 0, 1, \.\.\., but row 1 .* 0.5"),
        ([0, -1, 1], "classification", r"class codes 0, 1, \.\.\., but row 1 .* -1"),
        ([0, -3, 1], "count", r"counts 0, 1, 2, \.\.\., but row 1 .* -3"),
        ([0, 1.5, 1], "count", r"counts 0, 1, 2, \.\.\., but row 1 .* 1.5"),
    ],
)
def test_a_table_refuses_targets_that_do_not_suit_its_task(targets, task, message):
    with pytest.raises(DataError, match=message):
        Dataset(np.arange(3.0), targets, task=task)


def test_a_table_with_labels_one_and_two_has_three_classes_of_which_one_is_empty():
    assert Dataset(np.arange(3.0), [1, 2, 1], task="classification").labels == ("0", "1", "2")
    assert Dataset(np.arange(3.0), [0, 0, 0], task="classification").labels == ("0",)


def test_text_labels_of_a_frame_become_codes_that_the_heads_take():
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(4.0), "y": ["yes", "no", "no", "yes"]})
    data = Dataset.from_dataframe(frame, target="y", task="classification")
    assert data.labels == ("no", "yes") and data.targets.tolist() == [1.0, 0.0, 0.0, 1.0]
    Probit().check(torch.tensor(data.targets.copy()))


def test_precisions_of_a_grid_are_checked_too():
    method = replace(named_cell("scroll_none", PROTOCOL, Identity(), Probit()), precision_grid=(0.1, 1.0))
    with pytest.raises(DataError, match="the validation part of 'heads': class labels must be 0 to 1"):
        method.fit([split_of(validation=with_last(2.0))], [1])
