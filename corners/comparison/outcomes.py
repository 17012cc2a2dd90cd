"""How the replicates of every method ended, in a few words with counts; nothing that failed is left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corners.method import STATUS_SENTENCES, Fit, FitStatus

SHORT_STATUS: Mapping[str, str] = {
    "step_limit": "hit the step limit",
    "not_finite": "stopped at a value that is not finite",
    "failed": "failed",
}
"""Where the first words of the status sentence are not short or not enough."""


@dataclass(frozen=True)
class Outcome:
    """One method's run: replicates, those that can predict, mean kept step, seconds, and how it ended in words."""

    method: str
    host: str | None
    replicates: int
    usable: int
    steps: float | None
    seconds: float | None
    status: str

    @property
    def available(self) -> bool:
        """Whether the method ran at all."""
        return self.replicates > 0


def outcome(method: str, fit: Fit, statuses: tuple[FitStatus, ...], host: str | None = None) -> Outcome:
    """What became of a fit; ``steps`` is the mean over the replicates that report it."""
    usable = [k for k, status in enumerate(statuses) if status.usable]
    learned = [fit.learned(k) for k in usable]
    steps = [values["steps"] for values in learned if "steps" in values]
    mean_steps = float(np.mean(steps)) if steps else None
    status = short_status(statuses)
    return Outcome(method, host, len(statuses), len(usable), mean_steps, float(fit.seconds), status)


def unavailable_outcome(method: str, reason: str) -> Outcome:
    """A method that could not be run, with the reason."""
    return Outcome(method, None, 0, 0, None, None, f"unavailable: {reason}")


def short_status(statuses: tuple[FitStatus, ...]) -> str:
    """Statuses and remarks with counts; the reason of a failure is kept.

    Example
    -------
    >>> early = FitStatus("stopped_early")
    >>> short_status((early, early, FitStatus("converged", remarks=("noise collapsed: share 0.01",))))
    '2 of 3 stopped early, 1 of 3 converged; noise collapsed in 1 of 3'
    """
    total = len(statuses)
    codes = Counter(_code_words(status) for status in statuses)
    remarks = Counter(_head(remark) for status in statuses for remark in dict.fromkeys(status.remarks))
    ends = ", ".join(_counted(words, count, total) for words, count in codes.most_common())
    return "; ".join([ends, *(_counted_in(words, count, total) for words, count in remarks.most_common())])


def _code_words(status: FitStatus) -> str:
    reason = f" ({status.detail})" if status.detail and not status.usable else ""
    return SHORT_STATUS.get(status.code, _head(STATUS_SENTENCES[status.code])) + reason


def _counted(words: str, count: int, total: int) -> str:
    if total == 1:
        return words
    return f"{_everyone(total)} {words}" if count == total else f"{count} of {total} {words}"


def _counted_in(words: str, count: int, total: int) -> str:
    if total == 1:
        return words
    return f"{words} in {_everyone(total)}" if count == total else f"{words} in {count} of {total}"


def _everyone(total: int) -> str:
    return "both" if total == 2 else f"all {total}"


def _head(remark: str) -> str:
    """The remark without its numbers: what stands before the first colon, comma, semicolon or bracket."""
    for mark in (":", ";", ",", " ("):
        remark = remark.partition(mark)[0]
    return remark.strip()
