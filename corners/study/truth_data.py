"""What a truth is sampled on: a table's rows, standardised, and fixed features of them, all stated in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from corners.data import Part, Standardiser, random_split
from corners.data.dataset import Dataset
from corners.errors import DataError
from corners.types import Array, Float

STATED_INPUTS = 25


@dataclass(frozen=True, eq=False)
class TruthData:
    """Standardised inputs and targets of the chosen rows; ``source`` says which they are, ready for JSON.

    Numbers to be predicted are centred and scaled by their own rows; labels and counts stay as they are.
    """

    inputs: Float[Array, "N D"]
    targets: Float[Array, " N"]
    source: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Features:
    """Features of every row, and in words what they are."""

    values: Float[Array, "N H"]
    words: str


def truth_data(dataset: Dataset, *, train_seed: int | None = None) -> TruthData:
    """All rows, or those of the training part that ``random_split`` cuts with a seed.

    Raises
    ------
    DataError : several outputs, or targets that are all the same.

    Example
    -------
    >>> data = truth_data(Dataset([[1.0], [3.0], [5.0]], [10.0, 20.0, 30.0], name="tiny"))
    >>> data.inputs[:, 0].round(4).tolist(), data.source["rows"], data.source["targets"]
    ([-1.2247, 0.0, 1.2247], 'all 3 rows', 'centred and scaled')
    """
    if dataset.outputs > 1:
        raise DataError(f"{dataset.name} has {dataset.outputs} outputs; a truth is sampled of one: choose one target")
    if train_seed is None:
        part, rows = Part(dataset.inputs, dataset.targets), f"all {dataset.n} rows"
    else:
        part = random_split(dataset, train_seed).train
        rows = f"{part.n} of {dataset.n} rows, the training part of seed {train_seed}"
    codes = dataset.task != "regression"
    standardiser = Standardiser.fit(part, scale_targets=True, codes=codes)
    if standardiser.constant_target:
        raise DataError(f"the targets of {dataset.name} are all the same: there is nothing to learn")
    source = {
        "data": dataset.name,
        "table_sha256": dataset.fingerprint,
        "rows": rows,
        "inputs": f"{part.d} standardised",
        "targets": {"classification": "labels from 0", "count": "counts"}.get(dataset.task, "centred and scaled"),
        "target_mean": standardiser.target_mean,
        "target_scale": standardiser.target_scale,
    }
    return TruthData(standardiser.inputs(part.inputs), standardiser.targets(part.targets), source)


def features_of(data: TruthData, *, units: int = 0, seed: int = 0, intercept: bool = False) -> Features:
    r"""The standardised inputs, or ``units`` fixed features $\tanh(w^\top x+b)$; with ``intercept`` a constant 1 last.

    $w\sim N(0,I/D)$ and $b\sim N(0,1)$ are drawn once with ``seed`` and are part of the model, not of what is sampled.

    Example
    -------
    >>> data = TruthData(np.zeros((2, 3)), np.zeros(2), {})
    >>> features_of(data, units=5, intercept=True).words
    '5 fixed random tanh features of the standardised inputs (seed 0) and a constant'
    >>> features_of(data).words
    '3 standardised inputs, no constant'
    """
    values, words = data.inputs, f"{data.inputs.shape[1]} standardised inputs"
    if units:
        generator, columns = np.random.default_rng(seed), data.inputs.shape[1]
        weights, bias = generator.normal(size=(columns, units)) / np.sqrt(columns), generator.normal(size=units)
        values = np.tanh(data.inputs @ weights + bias)
        words = f"{units} fixed random tanh features of the standardised inputs (seed {seed})"
    if intercept:
        values = np.column_stack([values, np.ones(len(values))])
    return Features(np.ascontiguousarray(values), words + (" and a constant" if intercept else ", no constant"))


def stated_inputs(data: TruthData) -> tuple[Float[Array, "M D"], str]:
    """Where a network's function is judged: a grid over a single input, else rows evenly spaced in the table.

    Example
    -------
    >>> at, words = stated_inputs(TruthData(np.array([[0.0], [24.0]]), np.zeros(2), {}))
    >>> at[:3, 0].tolist(), words
    ([0.0, 1.0, 2.0], '25 evenly spaced from the least input to the largest')
    """
    inputs = data.inputs
    if inputs.shape[1] == 1:
        grid = np.linspace(inputs.min(), inputs.max(), STATED_INPUTS)
        return grid[:, None], f"{STATED_INPUTS} evenly spaced from the least input to the largest"
    count = min(STATED_INPUTS, len(inputs))
    chosen = np.linspace(0, len(inputs) - 1, count).round().astype(int)
    return inputs[chosen], f"{count} rows, evenly spaced in the order of the table"
