"""What every claim must satisfy, on its stated problem and on a table of a user's."""

import numpy as np

from corners.claims._base import CONDITIONAL, VERDICTS, Claim, Finding
from corners.claims._problems import Problem


def check_says_what_it_is(claim: Claim) -> None:
    """Statement, formula and source are one line each, and the verdict expected is one of the three."""
    for text in (claim.statement, claim.formula, claim.claimed_in):
        assert text.strip() == text
        assert text
        assert "\n" not in text
    assert claim.statement.endswith(".")
    assert "theory" in claim.claimed_in
    assert claim.expected in VERDICTS


def check_verdict_is_that_of_the_theory(claim: Claim, finding: Finding) -> None:
    """On the stated problem the check finds what the theory says, by margins that name their bounds."""
    assert finding.verdict == claim.expected, "\n".join(map(str, finding.margins))
    assert finding.margins
    assert all(np.isfinite(margin.bound) for margin in finding.margins)
    names = [margin.name for margin in finding.margins]
    assert len(set(names)) == len(names)
    assert finding.sentence
    assert "\n" not in finding.sentence
    assert (finding.condition is not None) or finding.verdict != CONDITIONAL


def check_problem_is_the_same_for_everybody(claim: Claim) -> None:
    """Two calls state one problem, and it cannot be changed by who has it."""
    first, second = claim.problem(), claim.problem()
    np.testing.assert_array_equal(first.features, second.features)
    np.testing.assert_array_equal(first.targets, second.targets)
    assert (first.prior_precision, first.noise_scale, first.seed) == (
        second.prior_precision,
        second.noise_scale,
        second.seed,
    )
    assert not first.features.flags.writeable


def check_finding_is_reproducible(claim: Claim, finding: Finding) -> None:
    """A second check finds the same numbers."""
    again = claim.check(claim.problem())
    assert again.verdict == finding.verdict
    assert [margin.value for margin in again.margins] == [margin.value for margin in finding.margins]


def check_takes_a_users_data(claim: Claim, problem: Problem) -> None:
    """A user's features give a finding; an identity or inequality that always holds, holds there too."""
    finding = claim.check(problem)
    assert finding.verdict in VERDICTS
    if claim.expected == "holds":
        assert finding.verdict == "holds", "\n".join(map(str, finding.margins))
