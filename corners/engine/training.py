"""The method that fits a cell: one replicate a split and seed, its precision learned, fixed or chosen from a grid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from corners.beliefs import Prior
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch, stack_splits
from corners.engine.corner import Corner
from corners.engine.fit import CornerFit, Replicate
from corners.engine.problem import CornerProblem, one_precision
from corners.engine.remarks import data_remarks, fixed_remarks, parameters_at_bound, remarks, start_remark
from corners.errors import DataError, SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR
from corners.method import Fit, FitStatus, Method, Trace, require_one_seed_a_split
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train
from corners.protocols import require_grid
from corners.selection import best_candidate, choice_remarks

if TYPE_CHECKING:
    from corners.data.split import Split
    from corners.data.standardiser import Standardiser


TIED_AT_START = 20
"""Calls of the tied update before training: with all else fixed nothing later would move the precision."""
FIXED_NOISE = ("none", "posthoc", "refit")


@dataclass(frozen=True)
class CornerMethod(Method):
    """A cell with the schedule it is trained under.

    Parameters
    ----------
    batch_size : refused where the belief is bound to all data: a mini-batch would bind it to another posterior.
    reduction : "sum" minimises the free energy, "mean" the free energy a training point.
    precision_grid : prior precisions held fixed, all trained at once and chosen from by validation NLL; empty where the
        precision is the corner's own affair.
    fixed_noise : the two readings of theory 7.4. "posthoc" trains as always and then sets the noise variance to the
        mean squared error on the validation part; "refit" holds it at that error of the ``map`` network all along.
    """

    name: str
    corner: Corner
    schedule: Schedule
    scale_targets: bool = True
    batch_size: int | None = None
    dtype: str = "float64"
    reduction: str = "sum"
    precision_grid: tuple[float, ...] = ()
    fixed_noise: str = "none"

    @property
    def host(self) -> str | None:  # type: ignore[override]  # elsewhere a constant of the class; here an option decides
        """The network whose validation error is the noise of a refit."""
        return "map" if self.fixed_noise == "refit" else None

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise SpecError(f"batch_size must be at least 1 or None for full batch; got {self.batch_size}")
        if self.batch_size is not None and self.corner.routing.binds_mean:
            raise SpecError(
                f"mini-batches are for the shared cavity with free routing; {self.name} binds its belief to all rows, "
                "and a mini-batch would bind it to another posterior. Use batch_size=None, or a scroll_* cell"
            )
        if self.reduction not in ("sum", "mean"):
            raise SpecError(f"reduction must be 'sum' or 'mean'; got {self.reduction!r}")
        if self.schedule.stopping == "combined" and not self.corner.likelihood.conjugate:
            raise SpecError(
                "stopping='combined' adds the calibration error of a Gaussian predictive, and likelihood "
                f"{self.corner.likelihood.name!r} has none; use stopping='validation_nll'"
            )
        if self.fixed_noise not in FIXED_NOISE:
            raise SpecError(f"fixed_noise must be one of {', '.join(FIXED_NOISE)}; got {self.fixed_noise!r}")
        if self.fixed_noise != "none" and not self.corner.likelihood.conjugate:
            raise SpecError(
                f"fixed_noise={self.fixed_noise!r} holds the variance of Gaussian noise, and likelihood "
                f"{self.corner.likelihood.name!r} has none; use 'none'"
            )
        if self.fixed_noise == "refit" and self.corner.likelihood.target_columns > 1:
            raise SpecError("fixed_noise='refit' takes the noise of map, which has one output; use 'posthoc' or 'none'")
        if self.precision_grid:
            require_grid("precision_grid", self.precision_grid, positive=True)
            if self.corner.routing.name == "mean_closed" or self.corner.prior.evidence_tied:
                raise SpecError(
                    f"{self.name} trains or ties its prior precision and takes no precision_grid; use a cell with free "
                    "or closed routing and evidence_tied=0"
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
        require_one_seed_a_split(splits, seeds)
        pairs = [(id(split), seed) for split, seed in zip(splits, seeds, strict=True)]
        errors = self._host_errors(splits, host)
        noise = dict(zip(pairs, errors, strict=True)) if errors else {}

        def fit_group(some: "list[Split]", own: list[int]) -> tuple[list[tuple[Replicate, FitStatus]], Trace]:
            held = [noise[id(split), seed] for split, seed in zip(some, own, strict=True)] if noise else []
            return self._fit_group(some, own, held, progress)

        fitted = fit_in_groups(splits, seeds, fit_group)
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

    def _host_errors(self, splits: "Sequence[Split]", host: Fit | None) -> list[float]:
        """Mean squared validation error of the host's means in original units; NaN where it cannot predict."""
        if self.fixed_noise != "refit":
            return []
        if host is None:
            raise SpecError(f"{self.name} with fixed_noise='refit' needs the fit of map: pass it as host")
        return [
            _validation_error(host, k, split) if host.statuses[k].usable else float("nan")
            for k, split in enumerate(splits)
        ]

    def _fit_group(
        self, splits: "list[Split]", seeds: list[int], noise_vars: list[float], progress: Watcher | None
    ) -> tuple[list[tuple[Replicate, FitStatus]], Trace]:
        data, standardisers = self._stacked(splits)
        # Rows run over the precisions of the grid, then replicates; a replicate starts alike under every precision.
        grid = self.precision_grid or (self.corner.prior.precision,)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds * len(grid)]
        tiled, params = self._start(splits, data, torch.arange(len(seeds)).repeat(len(grid)), generators)
        held = self._held(grid, noise_vars, standardisers)
        problem = CornerProblem(self.corner, tiled, generators, self.batch_size, self.reduction)
        problem.tie_precision(params | held, calls=TIED_AT_START)
        frozen = self.corner.frozen | frozenset(held)
        outcome = train(problem, params | held, frozen, self._schedule(problem), progress)
        scores = np.array(outcome.best_validation).reshape(len(grid), len(seeds))
        best = [best_candidate(scores[:, k]) or 0 for k in range(len(seeds))]  # the first of all that failed
        chosen = outcome.select([candidate * len(seeds) + k for k, candidate in enumerate(best)])
        said = [self._choice_remarks(scores[:, k], best[k]) for k in range(len(seeds))]
        return self._replicates(chosen, data, standardisers, frozenset(held), said), chosen.trace

    def _stacked(self, splits: "list[Split]") -> "tuple[SplitBatch, list[Standardiser]]":
        likelihood = self.corner.likelihood
        return stack_splits(
            splits,
            scale_targets=self.scale_targets,
            dtype=self.dtype,
            codes=likelihood.task != "regression",
            outputs=likelihood.target_columns,
        )

    def _start(
        self, splits: "list[Split]", data: SplitBatch, rows: Tensor, generators: list[torch.Generator]
    ) -> tuple[SplitBatch, Params]:
        """The rows of the program and their parameters; no part may hold a target that they cannot have."""
        chosen = data.select(rows) if len(rows) > data.count else data
        params = self.corner.init(chosen.train.inputs, chosen.train.targets, generators)
        for name in ("validation", "test"):
            try:
                self.corner.likelihood.check(getattr(data, name).targets, params)
            except DataError as error:
                raise DataError(f"the {name} part of {splits[0].name!r}: {error}") from error
        return chosen, params

    def _held(
        self, grid: tuple[float, ...], noise_vars: list[float], standardisers: "list[Standardiser]"
    ) -> dict[str, Tensor]:
        """Parameters that are not the corner's to choose, one a row."""
        held, dtype = {}, DTYPES[self.dtype]
        if self.precision_grid:
            each = torch.tensor(grid, dtype=dtype).log().repeat_interleave(len(standardisers))
            latents = 1 if self.corner.prior.shared else self.corner.likelihood.latents
            held[Prior.parameter] = each if latents == 1 else each[:, None].repeat(1, latents)
        if noise_vars:
            scaled = [var / s.target_scale**2 for var, s in zip(noise_vars, standardisers, strict=True)]
            held[LOG_NOISE_VAR] = torch.tensor(scaled, dtype=dtype).log().repeat(len(grid))
        return held

    def _choice_remarks(self, scores: np.ndarray, best: int) -> tuple[str, ...]:
        grid = self.precision_grid
        if not grid:
            return ()
        held = f"prior precision {grid[best]:g} chosen from {len(grid)} by validation NLL"
        return (held, *choice_remarks([{"prior_precision": each} for each in grid], scores, best))

    def _schedule(self, problem: CornerProblem) -> Schedule:
        epoch = problem.steps_per_epoch
        return self.schedule if epoch == 1 else replace(self.schedule, check_every=epoch, trace_every=epoch)

    def _replicates(
        self,
        outcome: Outcome,
        data: SplitBatch,
        standardisers: "list[Standardiser]",
        held: frozenset[str],
        choices: list[tuple[str, ...]],
    ) -> list[tuple[Replicate, FitStatus]]:
        """Bind every replicate's belief at its best parameters and look at what it learned."""
        if self.fixed_noise == "posthoc":
            held |= {LOG_NOISE_VAR}
            outcome = replace(outcome, params=outcome.params | {LOG_NOISE_VAR: self._validation_noise(outcome, data)})
        with torch.no_grad():
            features = self.corner.backbone.features(outcome.params, data.train.inputs)
            routed = self.corner.route(outcome.params, features, data.train.targets)
        found = []
        for k, (standardiser, status) in enumerate(zip(standardisers, outcome.statuses, strict=True)):
            params = {name: value[k] for name, value in outcome.params.items()}
            belief = routed.belief.select(torch.tensor(k))
            at_bound = parameters_at_bound(self.corner, params, held)
            said = (
                *data_remarks(self.corner, data.train.select(torch.tensor([k])), standardiser.constant_target),
                *fixed_remarks(self.corner, params, standardiser.target_scale, held),
                *choices[k],
                *start_remark(outcome.best_steps[k], status),
                *remarks(self.corner, params, belief, routed.prior_precision[k], features[k], at_bound),
            )
            precision = float(one_precision(routed.prior_precision[k], self.corner.likelihood.latents))
            replicate = Replicate(params, belief, precision, standardiser, outcome.best_steps[k], at_bound)
            found.append((replicate, FitStatus(status.code, status.detail, said if status.usable else ())))
        return found

    def _validation_noise(self, outcome: Outcome, data: SplitBatch) -> Tensor:
        """Log of the mean squared validation error of every replicate's mean, in the units trained in."""
        with torch.no_grad():
            features = self.corner.backbone.features(outcome.params, data.train.inputs)
            belief = self.corner.route(outcome.params, features, data.train.targets).belief
            features = self.corner.backbone.features(outcome.params, data.validation.inputs)
            marginals = belief.marginals(self.corner.latent_features(features))
            return (data.validation.targets - marginals.mean).square().mean(-1).log()


def _validation_error(fit: Fit, replicate: int, split: "Split") -> float:
    part = split.validation
    return float(np.square(part.targets - fit.predict(part.inputs, replicate=replicate).mean).mean())
