"""Special functions of the probit heads against many digits, and their derivatives of every order that is used."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from corners.likelihoods._special import (
    inverse_mills_excess,
    inverse_mills_ratio,
    log_ndtr,
    log_ndtr_difference,
)
from tests.support.golden import assert_golden, golden, golden_cases
from tests.support.problems import real

DIGITS = 80
POINTS = [
    -1000.0,
    -300.0,
    -60.5,
    -37.2,
    -20.0,
    -10.01,
    -9.99,
    -7.3,
    -5.01,
    -4.99,
    -4.58,
    -1.7,
    -1e-9,
    0.0,
    0.3,
    1.2,
    5.0,
]


def upper_tail(x: mpmath.mpf) -> mpmath.mpf:
    """``1 - Φ(x)``."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def truth_of_point(x: float) -> tuple[mpmath.mpf, ...]:
    """``log Φ``, ``ζ``, ``ζ + x`` and ``ζ'`` in many digits."""
    exact = mpmath.mpf(x)
    value = mpmath.log1p(-upper_tail(exact)) if x > 0.0 else mpmath.log(upper_tail(-exact))
    ratio = mpmath.npdf(exact) / mpmath.exp(value)
    return value, ratio, ratio + exact, -ratio * (ratio + exact)


def truth_of_difference(lower: float, upper: float) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """``log(Φ(upper) - Φ(lower))`` and its slopes in the two ends."""
    a, b = mpmath.mpf(lower), mpmath.mpf(upper)
    if a <= 0 < b:
        log_mass = mpmath.log1p(-upper_tail(-a) - upper_tail(b))
    else:
        near, far = (a, b) if a > 0 else (-b, -a)
        log_mass = mpmath.log(upper_tail(near) - upper_tail(far))
    mass = mpmath.exp(log_mass)
    return log_mass, -mpmath.npdf(a) / mass, mpmath.npdf(b) / mass


def relative_error(actual: Tensor, expected: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(float(actual.detach())) / expected - 1))


@pytest.mark.parametrize("x", POINTS)
def test_point_functions_have_their_digits(x):
    at = real(x).requires_grad_()
    value = log_ndtr(at)
    (slope,) = torch.autograd.grad(value.sum(), at, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    with mpmath.workdps(DIGITS):
        expected = truth_of_point(x)
        for actual, true in zip((value, slope, inverse_mills_excess(at), curvature), expected, strict=True):
            assert relative_error(actual, true) < 2e-13


@pytest.mark.parametrize("x", [12.0, 30.0, 37.0])
def test_far_above_zero_only_the_argument_is_rounded(x):
    """Φ is 1 and its logarithm is -(1 - Φ), whose own condition number is x²."""
    with mpmath.workdps(DIGITS):
        value, ratio, _, _ = truth_of_point(x)
        assert relative_error(log_ndtr(real(x)), value) < 1e-15 * x**2
        assert relative_error(inverse_mills_ratio(real(x)), ratio) < 1e-15 * x**2


def random_intervals(count: int) -> list[tuple[float, float]]:
    """Lower ends and widths over the range the accuracy is stated for (theory 6.2)."""
    generator = np.random.default_rng(11)
    lowers = generator.uniform(-40.0, 38.0, count)
    widths = 10.0 ** generator.uniform(-12.0, np.log10(30.0), count)
    return [(float(a), float(a + w)) for a, w in zip(lowers, widths, strict=True)]


@pytest.fixture(scope="module")
def interval_errors() -> np.ndarray:
    """Relative errors of value and both slopes; absolute ones where a slope underflows."""
    errors = []
    for lower, upper in random_intervals(150):
        ends = real(lower).requires_grad_(), real(upper).requires_grad_()
        value = log_ndtr_difference(*ends)
        slopes = torch.autograd.grad(value.sum(), ends)
        with mpmath.workdps(DIGITS):
            expected = truth_of_difference(lower, upper)
            row = [relative_error(value, expected[0])]
            for slope, true in zip(slopes, expected[1:], strict=True):
                row.append(relative_error(slope, true) if abs(true) > 1e-290 else float(abs(slope)))
        errors.append(row)
    return np.array(errors)


def test_difference_keeps_its_digits(interval_errors):
    assert interval_errors[:, 0].max() < 1e-13


def test_slopes_of_the_difference_keep_their_digits(interval_errors):
    assert interval_errors[:, 1:].max() < 2e-12


@pytest.mark.parametrize("case", golden_cases("special_functions", "logPhi"))
def test_golden_log_phi(case):
    at = real(case["inputs"]["x"]).requires_grad_()
    value = log_ndtr(at)
    (slope,) = torch.autograd.grad(value.sum(), at)
    assert_golden("special_functions", value.detach(), [case["expected"]["value"]])
    assert_golden("special_functions", slope, [case["expected"]["grad"]])


@pytest.mark.parametrize("case", golden_cases("special_functions", "logdiff"))
def test_golden_difference(case):
    ends = [real(float(case["inputs"][name])).requires_grad_() for name in ("a", "b")]
    value = log_ndtr_difference(*ends)
    slopes = torch.autograd.grad(value.sum(), ends)
    assert_golden("special_functions", value.detach(), [case["expected"]["value"]])
    for name, slope in zip(("grad_a", "grad_b"), slopes, strict=True):
        assert_golden("special_functions", slope, [case["expected"][name]], label=name)


def test_every_golden_case_is_run():
    assert {case["inputs"]["fn"] for case in golden("special_functions")["cases"]} == {"log_ndtr", "log_ndtr_diff"}


BRANCHES = {
    "narrow": (-1.3, -1.2999),
    "tail": (-7.0, -3.0),
    "far tail": (-31.0, -30.6),
    "mirrored": (2.0, 4.5),
    "centre": (-0.8, 1.9),
    "no lower end": (-math.inf, -4.0),
    "no upper end": (1.5, math.inf),
}


@pytest.mark.parametrize("ends", BRANCHES.values(), ids=BRANCHES)
def test_derivatives_of_every_branch_agree_with_finite_differences(ends):
    """First and second order; an infinite end is held."""
    lower, upper = (real(each) for each in ends)
    free = [each.clone().requires_grad_() for each in (lower, upper) if each.isfinite()]

    def function(*values: Tensor) -> Tensor:
        left = iter(values)
        return log_ndtr_difference(*(next(left) if each.isfinite() else each for each in (lower, upper)))

    step = 1e-7 if ends == BRANCHES["narrow"] else 1e-5
    assert torch.autograd.gradcheck(function, free, eps=step, rtol=1e-4)
    assert torch.autograd.gradgradcheck(function, free, eps=step, rtol=1e-3)


def test_third_derivative_of_log_phi():
    assert torch.autograd.gradgradcheck(inverse_mills_ratio, real(-11.0, -6.0, -0.4, 2.0).requires_grad_())


def test_no_branch_spoils_another():
    """All branches in one tensor: finite slopes, the same as alone."""
    lower, upper = (torch.stack([real(each[i])[0] for each in BRANCHES.values()]).requires_grad_() for i in (0, 1))
    together = torch.autograd.grad(log_ndtr_difference(lower, upper).sum(), (lower, upper))
    for k, (a, b) in enumerate(BRANCHES.values()):
        ends = real(a).requires_grad_(), real(b).requires_grad_()
        alone = torch.autograd.grad(log_ndtr_difference(*ends).sum(), ends)
        for one, other in zip(together, alone, strict=True):
            assert torch.equal(one[k : k + 1], other) and bool(one[k].isfinite())


def test_a_width_known_better_than_the_ends_is_used():
    """At 1e4 a gap of 1e-9 is lost to the rounding of its ends (1.8e-12 each); given, it is not."""
    centre, width = 1e4, 1e-9
    ends = real(centre - 0.5 * width), real(centre + 0.5 * width)
    with mpmath.workdps(60):
        c, w = mpmath.mpf(centre), mpmath.mpf(width)
        expected = -(c**2) / 2 - mpmath.log(2 * mpmath.pi) / 2 + mpmath.log(w) + (c * w) ** 2 / 24
    assert abs(float(log_ndtr_difference(*ends, real(width))) - float(expected)) < 1e-7
    known = [each.clone().requires_grad_() for each in (*ends, real(width))]
    *_, slope = torch.autograd.grad(log_ndtr_difference(*known).sum(), known)
    np.testing.assert_allclose(float(slope) * width, 1.0, rtol=1e-9)


def test_an_empty_interval_has_no_mass_and_the_whole_line_all_of_it():
    assert float(log_ndtr_difference(real(0.3), real(0.3))) == -math.inf
    assert float(log_ndtr_difference(real(-math.inf), real(math.inf))) == 0.0
    assert bool(log_ndtr_difference(real(0.4), real(0.3)).isnan())


@given(st.floats(-1e4, 1e4), st.floats(1e-6, 100.0))
def test_difference_mirrors_and_stays_below_zero(lower, width):
    upper = lower + width
    one = log_ndtr_difference(real(lower), real(upper))
    other = log_ndtr_difference(real(-upper), real(-lower))
    assert torch.equal(one, other) and bool(one.isfinite()) and float(one) <= 0.0


@given(st.floats(-1e4, 1e4), st.floats(0.0, 10.0))
def test_log_phi_grows_and_its_slope_falls(x, step):
    points = real(x, x + step)
    values, slopes = log_ndtr(points), inverse_mills_ratio(points)
    assert float(values[1]) >= float(values[0]) and float(slopes[1]) <= float(slopes[0]) * (1.0 + 1e-13)


@pytest.mark.parametrize("x", [-1e8, -1e4, 40.0, 1e4, 1e8])
def test_nothing_overflows(x):
    at = real(x).requires_grad_()
    value = log_ndtr(at)
    (slope,) = torch.autograd.grad(value.sum(), at)
    assert bool(value.isfinite().all() and slope.isfinite().all())
    np.testing.assert_allclose(float(slope), max(-x, 0.0), rtol=1e-7)


def test_single_precision_keeps_its_own():
    """torch's own gradient is off by 5e-4 there (theory 6.2)."""
    at = torch.tensor([-200.0], dtype=torch.float32, requires_grad=True)
    (slope,) = torch.autograd.grad(log_ndtr(at).sum(), at)
    np.testing.assert_allclose(float(slope), 200.00499975, rtol=1e-6)
