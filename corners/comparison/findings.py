"""One kind of report for many fits: by method and seed, with those that have none and why."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from corners.comparison.grid import TEXT_WIDTH, Grid
from corners.errors import SpecError

NO_LAYER = "it has no last layer with a Gaussian belief and Gaussian noise"
NO_BELIEF = "it has no last layer with a Gaussian belief"
NO_SAMPLE = "it has no last layer with a Gaussian belief, or one a latent function"


@runtime_checkable
class Reported(Protocol):
    """What a report of one belief offers."""

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        ...

    def records(self) -> list[dict[str, Any]]:
        """Flat rows."""
        ...


R = TypeVar("R", bound=Reported)


@dataclass(frozen=True, eq=False)
class Findings(Generic[R]):
    """Reports by (method, seed); ``absent`` says of every other fit why it has none.

    Iterating gives ``(method, seed)``; indexing gives the report. Printing gives a table and
    what is absent, and for a single method a sentence a seed.
    """

    dataset: str
    reports: Mapping[tuple[str, int], R]
    absent: Mapping[tuple[str, int], str]
    tabulate: "Callable[[Findings[R]], Grid]"

    def __getitem__(self, key: tuple[str, int]) -> R:
        if key in self.reports:
            return self.reports[key]
        known = ", ".join(f"{method} seed {seed}" for method, seed in self.reports) or "none"
        reason = self.absent.get(key, "it is not in this comparison")
        raise SpecError(f"{key[0]} seed {key[1]} has no such report: {reason}; there are: {known}")

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with at least one report, in order."""
        return tuple(dict.fromkeys(method for method, _ in self.reports))

    def of(self, method: str) -> list[R]:
        """The reports of one method, in the order of the seeds."""
        return [report for (name, _), report in self.reports.items() if name == method]

    def records(self) -> list[dict[str, Any]]:
        """The records of every report, with data set, method and seed."""
        return [
            {"dataset": self.dataset, "method": method, "seed": seed, **row}
            for (method, seed), report in self.reports.items()
            for row in report.records()
        ]

    def to_dataframe(self) -> Any:
        """The records as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.records())

    def __str__(self) -> str:
        table = [self.tabulate(self).to_text(), ""] if self.reports else []
        told = self.reports.items() if len(self.methods) == 1 else ()
        found = [f"{method}, seed {seed}: {report.sentence}" for (method, seed), report in told]
        wrapped = [textwrap.fill(text, TEXT_WIDTH, subsequent_indent="  ") for text in (*found, *self._missing())]
        return "\n".join([*table, *wrapped])

    def _missing(self) -> list[str]:
        seeds: dict[tuple[str, str], list[str]] = {}
        for (method, seed), reason in self.absent.items():
            seeds.setdefault((method, reason), []).append(str(seed))
        return [
            f"no report for {method}, seed {', '.join(which)}: {reason}" for (method, reason), which in seeds.items()
        ]


def gather(
    dataset: str,
    keys: Sequence[tuple[str, int]],
    make: Callable[[str, int], R | str],
    tabulate: Callable[[Findings[R]], Grid],
) -> Findings[R]:
    """Make the report of every (method, seed); ``make`` returns it, or the reason why there is none."""
    found = {key: make(*key) for key in keys}
    reports = {key: report for key, report in found.items() if not isinstance(report, str)}
    absent = {key: reason for key, reason in found.items() if isinstance(reason, str)}
    return Findings(dataset, reports, absent, tabulate)
