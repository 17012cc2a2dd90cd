"""Splits stacked into tensors: every replicate standardised by its own training part, one tensor program for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.data.split import Part, Split
from corners.data.standardiser import Standardiser

DTYPES = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class PartBatch:
    """One part of every replicate, standardised."""

    inputs: Float[Tensor, "B N D"]
    targets: Float[Tensor, "B N"]

    def select(self, index: Tensor) -> "PartBatch":
        """The replicates ``index``."""
        return PartBatch(self.inputs[index], self.targets[index])

    def rows(self, index: Tensor) -> "PartBatch":
        """The same number of rows of every replicate, chosen by ``index`` of shape (B, M)."""
        columns = self.inputs.shape[-1]
        inputs = torch.gather(self.inputs, 1, index[..., None].expand(-1, -1, columns))
        return PartBatch(inputs, torch.gather(self.targets, 1, index))


@dataclass(frozen=True)
class SplitBatch:
    """Splits of equal shape as one batch; ``log_scale`` is what each adds to a NLL to be on the original scale."""

    train: PartBatch
    validation: PartBatch
    test: PartBatch
    log_scale: Float[Tensor, " B"]

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.log_scale)

    def select(self, index: Tensor) -> "SplitBatch":
        """The replicates ``index``."""
        train, validation, test = (part.select(index) for part in (self.train, self.validation, self.test))
        return SplitBatch(train, validation, test, self.log_scale[index])


def stack_splits(
    splits: Sequence[Split], *, scale_targets: bool, dtype: str = "float64", codes: bool = False
) -> tuple[SplitBatch, list[Standardiser]]:
    """Standardise every split by its training part and stack them; all must have the shapes of the first.

    ``codes``: the targets are labels or counts, and stay as they are.
    """
    standardisers = [Standardiser.fit(split.train, scale_targets, codes=codes) for split in splits]

    def part(name: str) -> PartBatch:
        own: list[Part] = [getattr(split, name) for split in splits]
        inputs = np.stack([s.inputs(each.inputs) for s, each in zip(standardisers, own, strict=True)])
        targets = np.stack([s.targets(each.targets) for s, each in zip(standardisers, own, strict=True)])
        return PartBatch(torch.tensor(inputs, dtype=DTYPES[dtype]), torch.tensor(targets, dtype=DTYPES[dtype]))

    log_scale = torch.tensor([float(np.log(s.target_scale)) for s in standardisers], dtype=DTYPES[dtype])
    return SplitBatch(part("train"), part("validation"), part("test"), log_scale), standardisers


def groups_of_equal_shape(splits: Sequence[Split]) -> list[list[int]]:
    """Positions of splits that can share one tensor program, in order of first appearance."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for position, split in enumerate(splits):
        key = (split.train.n, split.validation.n, split.test.n, split.d)
        groups.setdefault(key, []).append(position)
    return list(groups.values())
