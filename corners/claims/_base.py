"""The contract of a claim: what is said and where, a check that computes it on a problem, and a verdict."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims._problems import Problem
from corners.types import Array

HOLDS, CONDITIONAL, FAILS = "holds", "holds conditionally", "fails"
VERDICTS = (HOLDS, CONDITIONAL, FAILS)


@dataclass(frozen=True)
class Margin:
    """One number of a check beside the bound it is held against. NaN keeps no bound.

    Example
    -------
    >>> print(at_most("largest difference", 3e-12, 1e-9, "nats"))
    largest difference 3e-12 nats, at most 1e-09: yes
    """

    name: str
    value: float
    relation: str
    bound: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the value keeps the bound."""
        return self.value <= self.bound if self.relation == "at most" else self.value >= self.bound

    @property
    def distance(self) -> float:
        """How far the value lies on the right side of the bound; negative on the wrong one."""
        return self.bound - self.value if self.relation == "at most" else self.value - self.bound

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name} {self.value:.4g}{unit}, {self.relation} {self.bound:.4g}: {'yes' if self.met else 'NO'}"


@dataclass(frozen=True)
class Condition:
    """What a claim needs in order to hold, and how far the problem at hand is from it.

    ``text`` is the exact condition in words; ``here`` the margin of the problem: met where the condition is.
    """

    text: str
    here: Margin


@dataclass(frozen=True)
class Finding:
    """What a check found on one problem: the verdict, one sentence with its numbers, and the margins that decided it.

    Raises
    ------
    ValueError : a verdict that is none, or a conditional one without its condition.
    """

    verdict: str
    sentence: str
    margins: tuple[Margin, ...]
    condition: Condition | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}; got {self.verdict!r}")
        if self.verdict == CONDITIONAL and self.condition is None:
            raise ValueError("a conditional verdict names its condition")


class Claim(ABC):
    """A sentence of the theory that can be run.

    ``check`` computes every number anew from the problem, by two ways that share no formula wherever there are two. It
    knows the expected verdict as little as the problem's answer, so that broken mathematics turns the verdict.
    """

    name: ClassVar[str]
    statement: ClassVar[str]
    """The claim as somebody would say it, in one sentence."""
    formula: ClassVar[str]
    """The claim in one line of mathematics (plain text, Unicode symbols)."""
    claimed_in: ClassVar[str]
    """Where it is claimed, and where the theory judges it, such as "paper v1, theorem 1; theory 13.1"."""
    expected: ClassVar[str]
    """The verdict of the theory on the stated problem."""
    takes_data: ClassVar[bool] = True
    """Whether a user's own features and targets can take the place of the stated problem."""

    @classmethod
    @abstractmethod
    def example(cls) -> "Claim":
        """A member for the law suite."""

    @abstractmethod
    def problem(self) -> Problem:
        """The stated problem: small, drawn with a fixed seed, the same for everybody."""

    @abstractmethod
    def check(self, problem: Problem) -> Finding:
        """Compute the claim on a problem."""


def at_most(name: str, value: float, bound: float, unit: str = "") -> Margin:
    """The margin ``value ≤ bound``."""
    return Margin(name, float(value), "at most", float(bound), unit)


def at_least(name: str, value: float, bound: float, unit: str = "") -> Margin:
    """The margin ``value ≥ bound``."""
    return Margin(name, float(value), "at least", float(bound), unit)


def holds_if(margins: tuple[Margin, ...], sentence: str) -> Finding:
    """A claim that holds where every margin is met, and fails where one is not."""
    return Finding(HOLDS if all(margin.met for margin in margins) else FAILS, sentence, margins)


def fails_if(margins: tuple[Margin, ...], sentence: str) -> Finding:
    """A claim that fails where every margin of its counterexample is met, and is not refuted where one is not."""
    return Finding(FAILS if all(margin.met for margin in margins) else HOLDS, sentence, margins)


def conditional_if(margins: tuple[Margin, ...], sentence: str, condition: Condition) -> Finding:
    """A claim that holds under a condition: the margins show that it does under it, and does not without it."""
    return Finding(CONDITIONAL if all(margin.met for margin in margins) else FAILS, sentence, margins, condition)


def relative_difference(first: float | Array, second: float | Array) -> float:
    """``max |a - b| / (1 + |b|)``, infinite where a number is not finite.

    Example
    -------
    >>> relative_difference(1.0, 1.5)
    0.2
    """
    difference = float(np.max(np.abs(np.subtract(first, second)) / (1.0 + np.abs(second))))
    return difference if math.isfinite(difference) else math.inf
