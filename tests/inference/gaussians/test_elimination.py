"""Eliminating one of two Gaussian blocks, against the dense joint precision of both."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate

from inference.gaussians.elimination import Belief, eliminate, mapped
from inference.nodes._base import Linear
from inference.terms import full

PLATES = (2, 3)
LOG_2PI_E = np.log(2.0 * np.pi) + 1.0
SHAPES = {"scalar": (1, 1), "row": (1, 3), "matrix": (2, 3)}


def positive(rng, *shape):
    root = rng.normal(size=(*shape, shape[-1]))
    return root @ root.swapaxes(-1, -2) + 0.3 * np.eye(shape[-1])


@dataclass(frozen=True)
class Case:
    """A factor and the naturals of everything else at both ends, all as vectors and matrices."""

    linear: Linear
    C: np.ndarray
    W: np.ndarray
    o: np.ndarray
    E: np.ndarray
    h: dict
    L: dict
    child: str
    vector: dict

    @property
    def parent(self):
        return "x" if self.child == "u" else "u"

    def squeezed(self, port, array, event_ndim):
        """As the rules take it: scalars without event axes."""
        return array if self.vector[port] else array[(..., *(0,) * event_ndim)]


def case(kind, child, offset, extra, flat=False, seed=0):
    """x is the output, u the input; some arrays do not vary along the first plate."""
    rng = np.random.default_rng(seed)
    k, p = SHAPES[kind]
    C, W = rng.normal(size=(1, 3, k, p)), positive(rng, 2, 1, k)
    o = rng.normal(size=(1, 1, k)) if offset else np.zeros((1, 1, k))
    E = positive(rng, 1, 3, p) if extra else np.zeros((1, 1, p, p))
    h = {"x": rng.normal(size=(*PLATES, k)), "u": rng.normal(size=(*PLATES, p))}
    L = {"x": positive(rng, *PLATES, k), "u": positive(rng, *PLATES, p)}
    if flat:
        h[child], L[child] = np.zeros_like(h[child]), np.zeros_like(L[child])
    vector_output, vector_input = kind == "matrix", kind != "scalar"
    linear = Linear(
        "x", "u",
        C if vector_output else C[..., 0, :] if vector_input else C[..., 0, 0],
        W if vector_output else W[..., 0, 0],
        offset=None if not offset else o if vector_output else o[..., 0],
        extra=None if not extra else E if vector_input else E[..., 0, 0],
        vector_input=vector_input, vector_output=vector_output,
    )  # fmt: skip
    return Case(linear, C, W, o, E, h, L, child, {"x": vector_output, "u": vector_input})


def dense(c, *, with_parent):
    """Natural coefficients of (x, u) from the factor, the child's own and, if asked, the parent's."""
    C, W, Ct = c.C, c.W, c.C.swapaxes(-1, -2)
    k, p = C.shape[-2:]
    P, h = np.zeros((*PLATES, k + p, k + p)), np.zeros((*PLATES, k + p))
    P[..., :k, :k], P[..., :k, k:] = W, -W @ C
    P[..., k:, :k], P[..., k:, k:] = -Ct @ W, Ct @ W @ C + c.E
    wo = (W @ c.o[..., None])[..., 0]
    h[..., :k], h[..., k:] = wo, -(Ct @ wo[..., None])[..., 0]
    for port, part in (("x", slice(0, k)), ("u", slice(k, k + p))):
        if port == c.child or with_parent:
            P[..., part, part] += c.L[port]
            h[..., part] += c.h[port]
    return P, h


def parts(c):
    k, p = c.C.shape[-2:]
    place = {"x": np.arange(k), "u": np.arange(k, k + p)}
    return place[c.child], place[c.parent]


def block(matrix, rows, columns):
    return matrix[..., rows[:, None], columns]


def eliminated(c):
    return eliminate(c.linear, c.child, c.squeezed(c.child, c.h[c.child], 1), c.squeezed(c.child, c.L[c.child], 2))


ALL = [
    pytest.param(case(kind, child, offset, extra, seed=seed), id=f"{kind}-{child}-offset={offset}-extra={extra}")
    for seed, (kind, child, offset, extra) in enumerate(product(SHAPES, "xu", (False, True), (False, True)))
]
FLAT = [
    pytest.param(
        case(kind, child, offset, extra, flat=True, seed=seed), id=f"flat-{kind}-{child}-offset={offset}-extra={extra}"
    )
    for seed, (kind, child, offset, extra) in enumerate(product(SHAPES, "xu", (False, True), (False, True)))
    if child == "x" or extra or kind == "scalar"  # else the factor leaves directions of the input open
]


@pytest.mark.parametrize("c", [*ALL, *FLAT])
def test_the_message_is_the_schur_complement(c):
    out = eliminated(c)
    P, h = dense(c, with_parent=False)
    i, j = parts(c)
    gain = block(P, j, i) @ np.linalg.inv(block(P, i, i))
    precision = block(P, j, j) - gain @ block(P, i, j)
    linear = h[..., j] - (gain @ h[..., i, None])[..., 0]
    scale = np.abs(P).max()
    wanted = c.squeezed(c.parent, precision, 2)
    np.testing.assert_allclose(
        np.broadcast_to(full(out.precision), wanted.shape), wanted, rtol=1e-11, atol=1e-13 * scale
    )
    wanted = c.squeezed(c.parent, linear, 1)
    np.testing.assert_allclose(np.broadcast_to(full(out.linear), wanted.shape), wanted, rtol=1e-10, atol=1e-12 * scale)


def solved(c):
    """The dense joint of both with everything, and what the conditional makes of the parent's marginal."""
    P, h = dense(c, with_parent=True)
    covariance = np.linalg.inv(P)
    mean = (covariance @ h[..., None])[..., 0]
    _, j = parts(c)
    parent = Belief(c.squeezed(c.parent, mean[..., j], 1), c.squeezed(c.parent, block(covariance, j, j), 2))
    return mean, covariance, eliminated(c).conditional.down(parent)


@pytest.mark.parametrize("c", [*ALL, *FLAT])
def test_the_way_back_gives_the_marginal_of_the_child(c):
    mean, covariance, (child, _) = solved(c)
    i, _ = parts(c)
    np.testing.assert_allclose(child.mean, c.squeezed(c.child, mean[..., i], 1), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(child.spread, c.squeezed(c.child, block(covariance, i, i), 2), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("c", [*ALL, *FLAT])
def test_the_joint_moments_of_output_and_mapped_input(c):
    mean, covariance, (_, pair) = solved(c)
    k, p = c.C.shape[-2:]
    x, u = np.arange(k), np.arange(k, k + p)
    Ct = c.C.swapaxes(-1, -2)
    assert pair.ports == ("x", "u")
    wanted = {
        "mapped_mean": ((c.C @ mean[..., u, None])[..., 0], 1),
        "mapped_var": (c.C @ block(covariance, u, u) @ Ct, 2),
        "cross": (block(covariance, x, u) @ Ct, 2),
    }
    for name, (array, event_ndim) in wanted.items():
        expected = c.squeezed("x", array, event_ndim)
        np.testing.assert_allclose(getattr(pair, name), expected, rtol=1e-9, atol=1e-11, err_msg=name)
    if not c.linear.vector_output:
        between = block(covariance, x, u)[..., 0, :]
        np.testing.assert_allclose(
            pair.between(), between if c.linear.vector_input else between[..., 0], rtol=1e-9, atol=1e-11
        )
        x_mean, x_var = c.squeezed("x", mean[..., x], 1), c.squeezed("x", block(covariance, x, x), 2)
        apart = (x_mean - pair.mapped_mean) ** 2 + x_var + pair.mapped_var - 2.0 * pair.cross
        np.testing.assert_allclose(pair.squared_gap(x_mean, x_var), apart, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("child", ["x", "u"])
def test_the_gap_of_two_that_a_huge_precision_ties_keeps_its_digits(child):
    """E (x - u)^2 in rational numbers, where both agree to every digit a float has."""
    t, h, l = 1e60, {"x": 3e5, "u": -7e5}, {"x": 1e6, "u": 4e6}  # noqa: E741
    T, (hx, hu), (lx, lu) = Fraction(t), map(Fraction, h.values()), map(Fraction, l.values())
    a, d = lx + T, lu + T  # of the joint precision [[a, -T], [-T, d]]
    determinant = a * d - T * T
    gap_mean = (hx * (d - T) - hu * (a - T)) / determinant
    wanted = gap_mean**2 + (a + d - 2 * T) / determinant
    out = eliminate(Linear("x", "u", np.array(1.0), np.array(t)), child, np.array(h[child]), np.array(l[child]))
    parent = "u" if child == "x" else "x"
    precision = full(out.precision) + l[parent]
    belief = Belief((full(out.linear) + h[parent]) / precision, 1.0 / precision)
    below, pair = out.conditional.down(belief)
    output = below if child == "x" else belief
    np.testing.assert_allclose(t * pair.squared_gap(output.mean, output.spread), float(T * wanted), rtol=1e-12)


@pytest.mark.parametrize("c", [*ALL, *FLAT])
def test_the_entropy_is_that_of_the_joint_less_the_parents(c):
    _, covariance, (_, pair) = solved(c)
    _, j = parts(c)
    joint, parent = np.linalg.slogdet(covariance)[1], np.linalg.slogdet(block(covariance, j, j))[1]
    size = covariance.shape[-1] - len(j)
    wanted = 0.5 * (size * LOG_2PI_E + joint - parent)
    np.testing.assert_allclose(np.broadcast_to(pair.entropy, wanted.shape), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_flat_output_says_nothing(kind):
    out = eliminated(case(kind, "x", True, False, flat=True))
    np.testing.assert_array_equal(full(out.precision), 0.0)
    np.testing.assert_array_equal(full(out.linear), 0.0)


@pytest.mark.parametrize("kind", ["scalar", "row"])
def test_a_nearly_flat_output_loses_no_digits(kind):
    """rho = t l / (t + l) for l = 1e-13 t, where t - t^2/(t + l) has no digit left."""
    c = case(kind, "x", False, False)
    l = 1e-13 * c.linear.precision  # noqa: E741
    out = eliminate(c.linear, "x", np.zeros(PLATES), np.broadcast_to(l, PLATES))
    C = c.C[..., 0, :]
    outer = C[..., :, None] * C[..., None, :] * l[..., None, None]
    wanted = np.broadcast_to(outer if kind == "row" else outer[..., 0, 0], np.shape(full(out.precision)))
    np.testing.assert_allclose(full(out.precision), wanted, rtol=1e-12)


def test_a_scalar_message_is_the_integral_over_the_child():
    """log of the integral over x of exp(-t (x - c u - o)^2 / 2 - l x^2 / 2 + h x), as a function of u."""
    t, c, o, h, l = 1.7, 0.6, 0.4, 0.9, 0.8  # noqa: E741
    factor = Linear("x", "u", np.array(c), np.array(t), offset=np.array(o))
    out = eliminate(factor, "x", np.array(h), np.array(l))

    def log_integral(u):
        f = lambda x: np.exp(-0.5 * t * (x - c * u - o) ** 2 - 0.5 * l * x**2 + h * x)  # noqa: E731
        return np.log(integrate.quad(f, -30.0, 30.0, epsabs=1e-13, epsrel=1e-13, points=[0.0])[0])

    u = np.array([-1.0, 0.0, 2.0])
    message = full(out.linear) * u - 0.5 * full(out.precision) * u**2
    wanted = np.array([log_integral(each) for each in u])
    np.testing.assert_allclose(message - message[0], wanted - wanted[0], rtol=1e-9)


def test_mapped_moments():
    c = case("row", "x", False, False)
    belief = Belief(c.h["u"], c.L["u"])
    mean, var = mapped(c.linear, belief)
    np.testing.assert_allclose(mean, (c.C @ c.h["u"][..., None])[..., 0, 0], rtol=1e-12)
    np.testing.assert_allclose(var, (c.C @ c.L["u"] @ c.C.swapaxes(-1, -2))[..., 0, 0], rtol=1e-12)


def test_the_kept_gram_matrix_travels_with_the_message():
    c, kept = case("row", "x", False, False), {}
    out = eliminate(replace(c.linear, kept=kept), "x", np.zeros(PLATES), np.ones(PLATES))
    assert out.precision.kept is kept
