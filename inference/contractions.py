"""Sums over plates as matrix products: the array programs under the lazy terms.

Arrays have one axis a plate, of size 1 where they do not vary, before their event axes. ``axes`` are plate axes to be
summed; they stay, with size 1. ``sizes`` are the plates' sizes, since an axis of size 1 stands for that many entries.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from inference.types import Values

Axes = tuple[int, ...]


def lift(array: Values, event_ndim: int) -> Values:
    """A scalar over plates, with ``event_ndim`` axes appended.

    Example
    -------
    >>> lift(np.ones((3, 1)), 2).shape
    (3, 1, 1, 1)
    """
    return array.reshape(array.shape + (1,) * event_ndim)


def total_of_array(array: Values, axes: Axes, sizes: Sequence[int], mask: Values | None, event_ndim: int) -> Values:
    """Sum over ``axes`` of ``array`` times the mask (1 where present, None where everywhere).

    Example
    -------
    >>> total_of_array(np.full((1, 2), 0.5), (0,), (10, 2), None, 0)
    array([[5., 5.]])
    """
    # An absent entry may be infinite or NaN, as a precision of e^800 is; it is left out, not multiplied by 0.
    masked = array if mask is None else np.where(lift(mask, event_ndim) > 0.0, array, 0.0)
    repeats = prod(sizes[k] for k in axes if masked.shape[k] == 1)
    summed = masked.sum(axis=axes, keepdims=True) if axes else masked
    return summed if repeats == 1 else summed * float(repeats)


def contract(weight: Values, vector: Values, axes: Axes, sizes: Sequence[int]) -> Values:
    """sum_j weight_j vector_j, without forming the products.

    Example
    -------
    >>> contract(np.ones((3, 1)), np.eye(3)[:, None, :], (0,), (3, 1))
    array([[[1., 1., 1.]]])
    """
    weight, repeats = _sum_where_alone(weight, vector, axes, sizes)
    vector, _ = _sum_where_alone(vector, weight, axes, sizes)
    both = [k for k in axes if weight.shape[k] != 1]
    if not both:
        return lift(weight * repeats, 1) * vector
    w, v = flatten(weight * repeats, both, 0), flatten(vector, both, 1)
    if prod(v.shape[:-2]) == 1:
        summed = (w.reshape(prod(w.shape[:-1]), w.shape[-1]) @ v.reshape(v.shape[-2:])).reshape(
            *w.shape[:-1], v.shape[-1]
        )
    else:
        summed = np.matmul(w[..., None, :], v)[..., 0, :]
    return np.expand_dims(summed, tuple(both))


def weighted_gram(weight: Values, vector: Values, axes: Axes, sizes: Sequence[int]) -> Values:
    """sum_j weight_j v_j v_j', one matrix product an entry of the plates that remain.

    Example
    -------
    >>> weighted_gram(np.array([1.0, 2.0]), np.eye(2), (0,), (2,))
    array([[[1., 0.],
            [0., 2.]]])
    """
    weight, repeats = _sum_where_alone(weight, vector, axes, sizes)
    weight = weight * repeats
    rows = [k for k in axes if vector.shape[k] != 1]
    if not rows:
        return lift(weight, 2) * vector[..., :, None] * vector[..., None, :]
    v = flatten(vector, rows, 1)
    if all(weight.shape[k] == 1 for k in rows):
        return lift(weight, 2) * np.expand_dims(np.matmul(v.swapaxes(-1, -2), v), tuple(rows))
    spread = list(weight.shape)
    for k in rows:
        spread[k] = vector.shape[k]
    w = flatten(np.broadcast_to(weight, spread), rows, 0)
    return np.expand_dims(_grams(w, v), tuple(rows))


def _grams(w: Values, v: Values) -> Values:
    """(w, v) of shapes (..., J), (..., J, d) to sum_j w_j v_j v_j'; one entry at a time where one v serves many w."""
    if prod(v.shape[:-2]) != 1:
        return np.matmul((w[..., None] * v).swapaxes(-1, -2), v)
    rows = v.reshape(v.shape[-2:])
    out = np.empty((prod(w.shape[:-1]), v.shape[-1], v.shape[-1]))
    for k, row in enumerate(w.reshape(prod(w.shape[:-1]), w.shape[-1])):
        out[k] = (row[:, None] * rows).T @ rows
    return out.reshape(*w.shape[:-1], *out.shape[1:])


def quadratic(vector: Values, matrix: Values) -> Values:
    """v' M v; the rows that meet one matrix go through it together.

    Example
    -------
    >>> quadratic(np.array([[1.0, 2.0]]), np.eye(2)[None])
    array([5.])
    """
    plates = range(vector.ndim - 1)
    shared = [k for k in plates if matrix.shape[k] == 1 and vector.shape[k] != 1]
    if not shared:
        return dot(np.matmul(vector[..., None, :], matrix)[..., 0, :], vector)
    v = flatten(vector, shared, 1)
    m = matrix.reshape([matrix.shape[k] for k in plates if k not in shared] + list(matrix.shape[-2:]))
    forms = dot(np.matmul(v, m), v)
    forms = forms.reshape(*forms.shape[:-1], *(vector.shape[k] for k in shared))
    order = [k for k in plates if k not in shared] + shared
    return forms.transpose(*np.argsort(order))


def dot(left: Values, right: Values) -> Values:
    """The inner product over the last axis, broadcast over the others.

    Example
    -------
    >>> dot(np.ones((2, 3)), np.ones(3))
    array([3., 3.])
    """
    return np.einsum("...d,...d->...", left, right)


def flatten(array: Values, axes: Sequence[int], event_ndim: int) -> Values:
    """``axes`` merged into one that stands right before the event.

    Example
    -------
    >>> flatten(np.ones((2, 3, 4)), [0], 1).shape
    (3, 2, 4)
    """
    plates = array.ndim - event_ndim
    rest = [k for k in range(plates) if k not in axes]
    moved = array.transpose(*rest, *axes, *range(plates, array.ndim))
    return moved.reshape(*(array.shape[k] for k in rest), prod(array.shape[k] for k in axes), *array.shape[plates:])


def _sum_where_alone(array: Values, other: Values, axes: Axes, sizes: Sequence[int]) -> tuple[Values, float]:
    """``array`` summed over those ``axes`` along which ``other`` is constant, and how often neither of them varies."""
    alone = tuple(k for k in axes if array.shape[k] != 1 and other.shape[k] == 1)
    repeats = prod(sizes[k] for k in axes if array.shape[k] == 1 and other.shape[k] == 1)
    return (array.sum(axis=alone, keepdims=True) if alone else array), float(repeats)


def inner(left: Values, right: Values) -> Values:
    """dot(left, right) by matrix products where each varies along plates that the other does not.

    Example
    -------
    >>> inner(np.ones((4, 1, 3)), np.ones((1, 2, 3))).shape
    (4, 2)
    """
    plates = range(left.ndim - 1)
    rows = [k for k in plates if left.shape[k] != 1 and right.shape[k] == 1]
    columns = [k for k in plates if right.shape[k] != 1 and left.shape[k] == 1]
    if not rows and not columns:
        return dot(left, right)
    others = [k for k in plates if k not in rows and k not in columns]
    event = left.shape[-1]
    a = flatten(left, rows, 1).reshape(*(left.shape[k] for k in others), -1, event)
    b = flatten(right, columns, 1).reshape(*(right.shape[k] for k in others), -1, event)
    product = np.matmul(a, b.swapaxes(-1, -2))
    shape = [left.shape[k] for k in rows] + [right.shape[k] for k in columns]
    return product.reshape(*product.shape[:-2], *shape).transpose(*np.argsort([*others, *rows, *columns]))
