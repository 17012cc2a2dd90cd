"""normal_gamma: its coefficients and energy (message_passing 5.3), and what it refuses."""

import numpy as np
import pytest

from inference.distributions import NormalGamma as Pair
from inference.errors import NoRule, SpecError
from inference.nodes.normal_gamma import NormalGamma
from inference.terms import full
from tests.support.inboxes import inbox

L = np.array([[2.0, 0.5], [0.5, 1.0]])
m = np.array([1.0, -1.0])
NODE = NormalGamma(mean=m, precision=L, shape=3.0, rate=2.0)


def of(joint):
    return inbox(NODE, joint=joint, w=joint, tau=joint.marginal_precision())


def test_coefficients_give_the_prior_back():
    """(L m, L, a0 - 1, b0 + m'Lm/2): the block adds coefficients and takes m'Lm/2 off again (5.3)."""
    linear, precision, log, rate = (full(c) for c in NODE.joint_message(frozenset({"w", "tau"}), of(NODE.distribution)))
    np.testing.assert_allclose(np.linalg.solve(precision, linear), m, rtol=1e-14)
    np.testing.assert_allclose([log + 1.0, rate - 0.5 * m @ linear], [3.0, 2.0], rtol=1e-14)


def test_energy_under_itself_is_its_entropy():
    np.testing.assert_allclose(
        full(NODE.average_energy(of(NODE.distribution))), NODE.distribution.entropy(), rtol=1e-13
    )


def test_energy_under_another_exceeds_its_entropy():
    other = Pair([0.5, 0.2], [[3.0, 0.0], [0.0, 2.0]], 5.0, 2.5)
    assert full(NODE.average_energy(of(other))) > other.entropy()


def test_density_is_that_of_the_distribution():
    w, tau = np.array([[0.3, -0.2], [1.5, 0.4]]), np.array([0.7, 2.0])
    np.testing.assert_allclose(NODE.log_density({"w": w, "tau": tau}), NODE.distribution.logpdf((w, tau)), rtol=1e-13)


def test_a_number_as_mean_without_dim_makes_a_scalar():
    call = NormalGamma.arguments(mean=0.5, precision=2.0, shape=1.0, rate=1.0)
    assert call["scalar"] and NormalGamma(**call).output_event("w", {}) == ()
    call = NormalGamma.arguments(mean=0.5, precision=2.0, shape=1.0, rate=1.0, dim=3)
    assert not call["scalar"] and NormalGamma(**call).output_event("w", {}) == (3,)


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        ({"mean": m, "precision": L, "shape": 0.0, "rate": 1.0}, "shape and rate above 0"),
        ({"mean": m, "precision": -L, "shape": 1.0, "rate": 1.0}, "not positive definite"),
    ],
)
def test_constants_that_make_no_prior(constants, said):
    with pytest.raises(SpecError, match=said):
        NormalGamma(**constants)


def test_what_is_lacking_is_named():
    with pytest.raises(SpecError, match="lacks shape, rate"):
        NormalGamma.arguments(mean=0.0, precision=1.0)


def test_the_pair_is_never_split():
    with pytest.raises(
        NoRule, match=r"normal_gamma has no rule toward w given a split of the pair.*joint of \(w, tau\)"
    ):
        NODE.message("w", of(NODE.distribution))
