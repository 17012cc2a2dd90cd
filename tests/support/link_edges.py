"""Exp-link edges to test with: the golden ones, random ones, and what Hypothesis may draw."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.golden import golden

KEYS = ("p", "mu", "s", "c")
GOLDEN: Any = golden("mp_link")
GOLDEN_EDGES = tuple(np.array([case["inputs"][key] for case in GOLDEN]) for key in KEYS)


def expected(name: str) -> np.ndarray:
    """One expected value of every golden edge."""
    return np.array([case["expected"][name] for case in GOLDEN])


def powers_of_ten(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers whose logarithm is spread evenly."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def edges(p=(-6, 6), c=(-8, 8), center: float = 20.0) -> st.SearchStrategy[tuple[float, float, float, float]]:
    """``(p, mu, s, c)`` with ``s > 0``, as every link of the alphabet has it."""
    return st.tuples(powers_of_ten(*p), st.floats(-center, center), st.floats(0.05, 20.0), powers_of_ten(*c))


def random_edges(number: int, *, p=(-6, 6), c=(-4, 4), seed: int = 0) -> tuple[np.ndarray, ...]:
    """Edges of gated experts: ``s`` is 1/2, or 3/2 with the other Jacobian."""
    rng = np.random.default_rng(seed)
    return (
        10.0 ** rng.uniform(p[0], p[1], number),
        rng.normal(0.0, 3.0, number),
        rng.choice([0.5, 1.5], number),
        10.0 ** rng.uniform(c[0], c[1], number),
    )


EXTREMES = tuple(
    each.ravel()
    for each in np.meshgrid(
        [1e-139, 1e-100, 1e-20, 1e-6, 1.0, 1e6, 1e100],
        [-1e100, -1e6, -200.0, 0.0, 1e2, 1e6, 1e100],
        [-3.0, -0.5, 0.0, 0.5, 1e3],
        [0.0, 1e-300, 1e-8, 1.0, 1e8, 1e300],
    )
)
"""Corners of float64 where every marginal still exists."""
