"""MvNormal: three forms, one distribution; dense oracles, quadrature, golden entropies, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.distributions import MvNormal, Normal
from inference.errors import SpecError
from tests.support.golden import golden


def spread(seed, *batch, size):
    """Random symmetric positive definite matrices with condition numbers near 100."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((*batch, size, size)))[0]
    values = np.exp(rng.uniform(-2.3, 2.3, (*batch, size)))
    matrix = np.einsum("...ij,...j,...kj->...ik", rotation, values, rotation)
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_forms_agree_with_each_other_and_with_scipy(seed, size):
    rng = np.random.default_rng(seed)
    mean, cov, x = rng.standard_normal(size), spread(seed, size=size), rng.standard_normal(size)
    precision = np.linalg.inv(cov)
    precision = 0.5 * (precision + precision.T)
    truth = stats.multivariate_normal(mean, cov)
    for ours in (
        MvNormal(mean, cov),
        MvNormal(mean, precision=precision),
        MvNormal.from_natural(precision @ mean, precision),
    ):
        np.testing.assert_allclose(ours.mean(), mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ours.logpdf(x), truth.logpdf(x), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.entropy(), truth.entropy(), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(ours.covariance, cov, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ours.precision, precision, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ours.variance, np.diag(cov), rtol=1e-10)
        np.testing.assert_allclose(ours.log_det_covariance, np.linalg.slogdet(cov)[1], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ours.colouring @ ours.colouring.T, cov, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ours.whitening.T @ ours.whitening, precision, rtol=1e-9, atol=1e-10)
        assert not ours.is_diagonal


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_variances_alone_are_a_diagonal_covariance(seed, size):
    rng = np.random.default_rng(seed)
    mean, variances, x = rng.standard_normal((2, size)), rng.uniform(0.1, 5.0, size), rng.standard_normal((2, size))
    ours, dense = MvNormal(mean, diag=variances), MvNormal(mean, np.diag(variances))
    assert ours.is_diagonal
    for name in ("variance", "covariance", "precision", "log_det_covariance", "colouring", "whitening"):
        np.testing.assert_allclose(getattr(ours, name), getattr(dense, name), rtol=1e-12, atol=1e-13, err_msg=name)
    np.testing.assert_allclose(ours.logpdf(x), dense.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(ours.logpdf(x), Normal(mean, variances).logpdf(x).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(ours.entropy(), dense.entropy(), rtol=1e-12, atol=1e-13)


def test_one_dimension_is_a_normal():
    ours, normal = MvNormal([0.7], [[2.3]]), Normal(0.7, 2.3)
    np.testing.assert_allclose(ours.logpdf([1.9]), normal.logpdf(1.9), rtol=1e-14)
    np.testing.assert_allclose(ours.entropy(), normal.entropy(), rtol=1e-14)
    np.testing.assert_allclose(ours.quantile([0.1, 0.8])[:, 0], normal.quantile([0.1, 0.8]), rtol=1e-14)
    np.testing.assert_allclose(ours.cdf([1.9])[0], normal.cdf(1.9), rtol=1e-14)


def test_the_density_against_quadrature():
    u, step = np.linspace(-9.0, 9.0, 241, retstep=True)
    grid = np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1)
    for one in MvNormal.example():
        x = one.mean() + one.std() * grid
        log_density = one.logpdf(x)
        mass = np.exp(log_density) * step**2 * one.std().prod()
        np.testing.assert_allclose(mass.sum(), 1.0, rtol=1e-12)
        np.testing.assert_allclose(one.mean(), np.einsum("ij,ijk->k", mass, x), rtol=1e-11)
        gap = x - one.mean()
        np.testing.assert_allclose(one.covariance, np.einsum("ij,ijk,ijl->kl", mass, gap, gap), rtol=1e-11)
        np.testing.assert_allclose(one.entropy(), -(mass * log_density).sum(), rtol=1e-11)


@pytest.mark.parametrize("form", ["cov", "precision"])
def test_a_sample_has_the_covariance(form):
    one = MvNormal([1.0, -2.0], **{form: [[1.9, 0.7], [0.7, 0.6]]})
    gap = one.sample(40_000, np.random.default_rng(3)) - one.mean()
    products = np.einsum("ni,nj->nij", gap, gap)
    error = products.std(axis=0) / np.sqrt(len(gap))
    assert (np.abs(products.mean(axis=0) - one.covariance) < 5.0 * error).all()


@pytest.mark.parametrize("case", golden("mp_rules")["softdot"])
def test_golden_joint_entropy(case):
    expected = case["expected"]
    joint = MvNormal(expected["joint_wz_mean"], expected["joint_wz_cov"])
    np.testing.assert_allclose(joint.entropy(), expected["joint_wz_entropy"], rtol=1e-12)


def test_a_batch_of_large_ones_is_computed_once():
    precision = spread(1, 7, size=65)
    ours = MvNormal.from_natural(np.ones((7, 65)), precision)
    assert ours.covariance is ours.covariance and ours.log_det_covariance is ours.log_det_covariance
    np.testing.assert_allclose(precision @ ours.covariance, np.broadcast_to(np.eye(65), (7, 65, 65)), atol=1e-11)


def test_one_spread_for_a_batch_of_means():
    ours = MvNormal(np.zeros((3, 4, 2)), [[1.0, 0.2], [0.2, 2.0]])
    assert ours.batch_shape == (3, 4) and ours.covariance.shape == (3, 4, 2, 2)
    assert ours.entropy().shape == (3, 4)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: MvNormal([1.0]), "exactly one of cov, precision and diag; got none of them"),
        (lambda: MvNormal([1.0], [[1.0]], diag=[1.0]), "got cov and diag"),
        (lambda: MvNormal(1.0, [[1.0]]), r"mean must have shape \(..., d\) with d >= 1 but got \(\)"),
        (lambda: MvNormal(np.zeros(0), np.zeros((0, 0))), "with d >= 1"),
        (lambda: MvNormal([1.0, 2.0], np.eye(3)), r"cov must have shape \(..., 2, 2\) but got \(3, 3\)"),
        (lambda: MvNormal([1.0, 2.0], [1.0, 2.0]), r"cov must have shape \(..., 2, 2\) but got \(2,\)"),
        (lambda: MvNormal([1.0, 2.0], diag=[1.0]), r"diag must have shape \(..., 2\), as mean has, but got \(1,\)"),
        (lambda: MvNormal([1.0, 2.0], diag=[1.0, 0.0]), r"diag must be positive and finite but diag\[1\] is 0.0"),
        (lambda: MvNormal([1.0, 2.0], [[1.0, 0.5], [0.4, 1.0]]), "cov must be symmetric but is not$"),
        (lambda: MvNormal([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]]), "not: its smallest eigenvalue is -1"),
        (lambda: MvNormal([1.0, 2.0], [[np.nan, 0.0], [0.0, 1.0]]), r"cov must be finite but cov\[0, 0\] is nan"),
        (lambda: MvNormal.from_natural([0.0, 0.0], np.zeros((2, 2))), "precision must be positive definite"),
    ],
)
def test_refusals(build, words):
    with pytest.raises(SpecError, match=words):
        build()


def test_the_first_bad_matrix_of_a_batch_is_named():
    matrices = np.broadcast_to(np.eye(2), (2, 3, 2, 2)).copy()
    matrices[1, 0] = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(SpecError, match=r"precision must be positive definite but is not at batch index \(1, 0\)"):
        MvNormal.from_natural(np.zeros((2, 3, 2)), matrices)


def test_points_of_the_wrong_length_are_refused():
    with pytest.raises(SpecError, match=r"points must have shape \(\.\.\., 2\)"):
        MvNormal.example().logpdf(np.zeros((2, 1)))
