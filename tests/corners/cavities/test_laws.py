"""The cavity laws over every registered cavity."""

import pytest

from corners.cavities import CAVITIES
from tests.support.laws import cavity_laws as laws


@pytest.fixture(params=CAVITIES.names())
def cavity(request):
    member = CAVITIES.get(request.param).example()
    assert member.name == request.param
    return member


def test_data_term_is_the_sum_over_plates(cavity):
    laws.check_data_term_is_the_sum_over_plates(cavity)


def test_variances_are_variances(cavity):
    laws.check_variances_are_variances(cavity)


def test_total_is_invariant_to_order(cavity):
    laws.check_total_is_invariant_to_order(cavity)


def test_units(cavity):
    laws.check_units(cavity)


def test_replicates_are_apart(cavity):
    laws.check_replicates_are_apart(cavity)


def test_gradients(cavity):
    laws.check_gradients(cavity)


def test_needs_sites_is_true(cavity):
    laws.check_needs_sites_is_true(cavity)


def test_last_row_has_seen_its_predecessors(cavity):
    laws.check_last_row_has_seen_its_predecessors(cavity)
