"""Sums over plates as matrix products, against the products formed and summed."""

from math import prod

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from inference import contractions as c
from tests.support.plated import Plated, formed_total, plated


def same(found, wanted):
    """Equal once axes of size 1 that stand for many entries are spread out."""
    np.testing.assert_allclose(np.broadcast_to(found, wanted.shape), wanted, rtol=1e-10, atol=1e-10)


@given(plated(), st.integers(0, 2))
def test_total_of_an_array(p: Plated, event_ndim: int):
    array = p.array((2,) * event_ndim)
    found = c.total_of_array(array, p.axes, p.sizes, p.mask, event_ndim)
    same(found, formed_total(array, p, event_ndim))
    assert all(found.shape[k] == 1 for k in p.axes)


@given(plated())
def test_contract(p: Plated):
    weight, vector = p.array(()), p.array((3,))
    same(c.contract(weight, vector, p.axes, p.sizes), formed_total(weight[..., None] * vector, p.unmasked, 1))


@given(plated())
def test_weighted_gram(p: Plated):
    weight, vector = p.array(()), p.array((3,))
    products = weight[..., None, None] * vector[..., :, None] * vector[..., None, :]
    same(c.weighted_gram(weight, vector, p.axes, p.sizes), formed_total(products, p.unmasked, 2))


@given(plated())
def test_quadratic(p: Plated):
    vector, matrix = p.array((3,)), p.array((3, 3))
    np.testing.assert_allclose(
        c.quadratic(vector, matrix), np.einsum("...i,...ij,...j->...", vector, matrix, vector), rtol=1e-10, atol=1e-10
    )


@given(plated())
def test_inner(p: Plated):
    left, right = p.array((3,)), p.array((3,))
    np.testing.assert_allclose(c.inner(left, right), (left * right).sum(axis=-1), rtol=1e-10, atol=1e-12)


@given(plated())
def test_flatten_keeps_every_entry(p: Plated):
    array = p.array((2,))
    merged = c.flatten(array, list(p.axes), 1)
    assert merged.shape[-2:] == (prod(array.shape[k] for k in p.axes), 2)
    np.testing.assert_allclose(merged.sum(axis=-2).ravel(), array.sum(axis=p.axes).ravel(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_constant_stands_for_as_many_entries_as_its_plate_has(size):
    np.testing.assert_allclose(c.total_of_array(np.full((1,), 2.0), (0,), (size,), None, 0), [2.0 * size])
    np.testing.assert_allclose(c.contract(np.ones(1), np.ones((1, 2)), (0,), (size,)), np.full((1, 2), size))
    np.testing.assert_allclose(c.weighted_gram(np.ones(1), np.ones((1, 2)), (0,), (size,)), np.full((1, 2, 2), size))


def test_lift_appends_axes():
    assert c.lift(np.ones((2, 3)), 2).shape == (2, 3, 1, 1)
