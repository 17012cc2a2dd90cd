"""Normal: scipy's values, natural parameters and the golden entropies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.distributions import Normal
from inference.errors import SpecError
from tests.support.golden import golden

MEANS, VARIANCES = st.floats(-1e3, 1e3), st.floats(1e-4, 1e4)


@given(MEANS, VARIANCES, st.floats(-5, 5))
def test_against_scipy(mean, var, z):
    ours, theirs = Normal(mean, var), stats.norm(mean, np.sqrt(var))
    x = mean + z * np.sqrt(var)
    np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-9)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-12, atol=1e-12)


@given(MEANS, VARIANCES)
def test_natural_parameters_go_there_and_back(mean, var):
    normal = Normal(mean, var)
    again = Normal.from_natural(normal.mean() * normal.precision, normal.precision)
    np.testing.assert_allclose(again.mean(), mean, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(again.var(), var, rtol=1e-14)


def test_a_flat_message_is_no_distribution():
    with pytest.raises(SpecError, match="Normal: precision must be positive"):
        Normal.from_natural(0.0, 0.0)


@pytest.mark.parametrize("case", golden("mp_rules")["normal"])
def test_golden_entropy(case):
    inputs = case["inputs"]
    ours = Normal(inputs["mean_y"], inputs["var_y"]).entropy()
    np.testing.assert_allclose(ours, case["expected"]["entropy_y"], rtol=1e-12)
