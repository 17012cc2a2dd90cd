"""Tables, splits and standardisation; ``load`` finds a named table, ``available`` lists them."""

from corners.data.dataset import Dataset
from corners.data.loading import available, load
from corners.data.split import Part, Split
from corners.data.splitters import (
    grouped_split,
    predefined_split,
    random_split,
    shifted_split,
    splits_for,
    time_ordered_split,
)
from corners.data.standardiser import Standardiser

__all__ = [
    "Dataset",
    "Part",
    "Split",
    "Standardiser",
    "available",
    "grouped_split",
    "load",
    "predefined_split",
    "random_split",
    "shifted_split",
    "splits_for",
    "time_ordered_split",
]
