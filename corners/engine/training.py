"""Training a cell end to end: the cell as a problem for the optimiser, and the method that fits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Prior, RoutedBelief
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch, stack_splits
from corners.engine.corner import Corner
from corners.engine.evidence_tied import mackay_log_precision
from corners.engine.fit import CornerFit, Replicate
from corners.engine.remarks import data_remarks, fixed_remarks, parameters_at_bound, remarks, start_remark
from corners.errors import SpecError
from corners.method import Fit, FitStatus, Method, Trace
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train

if TYPE_CHECKING:
    from corners.data.split import Split
    from corners.data.standardiser import Standardiser


TIED_AT_START = 20
"""Calls of the tied update before training: with all else fixed nothing later would move the precision."""


class CornerProblem:
    """A cell on a batch of splits, as :func:`corners.optimise.train` wants it."""

    def __init__(
        self,
        corner: Corner,
        data: SplitBatch,
        generators: list[torch.Generator],
        batch_size: int | None = None,
    ) -> None:
        self.corner, self.data, self.generators = corner, data, generators
        rows = data.train.targets.shape[-1]
        self.batch_size = None if batch_size is None or batch_size >= rows else batch_size
        self._order: Tensor | None = None
        self._used = 0

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.data.count

    @property
    def steps_per_epoch(self) -> int:
        """Steps that see every training row once."""
        rows = self.data.train.targets.shape[-1]
        return 1 if self.batch_size is None else max(1, rows // self.batch_size)

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], RoutedBelief]:
        """Free energy of every replicate, on all rows or on the next mini-batch."""
        part = self.data.train if self.batch_size is None else self.data.train.rows(self._next_rows())
        features = self.corner.backbone.features(params, part.inputs)
        routed = self.corner.route(params, features, part.targets)
        data_size = None if self.batch_size is None else self.data.train.targets.shape[-1]
        return self.corner.energy(params, features, part.targets, routed, data_size).total, routed

    def validation(self, params: Params, state: RoutedBelief) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part under the present belief."""
        return self._nll(params, state, self.data.validation)

    def watched(self, params: Params, state: RoutedBelief) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL, prior precision and noise scale (original units) for the trace."""
        values = {
            "test_nll": self._nll(params, state, self.data.test),
            "prior_precision": state.prior_precision.detach(),
        }
        noise_var = self.corner.likelihood.noise_var(params)
        if noise_var is not None:
            values["noise_scale"] = noise_var.detach().sqrt() * self.data.log_scale.exp()
        return values

    def adjust(self, params: Params, step: int, state: RoutedBelief) -> None:
        """Clamp to bounds (outside the graph: a clamp inside it zeroes the gradient) and tie the precision."""
        every = self.corner.prior.evidence_tied
        if every and step % every == 0:
            self.tie_precision(params)
        for name, (low, high) in self.corner.bounds().items():
            params[name].clamp_(low, high)
        for name, bound in self.corner.likelihood.ceiling(params).items():
            params[name].copy_(torch.minimum(params[name], bound))

    def tie_precision(self, params: Params, calls: int = 1) -> None:
        """Move the prior precision to (or, in one call, towards) its evidence fixed point, where it is tied."""
        noise_var = self.corner.likelihood.noise_var(params)
        if not self.corner.prior.evidence_tied or noise_var is None:
            return
        with torch.no_grad():
            features = self.corner.backbone.features(params, self.data.train.inputs)
            for _ in range(calls):
                tied = mackay_log_precision(features, self.data.train.targets, params[Prior.parameter], noise_var)
                params[Prior.parameter].copy_(tied.clamp(*self.corner.prior.bounds()[Prior.parameter]))

    def select(self, index: Tensor) -> "CornerProblem":
        """The replicates ``index`` alone, each with its own stream of mini-batches."""
        chosen = CornerProblem(
            self.corner, self.data.select(index), [self.generators[i] for i in index.tolist()], self.batch_size
        )
        if self._order is not None:
            chosen._order, chosen._used = self._order[index], self._used
        return chosen

    def _nll(self, params: Params, state: RoutedBelief, part: PartBatch) -> Float[Tensor, " B"]:
        features = self.corner.backbone.features(params, part.inputs)
        marginals = state.belief.detach().marginals(features)
        log_prob = self.corner.likelihood.log_partition(params, part.targets, marginals)
        return -log_prob.mean(-1) + self.data.log_scale

    def _next_rows(self) -> Float[Tensor, "B M"] | Any:
        rows = self.data.train.targets.shape[-1]
        assert self.batch_size is not None
        if self._order is None or self._used + self.batch_size > rows:
            self._order = torch.stack([torch.randperm(rows, generator=each) for each in self.generators])
            self._used = 0
        chosen = self._order[:, self._used : self._used + self.batch_size]
        self._used += self.batch_size
        return chosen


@dataclass(frozen=True)
class CornerMethod(Method):
    """A cell with the schedule it is trained under.

    ``batch_size`` is refused where the belief is bound to all data: a mini-batch would bind it to another posterior.
    """

    name: str
    corner: Corner
    schedule: Schedule
    scale_targets: bool = True
    batch_size: int | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise SpecError(f"batch_size must be at least 1 or None for full batch; got {self.batch_size}")
        if self.batch_size is not None and self.corner.routing.binds_mean:
            raise SpecError(
                f"mini-batches are for the shared cavity with free routing; {self.name} binds its belief to all rows, "
                "and a mini-batch would bind it to another posterior. Use batch_size=None, or a scroll_* cell"
            )

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> CornerFit:
        """Train one replicate a (split, seed) pair, all of equal shape in one tensor program."""
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(some, own, progress))
        return CornerFit(
            method=self.name,
            corner=self.corner,
            seeds=tuple(seeds),
            statuses=fitted.statuses,
            replicates=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
            dtype=self.dtype,
        )

    def _fit_group(
        self, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[Replicate, FitStatus]], Trace]:
        data, standardisers = stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        params = self.corner.init(data.train.inputs, data.train.targets, generators)
        problem = CornerProblem(self.corner, data, generators, self.batch_size)
        problem.tie_precision(params, calls=TIED_AT_START)
        schedule = self._schedule(problem)
        outcome = train(problem, params, self.corner.frozen, schedule, progress)
        return self._replicates(outcome, data, standardisers), outcome.trace

    def _schedule(self, problem: CornerProblem) -> Schedule:
        epoch, own = problem.steps_per_epoch, self.schedule
        if epoch == 1:
            return own
        return Schedule(
            own.learning_rate, own.max_steps, own.patience, own.threshold, check_every=epoch, trace_every=epoch
        )

    def _replicates(
        self, outcome: Outcome, data: SplitBatch, standardisers: "list[Standardiser]"
    ) -> list[tuple[Replicate, FitStatus]]:
        """Bind every replicate's belief at its best parameters and look at what it learned."""
        with torch.no_grad():
            features = self.corner.backbone.features(outcome.params, data.train.inputs)
            routed = self.corner.route(outcome.params, features, data.train.targets)
        found = []
        for k, (standardiser, status) in enumerate(zip(standardisers, outcome.statuses, strict=True)):
            params = {name: value[k] for name, value in outcome.params.items()}
            belief = routed.belief.select(torch.tensor(k))
            at_bound = parameters_at_bound(self.corner, params)
            said = (
                *data_remarks(self.corner, data.train.select(torch.tensor([k])), standardiser.constant_target),
                *fixed_remarks(self.corner, params, standardiser.target_scale),
                *start_remark(outcome.best_steps[k], status),
                *remarks(self.corner, params, belief, routed.prior_precision[k], features[k], at_bound),
            )
            precision = float(routed.prior_precision[k])
            replicate = Replicate(params, belief, precision, standardiser, outcome.best_steps[k], at_bound)
            found.append((replicate, FitStatus(status.code, status.detail, said if status.usable else ())))
        return found
