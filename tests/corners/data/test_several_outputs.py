"""Tables with several target columns: asked for by name, cut, standardised and stacked, each output by itself."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch

from corners.data import Dataset, Part, Split, Standardiser, predefined_split, random_split, shifted_split
from corners.data.batch import groups_of_equal_shape, stack_splits
from corners.data.standardiser import OutputStandardiser
from corners.errors import DataError
from tests.support.problems import assert_close

GENERATOR = np.random.default_rng(4)
INPUTS = GENERATOR.normal(size=(20, 3))
TARGETS = GENERATOR.normal(size=(20, 2)) * np.array([100.0, 0.01]) + np.array([5.0, -3.0])


def table(**changes) -> Dataset:
    return Dataset(INPUTS, TARGETS, **{"name": "two", "target_name": ["heat", "cold"]} | changes)


def test_named_outputs_are_kept_as_columns():
    data = table()
    assert data.targets.shape == (20, 2) and data.outputs == 2 and data.n == 20
    assert data.target_names == ("heat", "cold") and data.target_name == "heat, cold"
    assert (
        not data.targets.flags.writeable and repr(data) == "Dataset('two', regression, n=20, d=3, target='heat, cold')"
    )
    one = Dataset(INPUTS, TARGETS[:, 0], target_name="heat")
    assert one.target_names == ("heat",) and one.outputs == 1


def test_a_frame_of_targets_names_them():
    frame = pd.DataFrame(TARGETS, columns=["heat", "cold"])
    assert Dataset(INPUTS, frame).fingerprint == table().fingerprint


@pytest.mark.parametrize(
    ("targets", "names", "message"),
    [
        (TARGETS, None, r"shape \(20, 3\) and targets have shape \(20, 2\); .* for 2 outputs name them"),
        (TARGETS, "heat", r"targets must be \(20,\) or \(20, 1\); for 2 outputs name them: one target name a column"),
        (TARGETS, ["a", "b", "c"], r"targets have shape \(20, 2\); 3 outputs were named, so targets must be \(20, 3\)"),
        (TARGETS[:, 0], ["a", "b"], r"targets have shape \(20,\); 2 outputs were named, so targets must be \(20, 2\)"),
        (TARGETS[:10], ["a", "b"], "20 rows of inputs but 10 targets"),
        (TARGETS, ["a", "a"], "target names must be one a column, none of them twice; got: a, a"),
        (TARGETS, [], "got: no name"),
    ],
)
def test_shapes_and_names_that_do_not_fit_are_refused(targets, names, message):
    with pytest.raises(DataError, match=message):
        Dataset(INPUTS, targets, target_name=names)


def test_nan_is_refused_with_the_output_and_the_row():
    wrong = TARGETS.copy()
    wrong[7, 1] = np.nan
    with pytest.raises(DataError, match="column 'cold', row 7"):
        Dataset(INPUTS, wrong, target_name=["heat", "cold"])


@pytest.mark.parametrize("task", ["classification", "count"])
def test_labels_and_counts_have_one_column(task):
    with pytest.raises(DataError, match=rf"shape \(20, 2\), but a {task} task has one target a row"):
        table(task=task)
    frame = pd.DataFrame({"x": [1.0, 2.0], "a": [0, 1], "b": [1, 0]})
    with pytest.raises(DataError, match=f"a {task} task has one target; 2 were named: a, b"):
        Dataset.from_dataframe(frame, target=["a", "b"], task=task)


def test_the_fingerprint_sees_numbers_names_and_columns():
    other = [
        table(),
        table(target_name=["cold", "heat"]),
        Dataset(INPUTS, TARGETS[:, ::-1], target_name=["heat", "cold"]),
    ]
    assert len({each.fingerprint for each in other}) == 3 and table().fingerprint == table().fingerprint
    assert random_split(table(), 5).fingerprint != random_split(table(target_name=["cold", "heat"]), 5).fingerprint


def test_from_a_frame_and_from_a_file(tmp_path):
    frame = pd.DataFrame(INPUTS, columns=["a", "b", "c"]).assign(heat=TARGETS[:, 0], cold=TARGETS[:, 1])
    data = Dataset.from_dataframe(frame, target=["heat", "cold"])
    assert (
        data.fingerprint
        == Dataset(INPUTS, TARGETS, feature_names=["a", "b", "c"], target_name=["heat", "cold"]).fingerprint
    )
    frame.to_csv(tmp_path / "two.csv", index=False)
    np.testing.assert_array_equal(Dataset.from_csv(tmp_path / "two.csv", target=["heat", "cold"]).targets, TARGETS)
    with pytest.raises(DataError, match="there is no column 'warm'"):
        Dataset.from_dataframe(frame, target=["heat", "warm"])
    with pytest.raises(DataError, match="no column beside 'heat', 'cold'"):
        Dataset.from_dataframe(frame[["heat", "cold"]], target=["heat", "cold"])


def test_splits_keep_rows_of_inputs_and_outputs_together():
    data = table(folds=["train"] * 12 + ["validation"] * 4 + ["test"] * 4)
    for split in (random_split(data, 5), predefined_split(data), shifted_split(data, data, 5)):
        assert split.outputs == 2 and split.target_names == ("heat", "cold") and split.target_name == "heat, cold"
        for part in (split.train, split.validation, split.test):
            assert part.targets.shape == (part.n, 2) and part.outputs == 2
            rows = [int(np.argmin(np.abs(INPUTS[:, :1] - x[0]))) for x in part.inputs]
            np.testing.assert_array_equal(part.targets, TARGETS[rows])
    again = pickle.loads(pickle.dumps(copy.deepcopy(random_split(data, 5))))
    assert again.fingerprint == random_split(data, 5).fingerprint and not again.train.targets.flags.writeable


def test_a_part_asks_for_outputs_and_a_split_names_them():
    part = Part(INPUTS, TARGETS, outputs=2)
    assert repr(part) == "Part(n=20, d=3, outputs=2)"
    assert Split(part, part, part).target_names == ("target_0", "target_1")
    assert Split(part, part, part, target_name=["a", "b"]).target_names == ("a", "b")
    with pytest.raises(DataError, match=r"targets must be \(20,\) or \(20, 1\); for 2 outputs name them"):
        Part(INPUTS, TARGETS)
    with pytest.raises(DataError, match=r"1 target names were given \(a\) for targets of shape \(20, 2\)"):
        Split(part, part, part, target_name=["a"])
    with pytest.raises(
        DataError, match=r"have shapes train \(20, 2\), validation \(20,\), test \(20, 2\); all need as many"
    ):
        Split(part, Part(INPUTS, TARGETS[:, 0]), part)


@pytest.mark.parametrize("scaled", [True, False])
def test_every_output_is_standardised_as_it_would_be_alone(scaled):
    several = OutputStandardiser.fit(Part(INPUTS, TARGETS, outputs=2), scaled)
    for p in range(2):
        alone = Standardiser.fit(Part(INPUTS, TARGETS[:, p]), scaled)
        np.testing.assert_array_equal(several.targets(TARGETS)[:, p], alone.targets(TARGETS[:, p]))
        np.testing.assert_array_equal(several.original_mean(np.ones((4, 2)))[:, p], alone.original_mean(np.ones(4)))
        np.testing.assert_array_equal(several.original_var(np.ones((4, 2)))[:, p], alone.original_var(np.ones(4)))
        np.testing.assert_array_equal(several.inputs(INPUTS), alone.inputs(INPUTS))
    assert several.log_scale == pytest.approx(np.log(TARGETS.std(axis=0)).sum() if scaled else 0.0)
    assert not several.constant_target


def test_a_constant_output_is_said_and_left_unscaled():
    constant = OutputStandardiser.fit(Part(INPUTS, np.column_stack([TARGETS[:, 0], np.full(20, 7.0)]), outputs=2), True)
    assert constant.constant_target and constant.target_scale[1] == 1.0 and constant.target_mean[1] == 7.0


def test_what_a_standardiser_refuses():
    several = OutputStandardiser.fit(Part(INPUTS, TARGETS, outputs=2), True)
    for wrong in (TARGETS[:, 0], TARGETS[:, :1], TARGETS.T):
        with pytest.raises(DataError, match=r"they must be \(N, 2\)"):
            several.targets(wrong)
    with pytest.raises(
        DataError, match=r"targets have shape \(20, 2\), and here only one output .*Gaussian\(outputs=2\)"
    ):
        Standardiser.fit(Part(INPUTS, TARGETS, outputs=2), True)
    with pytest.raises(DataError, match=r"several outputs are \(N, P\) real numbers .* shape \(20,\)"):
        OutputStandardiser.fit(Part(INPUTS, TARGETS[:, 0]), True)
    with pytest.raises(DataError, match="scales must be positive"):
        OutputStandardiser(np.zeros(1), np.ones(1), np.zeros(2), np.array([1.0, 0.0]))


def test_a_batch_has_the_outputs_before_the_rows():
    splits = [random_split(table(), seed) for seed in (5, 6)]
    data, standardisers = stack_splits(splits, scale_targets=True, outputs=2)
    assert data.train.targets.shape == (2, 2, 12) and data.target_scale is not None
    for k, split in enumerate(splits):
        assert_close(data.train.targets[k].mT, standardisers[k].targets(split.train.targets))
    rows = torch.tensor([[3, 1], [0, 2]])
    chosen = data.train.rows(rows)
    for k in range(2):
        assert torch.equal(chosen.targets[k], data.train.targets[k][:, rows[k]])
        assert torch.equal(chosen.inputs[k], data.train.inputs[k][rows[k]])
    one = data.select(torch.tensor([1]))
    assert torch.equal(one.train.targets[0], data.train.targets[1]) and one.target_scale is not None
    assert torch.equal(one.target_scale[0], data.target_scale[1])
    assert_close(data.log_scale, data.target_scale.log().sum(-1))


def test_a_batch_of_another_number_of_outputs_is_refused_and_groups_keep_them_apart():
    two, one = random_split(table(), 5), random_split(Dataset(INPUTS, TARGETS[:, 0]), 5)
    with pytest.raises(DataError, match=r"'two' have shape \(12, 2\), so 2 output\(s\), where 1 are expected"):
        stack_splits([two], scale_targets=True)
    with pytest.raises(DataError, match=r"'data' have shape \(12,\), so 1 output\(s\), where 2 are expected"):
        stack_splits([one], scale_targets=True, outputs=2)
    assert groups_of_equal_shape([two, one, two]) == [[0, 2], [1]]
