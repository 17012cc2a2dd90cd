"""Sequential predictives of blocks telescope to the evidence and end at the posterior (theory 3.2, 3.8c)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._dense_gaussian import DenseBelief, dense_evidence, normal_loss
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence, sequential_predictives
from corners.types import Array, Float

PARTITIONS = 3
ROUNDING = 1e-9


@CLAIMS.register("telescoping")
@dataclass(frozen=True)
class Telescoping(Claim):
    """The sequential sum telescopes to the evidence for every partition into blocks, and ends at the posterior.

    The block terms, by orthogonal updates, are held against joint predictives of the blocks by a belief whose precision
    grows from block to block; where that belief ends is held against the conjugate posterior of all rows at once.
    """

    name: ClassVar[str] = "telescoping"
    statement: ClassVar[str] = (
        "The block-sequential sum telescopes to -log Z for every partition of the data into blocks, and its last "
        "belief is the conjugate posterior."
    )
    formula: ClassVar[str] = "Σ_b -log N(y_b; Ψ_b m_b, σ²I + Ψ_b S_b Ψ_bᵀ) = -log Z, and (m, S) ends at (μ*, Σ*)"
    claimed_in: ClassVar[str] = "paper v2, proposition 2; theory 3.2, 3.8c"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "Telescoping":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Blocks of one row, of all rows and of random sizes."""
        generator, evidence = problem.generator(), dense_evidence(problem)
        given = (problem.features, problem.targets, problem.prior_precision, problem.noise_scale)
        posterior, rows = Evidence(problem.features, problem.targets).posterior(*given[2:]), problem.rows
        partitions = [[1] * rows, [rows], *(_partition(rows, generator) for _ in range(PARTITIONS))]
        sums, blocks, ends, firsts = [], [], [], []
        for sizes in partitions:
            order = generator.permutation(rows)
            terms = sequential_predictives(*given, order=order, method="square_root").block_terms(sizes)
            other, end = _conditioned(problem, order, sizes)
            sums.append(relative_difference(float(terms.sum()), evidence))
            blocks.append(relative_difference(terms, other))
            ends.append(max(relative_difference(one, two) for one, two in zip(end, posterior, strict=True)))
            firsts.append(float(terms[0]))
        margins = [
            at_most(f"worst sum of {len(partitions)} partitions against -log Z, relative", max(sums), ROUNDING),
            at_most("worst block against a joint predictive, relative", max(blocks), ROUNDING),
            at_most("last belief against the conjugate posterior, relative", max(ends), ROUNDING),
        ]
        if rows > 1:
            spread = float(np.ptp(firsts))
            margins.append(at_least("spread of the first block's term over the partitions", spread, 0.1, "nats"))
        counts = ", ".join(str(len(sizes)) for sizes in partitions)
        sentence = (
            f"partitions of {rows} rows into {counts} blocks all sum to -log Z = {evidence:.3f} nats (worst "
            f"{max(sums):.1e}) and end at the conjugate posterior (worst {max(ends):.1e})"
        )
        return holds_if(tuple(margins), sentence)


def _partition(rows: int, generator: np.random.Generator) -> list[int]:
    """Sizes of about ``√N`` blocks that are cut at random."""
    cuts = np.flatnonzero(generator.random(max(rows - 1, 0)) < 1.0 / np.sqrt(rows)) + 1
    return [int(size) for size in np.diff(cuts, prepend=0, append=rows)]


def _conditioned(problem: Problem, order: Array, sizes: list[int]) -> tuple[Float[Array, " B"], DenseBelief]:
    """Joint predictives of the blocks and the belief after the last one; precisions add up from block to block."""
    precision, shift = problem.prior_precision * np.eye(problem.width), np.zeros(problem.width)
    terms = []
    for rows in np.split(order, np.cumsum(sizes)[:-1]):
        features, targets = problem.features[rows], problem.targets[rows]
        mean = np.linalg.solve(precision, shift)
        joint = problem.noise_var * np.eye(len(rows)) + features @ np.linalg.solve(precision, features.T)
        terms.append(normal_loss(targets, features @ mean, joint))
        precision = precision + features.T @ features / problem.noise_var
        shift = shift + features.T @ targets / problem.noise_var
    return np.array(terms), DenseBelief(np.linalg.solve(precision, shift), np.linalg.inv(precision))
