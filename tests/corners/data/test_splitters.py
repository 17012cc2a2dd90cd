import inspect
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from corners.data import (
    Dataset,
    Split,
    grouped_split,
    predefined_split,
    random_split,
    shifted_split,
    splits_for,
    time_ordered_split,
)
from corners.errors import DataError, SpecError

SEEDS = st.integers(0, 2**32 - 1)


def numbered(n, **more):
    """Targets are the row numbers, so that every row can be recognised; the inputs are a function of them."""
    rows = np.arange(n)
    return Dataset(np.column_stack([rows * 2.0, rows**2]), rows, name="numbered", **more)


def parts(split):
    return {"train": split.train, "validation": split.validation, "test": split.test}


def rows_of(split):
    return {name: part.targets.astype(int).tolist() for name, part in parts(split).items()}


def assert_each_row_once(split, n):
    """Disjoint and complete, and inputs stayed with their targets."""
    assert sorted(chain.from_iterable(rows_of(split).values())) == list(range(n))
    for part in parts(split).values():
        np.testing.assert_array_equal(part.inputs, np.column_stack([part.targets * 2.0, part.targets**2]))


@pytest.mark.parametrize("n", [5, 6, 7, 23, 308, 506])
@pytest.mark.parametrize("seed", [0, 5, 24])
def test_random_split_is_scikit_learns_twice_with_the_same_seed(n, seed):
    generator = np.random.default_rng(n)
    x, y = generator.standard_normal((n, 3)), generator.standard_normal(n)
    rest_x, test_x, rest_y, test_y = train_test_split(x, y, test_size=0.2, random_state=seed)
    train_x, validation_x, train_y, validation_y = train_test_split(rest_x, rest_y, test_size=0.25, random_state=seed)
    split = random_split(Dataset(x, y), seed)
    assert (split.kind, split.seed) == ("random", seed)
    expected = {"train": (train_x, train_y), "validation": (validation_x, validation_y), "test": (test_x, test_y)}
    for name, part in parts(split).items():
        np.testing.assert_array_equal(part.inputs, expected[name][0])
        np.testing.assert_array_equal(part.targets, expected[name][1])


@given(st.integers(5, 300), SEEDS, st.sampled_from(["regression", "count", "classification"]))
def test_random_split_has_each_row_once_and_about_60_20_20(n, seed, task):
    split = random_split(numbered(n, task=task), seed)
    assert_each_row_once(split, n)
    assert split.task == task
    for name, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        assert abs(parts(split)[name].n - share * n) <= 2


def test_classification_is_split_by_a_permutation_with_the_seed():
    data = numbered(50, task="classification")
    rows = np.random.default_rng(7).permutation(50).tolist()
    split = random_split(data, 7)
    assert rows_of(split) == {"train": rows[:30], "validation": rows[30:40], "test": rows[40:]}
    assert (split.kind, split.labels) == ("permutation", data.labels)


def test_columns_that_do_not_vary_are_dropped_before_the_split_and_named():
    x = np.column_stack([np.arange(20.0), np.full(20, 0.1), np.arange(20.0) % 3, np.full(20, 7.0)])
    split = random_split(Dataset(x, np.arange(20), feature_names=["a", "b", "c", "d"]), 5)
    assert (split.feature_names, split.dropped, split.d) == (("a", "c"), ("b", "d"), 2)
    np.testing.assert_array_equal(split.test.inputs, x[split.test.targets.astype(int)][:, [0, 2]])


def test_the_limit_is_a_standard_deviation_of_1e_10_and_a_loss_is_warned_of():
    ramp = np.arange(20.0) / np.arange(20.0).std()
    data = Dataset(
        np.column_stack([ramp, ramp * 1.01e-10, ramp * 0.99e-10]), np.arange(20), feature_names=["a", "b", "c"]
    )
    with pytest.warns(UserWarning, match=r"column\(s\) 'c' vary, .* below 1e-10 they are dropped; rescale"):
        assert random_split(data, 5).dropped == ("c",)


def test_a_table_without_a_varying_column_is_refused():
    with pytest.raises(DataError, match="no input column of 'flat' is left; at least one must vary"):
        random_split(Dataset(np.ones((9, 2)), np.arange(9), name="flat"), 0)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_too_few_rows_are_refused_in_one_sentence(n, task):
    with pytest.raises(DataError, match=rf"'numbered' has {n} row\(s\); a 60/20/20 split needs at least 5$"):
        random_split(numbered(n, task=task), 0)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "5", None])
def test_a_seed_must_be_a_whole_number_that_generators_take(seed):
    with pytest.raises(SpecError, match=r"it must be a whole number from 0 to 2\*\*32 - 1"):
        inspect.unwrap(random_split)(numbered(9), seed)
    assert inspect.unwrap(random_split)(numbered(9), np.int64(3)).seed == 3


def test_predefined_split_follows_the_labels():
    labels = ["test", "train", "validation", "train", "test"]
    for split in (predefined_split(numbered(5), labels), predefined_split(numbered(5, folds=labels))):
        assert rows_of(split) == {"train": [1, 3], "validation": [2], "test": [0, 4]}
        assert (split.kind, split.seed) == ("predefined", None)
    assert rows_of(predefined_split(numbered(3, folds=["train"] * 3), ["test", "validation", "train"]))["train"] == [2]


def test_predefined_split_refusals():
    with pytest.raises(
        DataError, match="'numbered' has no split of its own; give one of train, validation, test for each"
    ):
        predefined_split(numbered(4))
    with pytest.raises(DataError, match="the validation part of 'numbered' has no rows"):
        predefined_split(numbered(2), ["train", "test"])
    with pytest.raises(DataError, match="'val' in row 1"):
        predefined_split(numbered(2), ["train", "val"])
    with pytest.raises(DataError, match="2 fold labels were given for 3 rows"):
        predefined_split(numbered(3), ["train", "test"])


@given(st.integers(5, 200), st.integers(0, 99), st.booleans())
def test_time_ordered_split_trains_on_the_past(n, seed, repeated):
    times = np.random.default_rng(seed).permutation(n) // (3 if repeated else 1)
    split = time_ordered_split(numbered(n), order=times.tolist())
    assert_each_row_once(split, n)
    past, present, future = (times[rows] for rows in rows_of(split).values())
    assert past.max() <= present.min()
    assert present.max() <= future.min()
    assert abs(len(past) - 0.6 * n) <= 0.5
    assert abs(len(future) - 0.2 * n) <= 0.5


def test_time_ordered_split_of_rows_in_order_and_by_a_column():
    split = time_ordered_split(numbered(10), (0.5, 0.3, 0.2))
    assert rows_of(split) == {"train": [0, 1, 2, 3, 4], "validation": [5, 6, 7], "test": [8, 9]}
    data = Dataset(np.column_stack([np.arange(10), -np.arange(10)]), np.arange(10), feature_names=["a", "day"])
    split = time_ordered_split(data, order="day")
    assert rows_of(split) == {"train": [9, 8, 7, 6, 5, 4], "validation": [3, 2], "test": [1, 0]}
    assert split.feature_names == ("a", "day")
    days = np.array(["2020-03-01", "2020-01-01", "2020-02-01"], dtype="M8[D]")
    assert rows_of(time_ordered_split(numbered(3), (1 / 3, 1 / 3, 1 / 3), order=list(days)))["train"] == [1]


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.6, 0.3, 0.2), (1.0, 0.2, -0.2), (0.8, 0.2, 0.0)])
def test_fractions_must_be_three_positive_numbers_with_sum_one(fractions):
    with pytest.raises(SpecError, match="give three positive numbers with sum 1"):
        time_ordered_split(numbered(10), fractions)


def test_time_ordered_split_refusals():
    with pytest.raises(DataError, match="order: there is no column 'day'; the columns are: x0, x1"):
        time_ordered_split(numbered(9), order="day")
    with pytest.raises(DataError, match=r"order has shape \(3,\), but 'numbered' has 9 rows"):
        time_ordered_split(numbered(9), order=[1, 2, 3])
    for missing in (np.nan, None):
        with pytest.raises(DataError, match="order holds a missing value in row 1"):
            time_ordered_split(numbered(3), order=[1.0, missing, 2.0])
    with pytest.raises(DataError, match="the validation part of 'numbered' has no rows"):
        time_ordered_split(numbered(1))


@given(st.lists(st.sampled_from("abcdefghij"), min_size=3, max_size=80), SEEDS)
def test_grouped_split_keeps_every_group_in_one_part(groups, seed):
    data = numbered(len(groups))
    if len(set(groups)) < 3:
        with pytest.raises(DataError, match=f"there are {len(set(groups))} groups .* three parts need at least three"):
            grouped_split(data, groups, seed)
        return
    split = grouped_split(data, groups, seed)
    assert_each_row_once(split, len(groups))
    in_part = [{groups[row] for row in rows} for rows in rows_of(split).values()]
    assert all(not one & other for one, other in combinations(in_part, 2))
    held_out = max(1, round(0.2 * len(set(groups))))
    assert [len(each) for each in in_part] == [len(set(groups)) - 2 * held_out, held_out, held_out]


def test_grouped_split_depends_on_the_seed_and_on_nothing_else():
    groups = [k % 10 for k in range(60)]
    first = rows_of(grouped_split(numbered(60), groups, 5))
    assert rows_of(grouped_split(numbered(60), groups, 5)) == first
    assert any(rows_of(grouped_split(numbered(60), groups, seed)) != first for seed in range(6, 9))


def test_grouped_split_by_a_column_takes_it_out_of_the_inputs():
    x = np.column_stack([np.arange(12) % 4, np.arange(12)])
    split = grouped_split(Dataset(x, np.arange(12), feature_names=["site", "a"]), "site", 0)
    assert (split.feature_names, split.dropped) == (("a",), ("site",))
    sites = [set((np.array(rows) % 4).tolist()) for rows in rows_of(split).values()]
    assert all(not one & other for one, other in combinations(sites, 2))
    with pytest.raises(DataError, match="groups: there is no column 'ward'"):
        grouped_split(numbered(9), "ward", 0)
    with pytest.raises(DataError, match="groups holds a missing value in row 2"):
        grouped_split(numbered(4), ["a", "b", None, "c"], 0)


def test_shifted_split_learns_on_one_table_and_tests_on_all_of_the_other():
    train = Dataset(np.arange(40.0).reshape(20, 2), np.arange(20), "red", ["a", "b"])
    test = Dataset([[1.0, 2.0], [3.0, 4.0]], [7.0, 8.0], "white", ["b", "a"])
    split = shifted_split(train, test, 5)
    assert (split.name, split.kind, split.train.n, split.validation.n) == ("red to white", "shifted", 15, 5)
    assert sorted([*split.train.targets, *split.validation.targets]) == list(range(20))
    assert split.test.inputs.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert split.test.targets.tolist() == [7.0, 8.0]
    np.testing.assert_array_equal(split.train.inputs[:, 0], 2 * split.train.targets)


def test_shifted_split_names_the_columns_that_are_missing():
    x = np.zeros((4, 2))
    one, other = Dataset(x, x[:, 0], "one", ["a", "b"]), Dataset(x, x[:, 0], "other", ["a", "c"])
    with pytest.raises(DataError, match=r"'other' lacks the column\(s\) b of 'one'"):
        shifted_split(one, other, 0)
    with pytest.raises(DataError, match=r"'other' lacks the column\(s\) x1 of 'one'"):
        shifted_split(Dataset(x, x[:, 0], "one"), Dataset(x[:, :1], x[:, 0], "other"), 0)
    with pytest.raises(DataError, match=r"'one' lacks the column\(s\) x1 of 'other'"):
        shifted_split(Dataset(x[:, :1], x[:, 0], "one"), Dataset(x, x[:, 0], "other"), 0)
    with pytest.raises(DataError, match="'one' is a regression table and 'other' a count table"):
        shifted_split(Dataset(x, x[:, 0], "one"), Dataset(x, x[:, 0], "other", task="count"), 0)
    with pytest.raises(DataError, match=r"has 1 row\(s\); a train and a validation part needs at least 2"):
        shifted_split(numbered(1), numbered(5), 0)


def test_splits_for_splits_a_table_anew_by_each_seed():
    data = numbered(30)
    found = splits_for(data, range(5, 8))
    assert [split.fingerprint for split in found] == [random_split(data, seed).fingerprint for seed in (5, 6, 7)]
    assert len({split.fingerprint for split in found}) == 3


def test_splits_for_keeps_a_split_and_a_table_with_its_own():
    split = random_split(numbered(30), 5)
    assert splits_for(split, [5, 6]) == [split, split]
    own = numbered(3, folds=["test", "train", "validation"])
    assert [rows_of(each)["train"] for each in splits_for(own, [5, 6])] == [[1], [1]]
    two = [split, time_ordered_split(numbered(30))]
    assert splits_for(two, (8, 9)) == two


def test_splits_for_refusals():
    split = random_split(numbered(30), 5)
    for seeds in ([], [5, 6, 5]):
        with pytest.raises(SpecError, match="give at least one, and none of them twice"):
            splits_for(split, seeds)
    with pytest.raises(SpecError, match="1 splits were given for 2 seeds; give one a seed"):
        splits_for([split], [5, 6])
    with pytest.raises(SpecError, match=r"data is a str; .*; load it first: corners.load\('boston'\)"):
        inspect.unwrap(splits_for)("boston", [5])
    for other in (numbered, [split, numbered(9)], {"a": split}):
        with pytest.raises(SpecError, match=r"give a Dataset, a Split or a list of Splits$"):
            inspect.unwrap(splits_for)(other, [5, 6])


def test_every_splitter_passes_names_task_and_labels_on():
    labels = ["u", "v", "w"]
    data = Dataset(
        np.arange(24.0).reshape(12, 2), np.arange(12) % 3, "t", ["a", "b"], "kind", task="classification", labels=labels
    )
    made: list[Split] = [
        random_split(data, 0),
        predefined_split(data, ["train", "validation", "test"] * 4),
        time_ordered_split(data),
        grouped_split(data, list(range(12)), 0),
    ]
    for split in made:
        assert (split.name, split.feature_names, split.target_name) == ("t", ("a", "b"), "kind")
        assert (split.task, split.labels, split.n) == ("classification", tuple(labels), 12)
