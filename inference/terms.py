"""Lazy terms of messages and energies: quantities over a factor's plates that can be summed without being formed.

A softdot over (row, expert) sends each expert the precision sum_j t phi_j phi_j'. Formed first and summed later that is
an array of rows x experts x d x d; as an :class:`Outer` it is one matrix product, and where the weight does not depend
on the row the Gram matrix of the features is computed once and kept.

Every array has one axis a plate of the factor (of size 1 where it does not vary) before its event axes. The mask is 1
where the factor is present, and None where it always is.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import add as plus

import numpy as np

from inference.contractions import Axes, contract, dot, lift, quadratic, total_of_array, weighted_gram
from inference.types import Values


class Term(ABC):
    """A quantity over plates; ``full`` forms it, ``total`` sums it over some plate axes, which stay with size 1."""

    event_ndim: int

    @abstractmethod
    def full(self) -> Values:
        """The quantity itself."""

    @abstractmethod
    def scaled(self, weight: Values) -> "Term":
        """The quantity times a scalar over the plates."""

    def total(self, axes: Axes, sizes: Sequence[int], mask: Values | None) -> Values:
        """The sum over ``axes`` of the entries that are present."""
        return total_of_array(self.full(), axes, sizes, mask, self.event_ndim)


Quantity = Term | Values


def total(quantity: Quantity, axes: Axes, sizes: Sequence[int], mask: Values | None, event_ndim: int) -> Values:
    """The sum over ``axes`` of a term or an array.

    Example
    -------
    >>> total(np.ones((3, 2)), (0,), (3, 2), None, 0)
    array([[3., 3.]])
    """
    if isinstance(quantity, Term):
        return quantity.total(axes, sizes, mask)
    return total_of_array(quantity, axes, sizes, mask, event_ndim)


def scale(quantity: Quantity, weight: Values, event_ndim: int = 0) -> Quantity:
    """The quantity times a scalar over the plates.

    Example
    -------
    >>> scale(np.ones((2, 3)), np.array([1.0, 2.0]), 1).sum()
    np.float64(9.0)
    """
    return quantity.scaled(weight) if isinstance(quantity, Term) else quantity * lift(weight, event_ndim)


def full(quantity: Quantity) -> Values:
    """The quantity as an array.

    Example
    -------
    >>> full(Scaled(np.array([2.0]), np.ones((1, 3))))
    array([[2., 2., 2.]])
    """
    return quantity.full() if isinstance(quantity, Term) else quantity


def add(*quantities: Quantity) -> Quantity:
    """The sum of terms and arrays of one event.

    Example
    -------
    >>> add(np.ones(2), np.ones(2))
    array([2., 2.])
    """
    terms: list[Term] = []
    arrays: list[Values] = []
    for quantity in quantities:
        if isinstance(quantity, Sum):
            terms.extend(quantity.terms)
            arrays.extend([] if quantity.array is None else [quantity.array])
        elif isinstance(quantity, Term):
            terms.append(quantity)
        else:
            arrays.append(quantity)
    array = None if not arrays else arrays[0] if len(arrays) == 1 else plus_all(arrays)
    if not terms:
        return np.zeros(()) if array is None else array
    return terms[0] if array is None and len(terms) == 1 else Sum(tuple(terms), array)


def plus_all(arrays: list[Values]) -> Values:
    """The sum of a list of arrays that is not empty."""
    out = arrays[0]
    for array in arrays[1:]:
        out = plus(out, array)
    return out


@dataclass(frozen=True, eq=False)
class Sum(Term):
    """A sum of terms of one event, and at most one array."""

    terms: tuple[Term, ...]
    array: Values | None = None

    @cached_property
    def event_ndim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of its terms."""
        return self.terms[0].event_ndim

    def full(self) -> Values:
        """All of them added."""
        return plus_all([t.full() for t in self.terms] + ([] if self.array is None else [self.array]))

    def scaled(self, weight: Values) -> Term:
        """Each of them scaled."""
        array = None if self.array is None else self.array * lift(weight, self.event_ndim)
        return Sum(tuple(term.scaled(weight) for term in self.terms), array)

    def total(self, axes: Axes, sizes: Sequence[int], mask: Values | None) -> Values:
        """Each of them summed in its own way."""
        parts = [term.total(axes, sizes, mask) for term in self.terms]
        if self.array is not None:
            parts.append(total_of_array(self.array, axes, sizes, mask, self.event_ndim))
        return plus_all(parts)


@dataclass(frozen=True, eq=False)
class Scaled(Term):
    """``weight * vector``: a scalar over the plates times a vector that may vary over fewer of them."""

    weight: Values
    vector: Values
    event_ndim: int = 1

    def full(self) -> Values:
        """The product."""
        return lift(self.weight, 1) * self.vector

    def scaled(self, weight: Values) -> Term:
        """The weights multiply."""
        return Scaled(self.weight * weight, self.vector)

    def total(self, axes: Axes, sizes: Sequence[int], mask: Values | None) -> Values:
        """sum_j weight_j vector_j as a matrix product."""
        return contract(self.weight if mask is None else self.weight * mask, self.vector, axes, sizes)


@dataclass(frozen=True, eq=False)
class Outer(Term):
    """``weight * vector vector'``. ``kept`` remembers the Gram matrix of a vector that never changes."""

    weight: Values
    vector: Values
    kept: dict[Axes, Values] | None = field(default=None, repr=False)
    event_ndim: int = 2

    def full(self) -> Values:
        """The products, formed."""
        return lift(self.weight, 2) * self.vector[..., :, None] * self.vector[..., None, :]

    def scaled(self, weight: Values) -> Term:
        """The weights multiply."""
        return Outer(self.weight * weight, self.vector, self.kept)

    def total(self, axes: Axes, sizes: Sequence[int], mask: Values | None) -> Values:
        """sum_j weight_j v_j v_j'; with a weight that is the same for all j, weight times the Gram matrix."""
        if not axes:
            return total_of_array(self.full(), axes, sizes, mask, 2)
        if mask is None and all(self.weight.shape[k] == 1 for k in axes):
            return lift(self.weight, 2) * self._gram(axes, sizes)
        return weighted_gram(self.weight if mask is None else self.weight * mask, self.vector, axes, sizes)

    def _gram(self, axes: Axes, sizes: Sequence[int]) -> Values:
        kept = {} if self.kept is None else self.kept
        if axes not in kept:
            kept[axes] = weighted_gram(np.ones((1,) * (self.vector.ndim - 1)), self.vector, axes, sizes)
        return kept[axes]


@dataclass(frozen=True, eq=False)
class Quadratic(Term):
    """``weight * vector' matrix vector``; where ``diagonal`` holds, the matrix is given by its diagonal."""

    weight: Values
    vector: Values
    matrix: Values
    diagonal: bool = False
    kept: dict[Axes, Values] | None = field(default=None, repr=False)
    event_ndim: int = 0

    def full(self) -> Values:
        """The forms, one an entry."""
        if self.diagonal:
            return self.weight * dot(self.vector**2, self.matrix)
        return self.weight * quadratic(self.vector, self.matrix)

    def scaled(self, weight: Values) -> Term:
        """The weights multiply."""
        return Quadratic(self.weight * weight, self.vector, self.matrix, self.diagonal, self.kept)

    def total(self, axes: Axes, sizes: Sequence[int], mask: Values | None) -> Values:
        """tr(matrix sum_j weight_j v_j v_j') over axes where neither varies, plain sums over the others."""
        still = () if mask is not None else tuple(k for k in axes if self.weight.shape[k] == self.matrix.shape[k] == 1)
        if not still:
            return total_of_array(self.full(), axes, sizes, mask, 0)
        gram = Outer(np.ones((1,) * self.weight.ndim), self.vector, self.kept).total(still, sizes, None)
        if self.diagonal:
            forms = dot(np.diagonal(gram, axis1=-2, axis2=-1), self.matrix)
        else:
            forms = np.einsum("...ab,...ab->...", gram, self.matrix)
        return total_of_array(self.weight * forms, tuple(k for k in axes if k not in still), sizes, None, 0)
