"""The claim laws over every registered claim."""

import pytest

import corners
from corners.claims import CLAIMS, problem_of
from tests.support.laws import claim_laws as laws

pytestmark = pytest.mark.unchecked


@pytest.fixture(params=CLAIMS.names(), scope="module")
def claim(request):
    member = CLAIMS.get(request.param).example()
    assert member.name == request.param
    return member


@pytest.fixture(scope="module")
def finding(claim):
    return claim.check(claim.problem())


@pytest.fixture(scope="module")
def table():
    return problem_of(corners.load("diabetes"), units=12)


def test_says_what_it_is(claim):
    laws.check_says_what_it_is(claim)


def test_verdict_is_that_of_the_theory(claim, finding):
    laws.check_verdict_is_that_of_the_theory(claim, finding)


def test_problem_is_the_same_for_everybody(claim):
    laws.check_problem_is_the_same_for_everybody(claim)


def test_finding_is_reproducible(claim, finding):
    laws.check_finding_is_reproducible(claim, finding)


def test_takes_a_users_data(claim, table):
    if claim.takes_data:
        laws.check_takes_a_users_data(claim, table)
