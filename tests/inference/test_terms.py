"""Lazy terms: their totals are those of what they stand for, formed, under masks and scalings."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from inference import terms as t
from tests.support.plated import Plated, formed_total, plated

KINDS = ["scaled", "outer", "outer kept", "quadratic", "quadratic kept", "diagonal", "array 0", "array 1", "array 2"]


def make(kind: str, p: Plated):
    """A quantity, what it stands for formed by its definition, and how many event axes it has."""
    w, v = p.array(()), p.array((3,))
    kept = {} if "kept" in kind else None
    if kind == "scaled":
        return t.Scaled(w, v), w[..., None] * v, 1
    if kind.startswith("outer"):
        return t.Outer(w, v, kept), w[..., None, None] * v[..., :, None] * v[..., None, :], 2
    if kind.startswith("quadratic"):
        m = p.array((3, 3))
        m = m + m.swapaxes(-1, -2)
        return t.Quadratic(w, v, m, kept=kept), w * np.einsum("...i,...ij,...j->...", v, m, v), 0
    if kind == "diagonal":
        d = p.array((3,))
        return t.Quadratic(w, v, d, diagonal=True), w * (v**2 * d).sum(axis=-1), 0
    event_ndim = int(kind[-1])
    array = p.array((3,) * event_ndim)
    return array, array, event_ndim


def same(found, wanted):
    np.testing.assert_allclose(np.broadcast_to(found, wanted.shape), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@given(p=plated())
def test_full_is_the_definition(kind, p):
    quantity, formed, _ = make(kind, p)
    np.testing.assert_allclose(t.full(quantity), formed, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(p=plated())
def test_total_is_the_sum_of_what_is_formed(kind, p):
    quantity, formed, event_ndim = make(kind, p)
    for _ in range(2):  # the second time from what was kept
        found = t.total(quantity, p.axes, p.sizes, p.mask, event_ndim)
        same(found, formed_total(formed, p, event_ndim))
        assert all(found.shape[k] == 1 for k in p.axes)


@pytest.mark.parametrize("kind", KINDS)
@given(p=plated())
def test_scaling_is_linear(kind, p):
    quantity, formed, event_ndim = make(kind, p)
    weight = p.array(())
    scaled = t.scale(quantity, weight, event_ndim)
    wanted = formed * weight.reshape(weight.shape + (1,) * event_ndim)
    np.testing.assert_allclose(t.full(scaled), wanted, rtol=1e-12, atol=1e-12)
    same(t.total(scaled, p.axes, p.sizes, p.mask, event_ndim), formed_total(wanted, p, event_ndim))


@pytest.mark.parametrize(
    "kinds",
    [("scaled", "array 1"), ("outer", "outer kept", "array 2"), ("quadratic", "diagonal", "array 0", "array 0")],
)
@given(p=plated(), weighted=st.booleans())
def test_sums_are_sums(kinds, p, weighted):
    made = [make(kind, p) for kind in kinds]
    event_ndim = made[0][2]
    quantity, wanted = (
        t.add(*(m[0] for m in made)),
        sum(np.broadcast_to(m[1], p.sizes + m[1].shape[len(p.sizes) :]) for m in made),
    )
    if weighted:
        weight = p.array(())
        quantity, wanted = (
            t.scale(quantity, weight, event_ndim),
            wanted * weight.reshape(weight.shape + (1,) * event_ndim),
        )
    np.testing.assert_allclose(np.broadcast_to(t.full(quantity), wanted.shape), wanted, rtol=1e-10, atol=1e-10)
    same(t.total(quantity, p.axes, p.sizes, p.mask, event_ndim), formed_total(wanted, p, event_ndim))


def test_the_gram_matrix_of_features_is_formed_once():
    kept: dict = {}
    features = np.random.default_rng(0).normal(size=(50, 1, 3))
    for weight in (2.0, 3.0):
        found = t.Outer(np.full((1, 4), weight), features, kept).total((0,), (50, 4), None)
        np.testing.assert_allclose(found[0, 1], weight * features[:, 0].T @ features[:, 0], rtol=1e-12)
        held = next(iter(kept.values()))
    assert len(kept) == 1 and next(iter(kept.values())) is held


def test_sums_of_sums_stay_flat():
    one = t.Scaled(np.ones(2), np.ones((2, 3)))
    nested = t.add(t.add(one, np.ones((2, 3))), t.add(one, np.ones((2, 3))))
    assert isinstance(nested, t.Sum) and nested.terms == (one, one) and nested.event_ndim == 1
    np.testing.assert_allclose(t.full(nested), 4.0)


def test_small_sums():
    assert t.full(t.add()).shape == ()
    one = t.Scaled(np.ones(2), np.ones((2, 3)))
    assert t.add(one) is one
    np.testing.assert_allclose(t.full(t.add(np.ones(2), np.ones(2), np.ones(2))), 3.0)
