"""Exact Gaussian computations as pure functions over arrays."""
