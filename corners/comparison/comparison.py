"""What a comparison of methods found: fits on the same splits, their scores, and what can be asked of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.comparison.exports import seed_records, to_xarray
from corners.comparison.findings import NO_BELIEF, NO_LAYER, NO_SAMPLE, Findings, gather
from corners.comparison.outcomes import outcome, unavailable_outcome
from corners.comparison.provenance import Provenance
from corners.comparison.report import Report, check_writable, write_report
from corners.comparison.scores import SCORES, Score, ScoreRule, evaluate
from corners.comparison.scores._base import Task
from corners.comparison.table import TABLE_SCORES, ScoreTable, score_column
from corners.errors import DataError, SpecError, UnknownNameError
from corners.method import BeliefObjectives, Fit, FitStatus, LastLayer
from corners.registry import unknown_name_message
from corners.types import Array

if TYPE_CHECKING:
    from corners.comparison.agreement import AgreementReport
    from corners.comparison.identifiability import IdentifiabilityReport
    from corners.comparison.ordering import OrderingReport
    from corners.data.split import Split


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every method's fits on the same splits, seed by seed, with all that was not run and why.

    Scores are computed when first asked for and kept.

    Parameters
    ----------
    splits, seeds : replicate ``k`` of every fit belongs to ``splits[k]`` and ``seeds[k]``.
    fits : by method name.  unavailable : reason, by the name of a method that could not be run.
    references : gated draws by (method, seed).  reference_failures : reason, where there should be some.
    hosts : the method whose features a method borrows.  provenance : where all this comes from.
    method_summaries : one line a method, for the report.
    published : figures of the literature by (method, score), shown beside ours.
    k_hat : Pareto k-hat of a Gaussian belief, for example ``inference.truth.gaussian_k_hat``; None leaves it out.
    objectives : MAP, Bethe and ELBO of a (fit, replicate, split) whose head is not Gaussian; None without a belief.
    class_draws : class probabilities given draws of the belief of a (fit, replicate, inputs), or None.
    notes : what must be said beside the numbers of a method, by its name.
    """

    dataset_name: str
    dataset_description: Mapping[str, Any]
    splits: "tuple[Split, ...]"
    seeds: tuple[int, ...]
    fits: Mapping[str, Fit]
    unavailable: Mapping[str, str]
    references: Mapping[tuple[str, int], Any]
    reference_failures: Mapping[tuple[str, int], str]
    hosts: Mapping[str, str]
    provenance: Provenance
    method_summaries: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    k_hat: Callable[..., Any] | None = None
    objectives: "Callable[[Fit, int, Split], BeliefObjectives | None] | None" = None
    class_draws: Callable[[Fit, int, Array], Array | None] | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    _scores: dict[Any, Score | None] = field(default_factory=dict, init=False, repr=False)
    _broken: dict[tuple[str, int], str] = field(default_factory=dict, init=False, repr=False)
    _reports: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.splits) != len(self.seeds):
            raise SpecError(f"one split a seed is needed; got {len(self.splits)} splits and {len(self.seeds)} seeds")
        for method, fit in self.fits.items():
            if len(fit.statuses) != len(self.seeds):
                raise SpecError(
                    f"{method!r} has {len(fit.statuses)} replicates; the comparison has {len(self.seeds)} seeds"
                )
        both = sorted(set(self.fits) & set(self.unavailable))
        if both:
            raise SpecError(f"{', '.join(both)} cannot be both fitted and unavailable")

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method that was asked for, in the order given: fitted ones, then unavailable ones."""
        return (*self.fits, *self.unavailable)

    @property
    def task(self) -> Task:
        """What the targets are: "regression", "classification" or "count"."""
        return self.splits[0].task  # pyright: ignore[reportReturnType]  (a split has checked it)

    @property
    def rules(self) -> tuple[str, ...]:
        """Scores of the default table: those of the task, NLL first."""
        return TABLE_SCORES[self.task]

    @property
    def test_points(self) -> str:
        """Size of the test part in words."""
        sizes = sorted({split.test.targets.size for split in self.splits})
        return f"{sizes[0]} test points" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} test points"

    def usable(self) -> Iterator[tuple[str, int]]:
        """Method and replicate of every fit that can predict its test part."""
        for method in self.fits:
            replicates = range(len(self.seeds))
            yield from ((method, k) for k in replicates if self.score(self.rules[0], method, k) is not None)

    def score(self, rule: str | ScoreRule, method: str, replicate: int) -> Score | None:
        """One score of one replicate on its own test part; None where it cannot predict: its status says why."""
        if not self.fits[self._require_method(method)].statuses[replicate].usable:
            return None
        if (rule, method, replicate) not in self._scores:
            self._compute(rule, method, replicate)
        return self._scores[rule, method, replicate]

    def _compute(self, rule: str | ScoreRule, method: str, replicate: int) -> None:
        """Predict once for all scores of the default table, for predicting may cost more than scoring."""
        rules = self.rules if rule in self.rules else (rule,)
        test = self.splits[replicate].test
        found: Iterable[Score | None]
        try:
            found = evaluate(self.fits[method].predict(test.inputs, replicate=replicate), test.targets, rules).values()
        except DataError as error:  # one broken predictive must not take the other methods' numbers with it
            self._broken[method, replicate] = str(error)
            found = [None] * len(rules)
        for each, score in zip(rules, found, strict=True):
            self._scores[each, method, replicate] = score

    def layer(self, method: str, seed: int) -> LastLayer | None:
        """The fitted last layer of one seed; None where the fit failed or the method has none."""
        replicate, fit = self.seeds.index(seed), self.fits[self._require_method(method)]
        usable = self.statuses(method)[replicate].usable
        return fit.last_layer(replicate, self.splits[replicate]) if usable else None

    def statuses(self, method: str) -> tuple[FitStatus, ...]:
        """How every replicate ended; one whose predictive is refused has failed, with the reason."""
        asked = [self.score(self.rules[0], method, k) for k in range(len(self.seeds))]
        given = self.fits[method].statuses
        broken = [self._broken.get((method, k)) for k in range(len(asked))]
        return tuple(FitStatus("failed", detail=r) if r else status for r, status in zip(broken, given, strict=True))

    def table(self, scores: Sequence[str | ScoreRule] | None = None) -> ScoreTable:
        """Scores of every method with their standard errors, best and tied marked, and how every run ended.

        Parameters
        ----------
        scores : names of the score registry or rules of your own; by default those of the task (``rules``). Rows are
            ordered by the first one.
        """
        rules = self.rules if scores is None else scores
        if len(rules) == 0:
            raise SpecError(f"a table needs at least one score; known: {', '.join(SCORES.names())}")
        replicates = range(len(self.seeds))
        columns = [score_column({m: tuple(self.score(r, m, k) for k in replicates) for m in self.fits}) for r in rules]
        outcomes = [
            outcome(method, fit, self.statuses(method), self.hosts.get(method)) for method, fit in self.fits.items()
        ]
        outcomes += [unavailable_outcome(method, reason) for method, reason in self.unavailable.items()]
        return ScoreTable(
            dataset=self.dataset_name,
            seeds=self.seeds,
            test_points=self.test_points,
            columns=tuple(column for column in columns if column is not None),
            outcomes=tuple(outcomes),
            published=self.published,
        )

    def ordering(
        self, method: str | None = None, seed: int | None = None
    ) -> "Findings[OrderingReport] | OrderingReport":
        """MAP, Bethe and ELBO at every fitted belief, data and prior gaps apart, with verdicts (theory 4).

        With a method and a seed (or one seed in the comparison) that report; else those of every method or seed asked
        for.
        """
        from corners.comparison.ordering import ordering, ordering_of_belief
        from corners.comparison.sections.ordering import ordering_grid

        def other(name: str, each: int) -> "OrderingReport | str":
            k = self.seeds.index(each)
            try:
                found = None if self.objectives is None else self.objectives(self.fits[name], k, self.splits[k])
            except SpecError as error:
                return str(error)
            return NO_BELIEF if found is None else ordering_of_belief(found)

        return self._ask(lambda layer, _: ordering(layer), ordering_grid, method, seed, other)

    def identifiability(
        self, method: str | None = None, seed: int | None = None
    ) -> "Findings[IdentifiabilityReport] | IdentifiabilityReport":
        """What the data can say about noise, covariance and prior of every fit; flags in words (theory 7.3)."""
        from corners.comparison.identifiability import identifiability
        from corners.comparison.sections.identification import statistics_grid

        return self._ask(lambda layer, _: identifiability(layer), statistics_grid, method, seed)

    def agreement(
        self, method: str | None = None, seed: int | None = None
    ) -> "Findings[AgreementReport] | AgreementReport":
        """Every belief against its gated posterior draws, with Monte Carlo errors (theory 10.3).

        A fit without draws is absent from the findings, with the reason. Draws from the belief (energy distance, k-hat)
        come from a generator seeded with the fit's own seed, so that the same question has the same answer.
        """
        from corners.comparison.agreement import agreement
        from corners.comparison.sections.truth import agreement_grid

        def make(layer: LastLayer, key: tuple[str, int]) -> Any:
            if key not in self.references:
                return self.reference_failures.get(key, "no draws of its posterior were asked for")
            return agreement(layer, self.references[key], generator=np.random.default_rng(key[1]), k_hat=self.k_hat)

        def other(name: str, each: int) -> Any:
            k = self.seeds.index(each)
            layer = self.fits[name].sampled_layer(k, self.splits[k])
            return NO_SAMPLE if layer is None else make(layer, (name, each))

        return self._ask(make, agreement_grid, method, seed, other)

    def _ask(self, make: Any, tabulate: Any, method: str | None, seed: int | None, other: Any = None) -> Any:
        methods = tuple(self.fits) if method is None else (self._require_method(method),)
        if seed is not None and seed not in self.seeds:
            raise SpecError(f"seed {seed} is not in this comparison; its seeds are {', '.join(map(str, self.seeds))}")
        seeds = self.seeds if seed is None else (seed,)
        keys = [(name, each) for name in methods for each in seeds]
        findings = gather(self.dataset_name, keys, lambda *key: self._one(make, tabulate, key, other), tabulate)
        return findings[keys[0]] if method is not None and len(seeds) == 1 else findings

    def _one(self, make: Any, kind: Any, place: tuple[str, int], other: Any) -> Any:
        """The report of one fit, or the reason why there is none; kept, for some take a second.

        ``other`` reports on a usable fit without a Gaussian last layer.
        """
        key = (kind, *place)
        if key not in self._reports:
            status, layer = self.statuses(place[0])[self.seeds.index(place[1])], self.layer(*place)
            if layer is not None:
                self._reports[key] = make(layer, place)
            else:
                self._reports[key] = (other(*place) if other else NO_LAYER) if status.usable else status.sentence
        return self._reports[key]

    def records(self) -> list[dict[str, Any]]:
        """``{dataset, method, score, mean, se, n, unit, status}`` for every method and score of the default table."""
        return self.table().records()

    def seed_records(self) -> list[dict[str, Any]]:
        """One row a method, seed and score: its mean over the test points, standard error, number of points, status."""
        return seed_records(self)

    def to_dataframe(self) -> Any:
        """``seed_records`` as a pandas data frame: one row a method, seed and score."""
        import pandas

        frame = pandas.DataFrame(self.seed_records())
        return frame.assign(mean=frame["mean"].astype(float), se=frame["se"].astype(float))

    def to_xarray(self) -> Any:
        """Dataset over (fit, seed, score): ``mean`` and ``se`` over test points; units as a coordinate.

        The first dimension is not called ``method`` because ``.sel`` has an argument of that name.
        """
        return to_xarray(self)

    def report(self, folder: str | Path) -> Report:
        """Write ``index.html`` (needs nothing else), ``report.md`` with ``figures/``, and ``scores.json``.

        Raises
        ------
        OutputError : the folder cannot be written to; said before any work is done.
        """
        from corners.comparison.sections.assembly import comparison_document, comparison_numbers

        check_writable(folder)
        return write_report(comparison_document(self), comparison_numbers(self), folder)

    def _require_method(self, method: str) -> str:
        if method in self.fits:
            return method
        if method in self.unavailable:
            raise SpecError(f"{method!r} was not run: {self.unavailable[method]}")
        raise UnknownNameError(unknown_name_message("method of this comparison", method, sorted(self.fits)))

    def __repr__(self) -> str:
        return f"Comparison({self.dataset_name!r}, {len(self.fits)} methods, {len(self.seeds)} seeds)"
