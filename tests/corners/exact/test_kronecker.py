"""Matrix-normal beliefs against the formed Kronecker product."""

import numpy as np
import pytest

from corners.errors import SpecError
from corners.exact import kronecker_output_covariance, kronecker_prior_term
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases


@pytest.mark.parametrize("case", golden_cases("kron"))
def test_golden_prior_term_and_output_covariance(case):
    inputs = {name: as_array(value) for name, value in case["inputs"].items()}
    value = kronecker_prior_term(inputs["mu"], inputs["Sigma_out"], inputs["Sigma_in"], float(inputs["alpha"]))
    assert_golden("kron", value, case["expected"]["prior_term"])
    output = kronecker_output_covariance(inputs["psi"][None], inputs["Sigma_out"], inputs["Sigma_in"])
    assert_golden("kron", output[0], case["expected"]["output_cov"])


@pytest.mark.parametrize(("outputs", "width"), [(1, 3), (2, 3), (4, 2)])
def test_it_is_the_formed_product(outputs, width):
    generator = np.random.default_rng([outputs, width])
    roots = [generator.standard_normal((size, size)) for size in (outputs, width)]
    outer, inner = (root @ root.T for root in roots)
    mean = generator.standard_normal((outputs, width))
    expected = oracles.prior_term(mean.ravel(), np.kron(outer, inner), 1.7)
    assert kronecker_prior_term(mean, outer, inner, 1.7) == pytest.approx(expected, rel=1e-11)
    features = generator.standard_normal((3, width))
    spread = np.stack([np.kron(np.eye(outputs), row) for row in features])
    dense = spread @ np.kron(outer, inner) @ spread.transpose(0, 2, 1)
    np.testing.assert_allclose(kronecker_output_covariance(features, outer, inner), dense, rtol=1e-10, atol=1e-12)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(SpecError, match=r"got \(1, 2\), \(1, 1\) and \(1, 1\)"):
        kronecker_prior_term(np.zeros((1, 2)), np.eye(1), np.eye(1), 1.0)
