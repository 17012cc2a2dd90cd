"""What a check found: one row a rule and situation, and a table of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inference.errors import NoRule, SpecError
from inference.types import Values

Quadrature = Callable[[bool], Values]
"""The numbers by quadrature; called with False for the finest grid, with True for a coarser one."""


@dataclass(frozen=True)
class CheckRow:
    """One rule in one situation: the two numbers that differ most, and by how much relative to 1 + their size."""

    rule: str
    ports: str
    given: str
    error: float
    passed: bool
    by_rule: float = float("nan")
    by_quadrature: float = float("nan")
    note: str = ""

    def __str__(self) -> str:
        numbers = f"{self.by_rule:.9g} by the rule, {self.by_quadrature:.9g} by quadrature"
        return f"{self.rule} {self.ports} given {self.given}: {self.note or numbers}"


@dataclass(frozen=True)
class CheckReport:
    """All rows of a letter. ``absent`` are rules the letter does not have, which is no failure.

    Example
    -------
    >>> report = CheckReport("mine", (CheckRow("message", "toward x", "y known", 0.5, False, 1.0, 2.0),))
    >>> report.passed, len(report.failures)
    (False, 1)
    >>> print(report)
    mine: 1 of 1 checks FAILED
      rule     ports     checks  worst error
      message  toward x       1      5.0e-01  FAILED
      message toward x given y known: 1 by the rule, 2 by quadrature
    """

    letter: str
    rows: tuple[CheckRow, ...]
    absent: tuple[str, ...] = ()
    remark: str = ""

    @property
    def passed(self) -> bool:
        """Whether no rule is wrong."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckRow, ...]:
        """The rows that are wrong."""
        return tuple(row for row in self.rows if not row.passed)

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.letter}: {self.remark or 'nothing to check'}"
        verdict = f"{len(self.failures)} of {len(self.rows)} checks FAILED" if self.failures else "all checks passed"
        lines = [f"{self.letter}: {verdict}", *_table(self.rows)]
        lines += [f"  {row}" for row in self.failures[:SHOWN]]
        if len(self.failures) > SHOWN:
            lines.append(f"  and {len(self.failures) - SHOWN} more in report.failures")
        return "\n".join(lines + ([f"  no rule: {', '.join(self.absent)}"] if self.absent else []))


SHOWN = 12


def _table(rows: tuple[CheckRow, ...]) -> list[str]:
    groups: dict[tuple[str, str], list[CheckRow]] = {}
    for row in rows:
        groups.setdefault((row.rule, row.ports), []).append(row)
    first, second = (max(len(head), *(len(key[k]) for key in groups)) for k, head in enumerate(("rule", "ports")))
    lines = [f"  {'rule':{first}}  {'ports':{second}}  checks  worst error"]
    for (rule, ports), some in groups.items():
        worst = max(row.error for row in some)
        failed = "" if all(row.passed for row in some) else "  FAILED"
        lines.append(f"  {rule:{first}}  {ports:{second}}  {len(some):6d}  {worst:11.1e}{failed}")
    return lines


class Judge:
    """Collects rows; a rule that raises is a row that failed, but for NoRule, which says that there is none."""

    def __init__(self, tolerance: float) -> None:
        if not 0.0 < tolerance < 1.0:
            raise SpecError(f"check_node takes a tolerance between 0 and 1, not {tolerance!r}")
        self.tolerance = tolerance
        self.rows: list[CheckRow] = []
        self.absent: list[str] = []

    def compare(self, rule: str, ports: str, given: str, by_rule: Callable[[], Values], quadrature: Quadrature) -> None:
        """Add the row of a rule; ``by_rule`` calls it and returns numbers to be compared one by one."""
        try:
            found = np.asarray(by_rule(), dtype=np.float64)
        except NoRule:
            self.absent.append(f"{rule} {ports}")
            return
        except Exception as error:  # an author's rule may raise anything; what it raised is the finding
            self.fail(rule, ports, given, f"raised {type(error).__name__}: {error}")
            return
        wanted = quadrature(False)
        if found.shape != wanted.shape:
            self.fail(rule, ports, given, f"has shape {found.shape} where {wanted.shape} is due")
            return
        self.rows.append(self._row(rule, ports, given, found, wanted, quadrature))

    def fail(self, rule: str, ports: str, given: str, note: str) -> None:
        """Add a row that failed for a reason other than a number."""
        self.rows.append(CheckRow(rule, ports, given, float("inf"), False, note=note))

    def report(self, letter: str) -> CheckReport:
        """All of it."""
        return CheckReport(letter, tuple(self.rows), tuple(dict.fromkeys(self.absent)))

    def _row(
        self, rule: str, ports: str, given: str, found: Values, wanted: Values, quadrature: Quadrature
    ) -> CheckRow:
        scale = 1.0 + float(np.max(np.abs(wanted)))
        differences = np.abs(found - wanted) / scale
        place = np.unravel_index(int(np.argmax(np.nan_to_num(differences, nan=np.inf))), differences.shape)
        error = float(np.nan_to_num(differences[place], nan=np.inf))
        passed, note = error <= self.tolerance, ""
        if not passed:
            blur = float(np.max(np.abs(quadrature(True) - wanted))) / scale
            if not blur <= self.tolerance:
                note = (
                    f"cannot be judged: the quadrature itself is uncertain by {blur:.1e} (rule {found[place]:.9g}, "
                    f"quadrature {wanted[place]:.9g}); use constants nearer to one"
                )
        return CheckRow(rule, ports, given, error, passed, float(found[place]), float(wanted[place]), note)
