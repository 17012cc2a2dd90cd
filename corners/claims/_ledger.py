"""Run claims and keep what they found: the ledger that ``corners verify`` prints."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, VERDICTS, Claim, Finding, Margin
from corners.claims._problems import Problem
from corners.errors import UnknownNameError

COUNTED = {"holds": "hold", "holds conditionally": "hold conditionally", "fails": "fail"}


@dataclass(frozen=True)
class Row:
    """One claim and what was found on ``problem``, which is a user's own where ``own_data``."""

    claim: Claim
    finding: Finding
    problem: str
    own_data: bool
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the finding may stand beside the theory.

        On the stated problem the verdicts are equal. On a user's data a claim that always holds must hold there too;
        any other may hold or fail there.
        """
        if self.own_data and self.claim.expected != HOLDS:
            return True
        return self.finding.verdict == self.claim.expected

    def record(self) -> dict[str, Any]:
        """The row ready for JSON, without the seconds that it took."""
        claim, finding = self.claim, self.finding
        condition = finding.condition
        return {
            "claim": claim.name,
            "statement": claim.statement,
            "formula": claim.formula,
            "claimed_in": claim.claimed_in,
            "verdict": finding.verdict,
            "verdict_of_the_theory": claim.expected,
            "as_expected": self.as_expected,
            "problem": self.problem,
            "own_data": self.own_data,
            "found": finding.sentence,
            "margins": [_record(margin) for margin in finding.margins],
            "condition": None if condition is None else {"text": condition.text, "here": _record(condition.here)},
        }


@dataclass(frozen=True)
class Ledger:
    """Every claim that was run, in alphabetical order.

    Example
    -------
    >>> from corners.claims import verify
    >>> print(verify(["evidence_is_sequential"]).summary())
    1 claim: 1 holds. Every verdict is that of the theory.
    """

    rows: tuple[Row, ...]

    @property
    def surprises(self) -> tuple[Row, ...]:
        """Rows whose finding may not stand beside the theory."""
        return tuple(row for row in self.rows if not row.as_expected)

    def summary(self) -> str:
        """How many hold, hold conditionally and fail, and whether the theory says the same."""
        counts = {verdict: sum(row.finding.verdict == verdict for row in self.rows) for verdict in VERDICTS}
        said = [f"{count} {name if count == 1 else COUNTED[name]}" for name, count in counts.items() if count]
        claims = "1 claim" if len(self.rows) == 1 else f"{len(self.rows)} claims"
        if self.surprises:
            names = ", ".join(row.claim.name for row in self.surprises)
            return f"{claims}: {', '.join(said)}. NOT as the theory says: {names}."
        own = any(row.own_data for row in self.rows)
        last = "No finding contradicts the theory." if own else "Every verdict is that of the theory."
        return f"{claims}: {', '.join(said)}. {last}"

    def records(self) -> list[dict[str, Any]]:
        """The rows ready for JSON."""
        return [row.record() for row in self.rows]


def verify(
    names: Iterable[str] | None = None,
    problem: Problem | None = None,
    *,
    report: Callable[[Row], None] | None = None,
) -> Ledger:
    """Run claims, all of them by default, on their stated problems or on a problem of yours.

    Parameters
    ----------
    names : names of claims.
    problem : takes the place of the stated problem in every claim that can look at any last layer; the others keep
        theirs, and their rows say so.
    report : called with every row as soon as it is there.

    Raises
    ------
    UnknownNameError : a name that is no claim's; nothing is run.

    Example
    -------
    >>> verify(["evidence_is_sequential"]).rows[0].as_expected
    True
    """
    chosen = CLAIMS.names() if names is None else list(names)
    for name in chosen:
        if name not in CLAIMS.names():
            raise UnknownNameError(CLAIMS.unknown_message(name))
    rows = []
    for name in chosen:
        rows.append(_run(CLAIMS.get(name).example(), problem))
        if report is not None:
            report(rows[-1])
    return Ledger(tuple(rows))


def _run(claim: Claim, problem: Problem | None) -> Row:
    own = problem is not None and claim.takes_data
    looked_at = problem if problem is not None and claim.takes_data else claim.problem()
    start = time.perf_counter()
    finding = claim.check(looked_at)
    return Row(claim, finding, looked_at.name, own, time.perf_counter() - start)


def _record(margin: Margin) -> dict[str, Any]:
    """JSON has no infinity: a value that is not finite becomes a string."""
    value = margin.value if math.isfinite(margin.value) else str(margin.value)
    return asdict(margin) | {"value": value, "met": margin.met}
