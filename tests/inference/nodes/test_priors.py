"""prior: a distribution as a factor; its energy under itself is its entropy."""

import numpy as np
import pytest

from inference.distributions import Beta, Gamma, MvNormal, Normal, PointMass
from inference.errors import SpecError
from inference.nodes.priors import Prior
from inference.terms import full
from tests.support.inboxes import inbox

COV = np.array([[0.8, 0.2], [0.2, 0.5]])
PRIORS = [
    Normal(0.3, 0.7),
    MvNormal([0.3, 1.0], cov=COV),
    MvNormal([0.3, 1.0], diag=[0.8, 0.5]),
    Gamma(2.0, 3.0),
    Beta(2.0, 0.5),
]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_energy_under_itself_is_its_entropy(prior):
    node = Prior(prior)
    np.testing.assert_allclose(full(node.average_energy(inbox(node, x=prior))), prior.entropy(), rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_energy_at_a_point_is_minus_the_log_density(prior):
    node, point = Prior(prior), np.full(prior.event_shape, 0.4)
    np.testing.assert_allclose(full(node.average_energy(inbox(node, x=point))), -prior.logpdf(point), rtol=1e-12)
    at_point = (
        inbox(node, x=PointMass(point, event_ndim=point.ndim)) if not isinstance(prior, Beta) else inbox(node, x=point)
    )
    np.testing.assert_allclose(full(node.average_energy(at_point)), -prior.logpdf(point), rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "kind", "event"),
    list(zip(PRIORS, ["real", "real", "real", "positive", "probability"], [(), (2,), (2,), (), ()], strict=True)),
)
def test_type_and_event_are_those_of_the_distribution(prior, kind, event):
    node = Prior(prior)
    assert node.port_types() == {"x": kind} and node.output_event("x", {}) == event
    assert node.forward("x", inbox(node)) is prior


def test_a_family_that_is_not_conjugate_is_refused():
    with pytest.raises(SpecError, match="prior takes one of Normal, MvNormal, Gamma, Beta, not PointMass"):
        Prior(PointMass(1.0))
