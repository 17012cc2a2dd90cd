"""The routing laws over every registered routing."""

import pytest

from corners.routings import ROUTINGS
from tests.support.laws import routing_laws as laws


@pytest.fixture(params=ROUTINGS.names())
def routing(request):
    member = ROUTINGS.get(request.param).example()
    assert member.name == request.param
    return member


def test_start(routing):
    laws.check_start(routing)


def test_bounds_include_the_start(routing):
    laws.check_bounds_include_the_start(routing)


def test_bounds_follow_the_targets_unit(routing):
    laws.check_bounds_follow_the_targets_unit(routing)


def test_what_is_bound(routing):
    laws.check_what_is_bound(routing)


def test_gradients_flow(routing):
    laws.check_gradients_flow(routing)


def test_nothing_is_detached(routing):
    laws.check_nothing_is_detached(routing)


def test_replicates_are_apart(routing):
    laws.check_replicates_are_apart(routing)
