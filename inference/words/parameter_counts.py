"""How many numbers a fitted model keeps: the parameters of its global marginals, read off its graph."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from inference.constraints import Constraint, Reading, read_constraints
from inference.structure import FactorGraph, Variable


def parameter_count(
    graph: FactorGraph, constraints: Iterable[Constraint] | Constraint = (), *, rows: str = "row"
) -> int:
    """The parameters of the marginals of all variables that do not lie on plate ``rows`` (message_passing 4.8).

    Two a Gamma, Beta or scalar Gaussian; d + d(d+1)/2 a vector of d, 2d where its form is diagonal; one a scalar where
    it is a point mass, none where it is fixed. These are what a prediction reads.

    Example
    -------
    >>> from inference.words.precision_gated import precision_gated
    >>> graph = precision_gated.build(dict(phi=np.ones((4, 2)), yhat=np.zeros((4, 3)), y=np.zeros(4)))
    >>> parameter_count(graph)  # three experts, each 2 + 3 for w and 2 for tau
    21
    """
    reading = read_constraints([constraints] if isinstance(constraints, Constraint) else constraints, graph)
    kept = [v for v in graph.variables.values() if rows not in {p.name for p in v.plates}]
    return sum(_parameters(v, reading) for v in kept)


def _parameters(variable: Variable, reading: Reading) -> int:
    if variable.name in reading.fixed:
        return 0
    times = int(np.prod([p.size for p in variable.plates], dtype=np.int64))
    d, form = int(np.prod(variable.event, dtype=np.int64)), reading.forms.get(variable.name)
    if form == "point_mass":
        return times * d
    if variable.event and form != "diagonal":
        return times * (d + d * (d + 1) // 2)
    return times * 2 * d


def dense_layer_count(*widths: int) -> int:
    """The weights and biases of dense layers of these widths, for gates that are networks: sum (width + 1) next width.

    Example
    -------
    >>> dense_layer_count(65, 7)  # a softmax gate of 7 experts
    462
    """
    return sum((width + 1) * after for width, after in pairwise(widths))
