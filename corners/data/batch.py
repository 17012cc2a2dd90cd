"""Splits stacked into tensors: every replicate standardised by its own training part, one tensor program for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.data.split import Part, Split
from corners.data.standardiser import OutputStandardiser, Standardiser
from corners.errors import DataError

DTYPES = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class PartBatch:
    """One part of every replicate, standardised; targets of P outputs have a dimension P before the rows."""

    inputs: Float[Tensor, "B N D"]
    targets: Float[Tensor, "B *P N"]

    def select(self, index: Tensor) -> "PartBatch":
        """The replicates ``index``."""
        return PartBatch(self.inputs[index], self.targets[index])

    def rows(self, index: Tensor) -> "PartBatch":
        """The same number of rows of every replicate, chosen by ``index`` of shape (B, M)."""
        columns = self.inputs.shape[-1]
        inputs = torch.gather(self.inputs, 1, index[..., None].expand(-1, -1, columns))
        own = index if self.targets.ndim == 2 else index[:, None, :].expand(-1, self.targets.shape[1], -1)
        return PartBatch(inputs, torch.gather(self.targets, -1, own))


@dataclass(frozen=True)
class SplitBatch:
    """Splits of equal shape as one batch; ``log_scale`` is what each adds to a NLL to be on the original scale.

    ``target_scale`` holds the scales of several outputs, each by itself.
    """

    train: PartBatch
    validation: PartBatch
    test: PartBatch
    log_scale: Float[Tensor, " B"]
    target_scale: Float[Tensor, "B P"] | None = None

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self.log_scale)

    def select(self, index: Tensor) -> "SplitBatch":
        """The replicates ``index``."""
        train, validation, test = (part.select(index) for part in (self.train, self.validation, self.test))
        scale = None if self.target_scale is None else self.target_scale[index]
        return SplitBatch(train, validation, test, self.log_scale[index], scale)


def stack_splits(
    splits: Sequence[Split], *, scale_targets: bool, dtype: str = "float64", codes: bool = False, outputs: int = 1
) -> tuple[SplitBatch, list[Standardiser]]:
    """Standardise every split by its training part and stack them; all must have the shapes of the first.

    ``codes``: the targets are labels or counts, and stay as they are. ``outputs``: target columns, all scaled apart.

    Raises
    ------
    DataError : another number of outputs.
    """
    for split in splits:
        _require_outputs(split, outputs)
    kind = Standardiser if outputs == 1 else OutputStandardiser
    standardisers = [kind.fit(split.train, scale_targets, codes=codes) for split in splits]

    def part(name: str) -> PartBatch:
        own: list[Part] = [getattr(split, name) for split in splits]
        inputs = np.stack([s.inputs(each.inputs) for s, each in zip(standardisers, own, strict=True)])
        targets = np.stack([s.targets(each.targets).T for s, each in zip(standardisers, own, strict=True)])
        return PartBatch(torch.tensor(inputs, dtype=DTYPES[dtype]), torch.tensor(targets, dtype=DTYPES[dtype]))

    log_scale = torch.tensor([s.log_scale for s in standardisers], dtype=DTYPES[dtype])
    scales = [s.target_scale for s in standardisers]
    each = None if outputs == 1 else torch.tensor(np.stack(scales), dtype=DTYPES[dtype])
    return SplitBatch(part("train"), part("validation"), part("test"), log_scale, each), standardisers


def _require_outputs(split: Split, outputs: int) -> None:
    if split.outputs != outputs:
        raise DataError(
            f"targets of {split.name!r} have shape {split.train.targets.shape}, so {split.outputs} output(s), where "
            f"{outputs} are expected; a cell takes several with likelihood Gaussian(outputs={split.outputs})"
        )


def groups_of_equal_shape(splits: Sequence[Split]) -> list[list[int]]:
    """Positions of splits that can share one tensor program, in order of first appearance."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for position, split in enumerate(splits):
        key = (split.train.n, split.validation.n, split.test.n, split.d, split.outputs)
        groups.setdefault(key, []).append(position)
    return list(groups.values())
