"""Exact marginals of exp links ``gamma = e^z``, as pure functions over the arrays of all edges (message_passing 2).

Example
-------
>>> from inference.links import solve_gaussian
>>> float(solve_gaussian(precision=4.0, center=1.0, log_coefficient=2.0, rate=0.0).mean)
1.5
"""

from inference.links.gamma import GammaLink, gamma_free_energy, solve_gamma
from inference.links.gaussian import GaussianLink, gaussian_free_energy, solve_gaussian

__all__ = [
    "GammaLink",
    "GaussianLink",
    "gamma_free_energy",
    "gaussian_free_energy",
    "solve_gamma",
    "solve_gaussian",
]
