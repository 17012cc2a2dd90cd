"""Margins and verdicts: which side of a bound a number is on, and what follows from it."""

import math

import numpy as np
import pytest

from corners.claims._base import (
    CONDITIONAL,
    FAILS,
    HOLDS,
    Condition,
    Finding,
    at_least,
    at_most,
    conditional_if,
    fails_if,
    holds_if,
    relative_difference,
)

KEPT, BROKEN = at_most("kept", 1.0, 2.0), at_least("broken", 1.0, 2.0, "nats")


def test_a_bound_is_kept_on_its_side_and_on_itself():
    assert at_most("a", 2.0, 2.0).met and at_least("a", 2.0, 2.0).met
    assert not at_most("a", 2.1, 2.0).met and not at_least("a", 1.9, 2.0).met


def test_what_is_not_a_number_keeps_no_bound():
    assert not at_most("a", math.nan, 1.0).met and not at_least("a", math.nan, -1.0).met
    assert not at_most("a", math.inf, 1.0).met


def test_distance_is_negative_on_the_wrong_side():
    assert KEPT.distance == 1.0 and BROKEN.distance == -1.0


def test_a_margin_in_words():
    assert str(BROKEN) == "broken 1 nats, at least 2: NO"


def test_verdicts_follow_from_the_margins():
    condition = Condition("when it rains", KEPT)
    assert holds_if((KEPT,), "s").verdict == HOLDS and holds_if((KEPT, BROKEN), "s").verdict == FAILS
    assert fails_if((KEPT,), "s").verdict == FAILS and fails_if((KEPT, BROKEN), "s").verdict == HOLDS
    assert conditional_if((KEPT,), "s", condition).verdict == CONDITIONAL
    assert conditional_if((KEPT, BROKEN), "s", condition).verdict == FAILS


def test_a_conditional_verdict_names_its_condition():
    with pytest.raises(ValueError, match="names its condition"):
        Finding(CONDITIONAL, "s", (KEPT,))
    with pytest.raises(ValueError, match="a verdict is one of"):
        Finding("maybe", "s", (KEPT,))


def test_a_relative_difference_of_what_is_not_finite_is_infinite():
    ones = np.ones(2)
    assert relative_difference(math.nan, 1.0) == math.inf
    assert relative_difference(np.array([1.0, math.inf]), ones) == math.inf
    assert relative_difference(np.array([1.0, 3.0]), ones) == 1.0
