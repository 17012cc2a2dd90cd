"""The gate: what a run must show before its draws may be called the truth (theory 10.1)."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from inference.errors import TruthError
from inference.types import Array, Float, Int

RHAT_BOUND = 1.01
ESS_BOUND = 400.0
BFMI_BOUND = 0.3
DIVERGENT_FRACTION_WITH_HYPERPRIORS = 0.001


class Remedies(NamedTuple):
    """What to do about each kind of failure; it depends on the ways a model can be sampled."""

    apart: str
    longer: str
    step: str
    energy: str


LAST_LAYER = Remedies(
    apart="the chains disagree: run more tuning steps (tune=...), or sample with form='whitened' or 'collapsed'",
    longer="run more draws (draws=...), or sample with form='whitened' or 'collapsed'",
    step="the step was too long somewhere: raise target_accept towards 0.99, or sample with form='collapsed'",
    energy="the energy explores too slowly: raise tune, or sample with form='collapsed'",
)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Convergence statistics of one run; ``names`` labels the P parameters they were computed for.

    Attributes
    ----------
    names : ``weights[h]`` for every weight (``function[m]`` for every stated input of a network), then
        ``log_prior_precision`` and ``log_noise_scale`` where sampled.
    ess_bulk, ess_tail, ess_mean, ess_sd : effective sample sizes, all chains together.
    rhat : rank-normalised split R-hat.
    bfmi : energy Bayesian fraction of missing information, one a chain.
    divergences : divergent transitions after tuning, one count a chain.
    """

    names: tuple[str, ...]
    ess_bulk: Float[Array, " P"]
    ess_tail: Float[Array, " P"]
    ess_mean: Float[Array, " P"]
    ess_sd: Float[Array, " P"]
    rhat: Float[Array, " P"]
    bfmi: Float[Array, " chains"]
    divergences: Int[Array, " chains"]


@dataclass(frozen=True)
class GateCheck:
    """One requirement: the worst value found, where, the bound, and what to do when it is missed."""

    name: str
    where: str
    value: float
    relation: str
    bound: float
    remedy: str = field(repr=False)

    @property
    def passed(self) -> bool:
        """Whether the value keeps the bound; a value that is not a number never does."""
        keeps = {"<": self.value < self.bound, ">": self.value > self.bound, "<=": self.value <= self.bound}
        return math.isfinite(self.value) and keeps[self.relation]

    def __str__(self) -> str:
        verdict = "ok" if self.passed else f"FAILED; {self.remedy}"
        return f"{self.name} of {self.where} is {self.value:.4g}, required {self.relation} {self.bound:g}: {verdict}"


@dataclass(frozen=True)
class GateReport:
    """Every check of one run. ``passed`` is the certificate; ``require()`` turns a failure into an error.

    Example
    -------
    >>> check = GateCheck("R-hat", "weights[0]", 1.2, "<", 1.01, "run longer chains")
    >>> report = GateReport((check,))
    >>> report.passed, str(report.failures[0])
    (False, 'R-hat of weights[0] is 1.2, required < 1.01: FAILED; run longer chains')
    """

    checks: tuple[GateCheck, ...]

    @property
    def passed(self) -> bool:
        """All checks passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[GateCheck, ...]:
        """The checks that failed, in order."""
        return tuple(check for check in self.checks if not check.passed)

    def require(self) -> None:
        """Do nothing if the run passed, else raise.

        Raises
        ------
        TruthError : names every failed check with its number and what to do about it.
        """
        if not self.passed:
            reasons = "; ".join(str(check) for check in self.failures)
            raise TruthError(f"this run failed its gate and may not be used as ground truth: {reasons}")

    def as_dicts(self) -> list[dict[str, Any]]:
        """The checks ready for JSON; a value that is not finite becomes a string."""
        rows = [asdict(check) | {"passed": check.passed} for check in self.checks]
        return [row | {"value": row["value"] if math.isfinite(row["value"]) else str(row["value"])} for row in rows]

    def __str__(self) -> str:
        return "\n".join(str(check) for check in self.checks)


def judge(diagnostics: Diagnostics, *, draws: int, hyperpriors: bool, remedies: Remedies = LAST_LAYER) -> GateReport:
    """Hold the statistics of a run of ``draws`` draws (all chains) against the bounds of theory 10.1."""
    names = diagnostics.names
    fraction = float(diagnostics.divergences.sum()) / draws
    allowed = DIVERGENT_FRACTION_WITH_HYPERPRIORS if hyperpriors else 0.0
    chains = tuple(f"chain {k}" for k in range(len(diagnostics.bfmi)))
    return GateReport(
        (
            _worst("R-hat", diagnostics.rhat, names, "<", RHAT_BOUND, remedies.apart),
            _worst("bulk ESS", diagnostics.ess_bulk, names, ">", ESS_BOUND, remedies.longer),
            _worst("tail ESS", diagnostics.ess_tail, names, ">", ESS_BOUND, remedies.longer),
            GateCheck("divergent fraction", "all draws", fraction, "<=", allowed, remedies.step),
            _worst("E-BFMI", diagnostics.bfmi, chains, ">", BFMI_BOUND, remedies.energy),
        )
    )


def _worst(name: str, values: Array, names: tuple[str, ...], relation: str, bound: float, remedy: str) -> GateCheck:
    # A value that is not a finite number (a stuck chain has no variance) is worse than any number.
    badness = np.where(np.isfinite(values), values if relation == "<" else -values, np.inf)
    index = int(np.argmax(badness))
    return GateCheck(name, names[index], float(values[index]), relation, bound, remedy)
