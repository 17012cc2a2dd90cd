"""beta: its constants, and its rules where they can be written down."""

import numpy as np
import pytest
from scipy import stats

from inference.distributions import Beta as BetaDistribution
from inference.errors import SpecError
from inference.nodes.beta import Beta
from inference.terms import full
from tests.support.inboxes import inbox

NODE = Beta(a=2.5, b=0.8)


def test_density_is_scipys():
    x = np.array([0.01, 0.4, 0.99])
    np.testing.assert_allclose(NODE.log_density({"x": x}), stats.beta(2.5, 0.8).logpdf(x), rtol=1e-13)


def test_message_is_its_exponents_whatever_x_is():
    log, log1m = NODE.message("x", inbox(NODE, x=BetaDistribution(7.0, 9.0)))
    np.testing.assert_allclose([full(log), full(log1m)], [1.5, -0.2], rtol=1e-14)


def test_energy_under_itself_is_its_entropy():
    energy = NODE.average_energy(inbox(NODE, x=BetaDistribution(2.5, 0.8)))
    np.testing.assert_allclose(full(energy), stats.beta(2.5, 0.8).entropy(), rtol=1e-12)


def test_energy_at_a_known_value_is_minus_the_log_density():
    energy = NODE.average_energy(inbox(NODE, x=np.array(0.3)))
    np.testing.assert_allclose(full(energy), -stats.beta(2.5, 0.8).logpdf(0.3), rtol=1e-13)


@pytest.mark.parametrize(
    ("a", "b", "named"), [(0.0, 1.0, "a"), (1.0, -2.0, "b"), (np.inf, 1.0, "a"), (1.0, np.nan, "b")]
)
def test_constants_that_make_no_beta(a, b, named):
    with pytest.raises(SpecError, match=f"one number above 0 as {named}, not"):
        Beta(a=a, b=b)


def test_constants_by_place():
    assert Beta.arguments(1.0, 2.0) == {"a": 1.0, "b": 2.0}
    with pytest.raises(SpecError, match="2 arguments by place"):
        Beta.arguments(1.0, 2.0, 3.0)
