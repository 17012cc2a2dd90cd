"""A root between two points where a function of one variable has opposite signs."""

from collections.abc import Callable


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Root in ``[low, high]`` by Brent's method, to 1e-13.

    Raises
    ------
    ValueError : the function has one sign at both ends.

    Example
    -------
    >>> round(root_between(lambda x: x * x - 2.0, 0.0, 2.0), 9)
    1.414213562
    """
    from scipy.optimize import brentq  # here: it would triple the time this package takes to import

    root: float = brentq(function, low, high, xtol=1e-13)  # pyright: ignore[reportAssignmentType]
    return root
