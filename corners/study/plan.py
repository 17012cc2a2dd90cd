"""What a comparison is going to do, checked before the first step of training."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from corners.data.dataset import Dataset
from corners.data.split import Split
from corners.data.splitters import splits_for
from corners.errors import SpecError
from corners.method import Method
from corners.protocols import Protocol
from corners.study.heads import Target

Data = Dataset | Split | Sequence[Split]


@dataclass(frozen=True)
class Plan:
    """Everything a comparison needs, checked before the first step."""

    data: Data
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    methods: tuple[Method, ...]
    protocol: Protocol
    truth_seeds: int
    truth_draws: int
    truth: str
    command: str
    backbone: Any

    def __post_init__(self) -> None:
        if self.truth not in ("fixed", "hierarchical"):
            raise SpecError(f"truth must be 'fixed' or 'hierarchical'; got {self.truth!r}")
        if self.truth_seeds < 0:
            raise SpecError(f"truth_seeds counts seeds and cannot be negative; got {self.truth_seeds}")
        if self.truth_draws < 1:
            raise SpecError(f"truth_draws counts draws a chain and must be at least 1; got {self.truth_draws}")

    @property
    def seed_info(self) -> str:
        """What a seed sets."""
        drawn = isinstance(self.data, Dataset) and self.data.folds is None
        return f"each seed sets {'the split and ' if drawn else ''}the initial weights"

    @property
    def description(self) -> dict[str, Any]:
        """Facts about the data for the report."""
        if isinstance(self.data, Dataset):
            source, kept = self.data.source, self.data
        else:
            kept = self.splits[0]
            source = f"{kept.kind} split"
        return {"rows": kept.n, "columns": kept.d, "source": source, "sha256": kept.fingerprint}


def as_seeds(seeds: object) -> tuple[int, ...]:
    """Seeds as a tuple; a single number is refused, since it could mean one seed or so many."""
    if not isinstance(seeds, Iterable):
        raise SpecError(f"seeds is a list of whole numbers; got {seeds!r}; write [{seeds!r}] or range({seeds!r})")
    return tuple(seeds)


def table_splits(data: Data, seeds: Iterable[int]) -> tuple[Split, ...]:
    """One split a seed, all of one task; which methods are for it, :func:`corners.study.methods.require_task` says.

    Raises
    ------
    SpecError : the seeds are no seeds, the splits are of several tasks, or of several outputs.  DataError : the table
        cannot be split.

    Example
    -------
    >>> [split.kind for split in table_splits(Dataset(range(10), [0, 1] * 5, task="classification"), [5, 6])]
    ['permutation', 'permutation']
    """
    splits = tuple(splits_for(data, seeds))
    Target.of(splits)
    if splits[0].outputs > 1:
        raise SpecError(
            f"{splits[0].name!r} has {splits[0].outputs} outputs ({splits[0].target_name}), and methods are compared "
            "on one: give a table for each output, or fit a cell with likelihood "
            f"Gaussian(outputs={splits[0].outputs}) by itself"
        )
    return splits
