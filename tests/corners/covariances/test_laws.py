"""The covariance laws over every registered family."""

import math
from dataclasses import fields, replace

import pytest

from corners.covariances import COVARIANCES
from corners.errors import SpecError
from tests.support.laws import covariance_laws as laws
from tests.support.problems import normal


@pytest.fixture(params=COVARIANCES.names())
def family(request):
    member = COVARIANCES.get(request.param).example()
    assert member.name == request.param
    return member


@pytest.mark.parametrize("jitter", [0.0, laws.JITTER])
def test_forms_are_those_of_the_matrix(family, jitter):
    laws.check_forms_are_those_of_the_matrix(family, jitter)


def test_positive_semi_definite(family):
    laws.check_positive_semi_definite(family)


def test_jitter_is_in_variance_and_in_overlap(family):
    laws.check_jitter_is_in_variance_and_in_overlap(family)


def test_gradients(family):
    laws.check_gradients(family)


def test_gradients_of_the_binding(family):
    laws.check_gradients_of_the_binding(family)


def test_start(family):
    laws.check_start(family)


def test_bounds_are_of_the_variance(family):
    laws.check_bounds_are_of_the_variance(family)


def test_float32_stays(family):
    laws.check_float32_stays(family)


def test_bound_member_minimises_the_elbo(family):
    laws.check_bound_member_minimises_the_elbo(family)


def test_select_and_detach(family):
    laws.check_select_and_detach(family)


@pytest.mark.parametrize("jitter", [-1e-9, math.inf, math.nan])
def test_a_jitter_that_is_no_variance_is_refused(family, jitter):
    if not family.build(laws.moved(family), normal(2, laws.COUNT, laws.SIZE), 0.0).matrix().any():
        return  # jitter does not touch Σ = 0, and the cell refuses the number
    with pytest.raises(SpecError, match="jitter is a variance"):
        family.build(laws.moved(family), normal(2, laws.COUNT, laws.SIZE), jitter)


@pytest.mark.parametrize("start", [0.0, -1.0, math.inf, math.nan])
def test_a_start_that_is_no_spread_is_refused_when_the_family_is_made(family, start):
    """Not as a replicate that fails at step 0."""
    for field in (field.name for field in fields(family) if field.name.startswith("initial_")):
        with pytest.raises(SpecError, match=field):
            replace(family, **{field: start})
