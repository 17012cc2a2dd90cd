"""Ways to cut a table: at random by a seed, by labels of its own, in time order, by groups, or as two tables."""

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from corners.data._split_checks import checked_fractions, checked_seed, one_a_row, refuse_fewer, refuse_other_columns
from corners.data._targets import FOLDS, checked_folds
from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.errors import DataError, SpecError
from corners.types import Array, Int

SMALLEST_SCALE = 1e-10


def random_split(dataset: Dataset, seed: int) -> Split:
    """60 / 20 / 20 by the seed, as protocol ``paper_v1`` has it (design, section 9).

    Regression and counts: ``sklearn.model_selection.train_test_split`` twice with the seed as ``random_state``, first
    20 % as test, then 25 % of the rest as validation; columns whose standard deviation (ddof 0, all rows) is below
    1e-10 are dropped before and listed in ``Split.dropped``. Classification: a permutation by
    ``numpy.random.default_rng(seed)``, first 60 % (rounded down) train, next 20 % validation, all columns kept.

    Raises
    ------
    DataError : fewer than five rows, or no column varies.  SpecError : seed is not a whole number in [0, 2**32).

    Example
    -------
    >>> random_split(Dataset(range(10), range(10), name="ramp"), seed=5)
    Split('ramp', random (seed 5), 6 train + 2 validation + 2 test rows, d=1)
    """
    seed = checked_seed(seed)
    refuse_fewer(dataset, 5, "a 60/20/20 split")
    if dataset.task == "classification":
        return _cut(dataset, _permuted_rows(dataset.n, seed), "permutation", seed)
    rest, test = _halves(np.arange(dataset.n), 0.2, seed)
    train, validation = _halves(rest, 0.25, seed)
    return _cut(dataset, (train, validation, test), "random", seed, _varying_columns(dataset))


def predefined_split(dataset: Dataset, folds: Sequence[str] | None = None) -> Split:
    """By a label "train", "validation" or "test" for each row: the ones given, else the data set's own.

    Raises
    ------
    DataError : neither is there, another label, a wrong number of labels, or a part without rows.
    """
    labels = checked_folds(folds, dataset.n) if folds is not None else dataset.folds
    if labels is None:
        raise DataError(
            f"data set {dataset.name!r} has no split of its own; give one of {', '.join(FOLDS)} for each row, or name "
            "the column that holds them: Dataset.from_dataframe(frame, target=..., fold=...)"
        )
    train, validation, test = (np.flatnonzero(np.array(labels) == fold) for fold in FOLDS)
    return _cut(dataset, (train, validation, test), "predefined", None)


def time_ordered_split(
    dataset: Dataset, fractions: Sequence[float] = (0.6, 0.2, 0.2), *, order: str | Sequence[object] | None = None
) -> Split:
    """The past for training, then validation, the future for testing.

    Rows are in time order already, or are sorted by ``order``: the name of an input column (which stays an input), or
    one value a row; equal times keep their order. Part k ends at row ``round(N (f_1 + ... + f_k))``.

    Raises
    ------
    SpecError : fractions that are not three positive numbers with sum 1.
    DataError : a part without rows, a wrong ``order``.
    """
    shares = checked_fractions(fractions)
    rows = np.arange(dataset.n)
    if order is not None:
        rows = np.argsort(one_a_row(dataset, order, "order"), kind="stable")
    ends = np.floor(dataset.n * np.cumsum(shares)[:2] + 0.5).astype(int)
    train, validation, test = np.split(rows, ends)
    return _cut(dataset, (train, validation, test), "time_ordered", None)


def grouped_split(dataset: Dataset, groups: str | Sequence[object], seed: int) -> Split:
    """No group (patient, site, sensor, ...) has rows in two parts; 60/20/20 of the groups, at random by the seed.

    ``groups`` holds a label a row, or is the name of an input column, which is then left out of the inputs.

    Raises
    ------
    DataError : fewer than three groups, or a wrong number of labels.  SpecError : a bad seed.
    """
    seed = checked_seed(seed)
    label = one_a_row(dataset, groups, "groups")
    unique, of_row = np.unique(label, return_inverse=True)
    if len(unique) < 3:
        raise DataError(f"there are {len(unique)} groups in {dataset.name!r}; three parts need at least three groups")
    shuffled = np.random.default_rng(seed).permutation(len(unique))
    held_out = max(1, round(0.2 * len(unique)))
    pieces = (shuffled[2 * held_out :], shuffled[:held_out], shuffled[held_out : 2 * held_out])
    train, validation, test = (np.flatnonzero(np.isin(of_row, piece)) for piece in pieces)
    keep = [k for k, name in enumerate(dataset.feature_names) if name != groups] if isinstance(groups, str) else None
    return _cut(dataset, (train, validation, test), "grouped", seed, keep)


def shifted_split(train: Dataset, test: Dataset, seed: int) -> Split:
    """Learn on one table, score on another of the same columns (wine_red, then wine_white).

    25 % of the first table, at random by the seed, are the validation part; the whole second table is the test part,
    its columns put into the order of the first.

    Raises
    ------
    DataError : columns that one of the tables lacks (they are named), another task, too few rows.
    SpecError : a bad seed.
    """
    seed = checked_seed(seed)
    refuse_fewer(train, 2, "a train and a validation part")
    refuse_other_columns(train, test)
    kept, validation = _halves(np.arange(train.n), 0.25, seed)
    order = [test.feature_names.index(name) for name in train.feature_names]
    return Split(
        Part(train.inputs[kept], train.targets[kept], train.outputs),
        Part(train.inputs[validation], train.targets[validation], train.outputs),
        Part(test.inputs[:, order], test.targets, test.outputs),
        f"{train.name} to {test.name}",
        seed,
        "shifted",
        train.feature_names,
        train.target_names,
        task=train.task,
        labels=train.labels,
    )


def splits_for(data: Dataset | Split | Sequence[Split], seeds: Iterable[int]) -> list[Split]:
    """One split a seed: a data set is split anew by each seed, a split is kept, a sequence is taken as it is.

    A data set with a split of its own keeps that one.

    Raises
    ------
    SpecError : no seed, a seed twice (pairs would not be independent), a sequence of another length or of other things.

    Example
    -------
    >>> [s.seed for s in splits_for(Dataset(range(10), range(10)), seeds=range(5, 8))]
    [5, 6, 7]
    """
    checked = [checked_seed(seed) for seed in seeds]
    if not checked or len(set(checked)) < len(checked):
        raise SpecError(f"seeds are {checked}; give at least one, and none of them twice")
    if isinstance(data, Dataset):
        if data.folds is not None:
            return [predefined_split(data)] * len(checked)
        return [random_split(data, seed) for seed in checked]
    if isinstance(data, Split):
        return [data] * len(checked)
    if isinstance(data, str) or not isinstance(data, Sequence) or not all(isinstance(each, Split) for each in data):
        hint = f"; load it first: corners.load({data!r})" if isinstance(data, str) else ""
        raise SpecError(f"data is a {type(data).__name__}; give a Dataset, a Split or a list of Splits{hint}")
    if len(data) != len(checked):
        raise SpecError(f"{len(data)} splits were given for {len(checked)} seeds; give one a seed")
    return list(data)


def _cut(
    dataset: Dataset, rows: tuple[Int[Array, "_"], ...], kind: str, seed: int | None, keep: list[int] | None = None
) -> Split:
    """The three parts of ``dataset`` with the columns ``keep`` (all where None)."""
    columns = list(range(dataset.d)) if keep is None else keep
    if not columns:
        raise DataError(
            f"no input column of {dataset.name!r} is left; at least one must vary (standard deviation 1e-10 or more)"
        )
    train, validation, test = (
        Part(dataset.inputs[each[:, None], columns], dataset.targets[each], dataset.outputs) for each in rows
    )
    names = dataset.feature_names
    dropped = [name for k, name in enumerate(names) if k not in columns]
    about = {"task": dataset.task, "labels": dataset.labels, "dropped": dropped}
    kept = [names[k] for k in columns]
    return Split(train, validation, test, dataset.name, seed, kind, kept, dataset.target_names, **about)


def _halves(rows: Int[Array, " N"], share: float, seed: int) -> list[Int[Array, "_"]]:
    from sklearn.model_selection import train_test_split

    kept, taken = train_test_split(rows, test_size=share, random_state=seed)
    return [np.asarray(kept), np.asarray(taken)]


def _permuted_rows(n: int, seed: int) -> tuple[Int[Array, "_"], ...]:
    rows = np.random.default_rng(seed).permutation(n)
    return tuple(np.split(rows, [n * 3 // 5, n * 3 // 5 + n // 5]))


def _varying_columns(dataset: Dataset) -> list[int]:
    """Columns with standard deviation 1e-10 or more; a warning where one that varies is lost to its small unit."""
    scale = dataset.inputs.std(axis=0)
    lost = (
        (scale < SMALLEST_SCALE)
        & (np.ptp(dataset.inputs, axis=0) > 0)
        & (scale > 1e-14 * np.abs(dataset.inputs).max(axis=0))
    )
    if lost.any():
        names = ", ".join(repr(dataset.feature_names[k]) for k in np.flatnonzero(lost))
        message = f"column(s) {names} vary, but with a standard deviation below {SMALLEST_SCALE:g} they are dropped; "
        warnings.warn(message + "rescale them to keep them", stacklevel=3)
    return [int(k) for k in np.flatnonzero(scale >= SMALLEST_SCALE)]
