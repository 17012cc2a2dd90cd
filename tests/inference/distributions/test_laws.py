"""The laws of distributions, over every family that the package exports."""

import numpy as np
import pytest

import inference.distributions as package
from inference.distributions import Distribution
from tests.support.laws import distribution_laws as laws

FAMILIES = [
    value
    for value in vars(package).values()
    if isinstance(value, type) and issubclass(value, Distribution) and value is not Distribution
]
VECTORS = {"MvNormal", "NormalGamma"}
CHECKS = [getattr(laws, name) for name in sorted(dir(laws)) if name.startswith("check_")]
SCALAR_CHECKS = {"check_density_against_quadrature", "check_cdf_against_quadrature"}
CASES = [
    pytest.param(check, family, id=f"{family.__name__}-{check.__name__.removeprefix('check_')}")
    for family in FAMILIES
    for check in CHECKS
    if not (family.__name__ in VECTORS and check.__name__ in SCALAR_CHECKS)
]


@pytest.mark.parametrize(("check", "family"), CASES)
def test_laws(check, family):
    check(family.example())


def test_every_family_is_exported_once():
    assert sorted(family.__name__ for family in FAMILIES) == sorted(set(package.__all__) - {"Distribution", "kl"})
    assert len(FAMILIES) == 11


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_differ_from_entry_to_entry(family):
    first, second = family.example()[0], family.example()[1]
    assert (first.mean() != second.mean()).all()


def test_a_point_has_as_many_nodes_as_it_needs():
    x, mass = laws.nodes(package.Normal(0.3, 2.0))
    assert np.isclose((mass * (x - 0.3) ** 4).sum(), 12.0, rtol=1e-10)
