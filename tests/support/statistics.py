"""Judging random results in standard errors: no tolerance is chosen by hand."""

import numpy as np


def assert_within_se(draws: np.ndarray, expected: np.ndarray | float, *, k: float = 5.0, label: str = "") -> None:
    """The mean of independent ``draws`` (first axis) lies within ``k`` standard errors of ``expected``."""
    draws = np.asarray(draws, np.float64)
    assert len(draws) > 30, f"{len(draws)} draws are too few for a standard error"
    assert np.isfinite(draws).all(), f"{label}: a draw is not finite"
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    score = np.abs(draws.mean(axis=0) - expected) / np.where(error > 0.0, error, np.finfo(float).tiny)
    assert np.all(score <= k), f"{label}: mean is {np.max(score):.1f} standard errors off (at most {k} allowed)"


def assert_means_agree(one: np.ndarray, other: np.ndarray, *, k: float = 5.0, label: str = "") -> None:
    """Two independent samples have the same mean within ``k`` standard errors of their difference."""
    error = np.sqrt(np.var(one, axis=0, ddof=1) / len(one) + np.var(other, axis=0, ddof=1) / len(other))
    gap = np.abs(np.mean(one, axis=0) - np.mean(other, axis=0))
    assert np.all(gap <= k * error), f"{label}: means differ by {np.max(gap / error):.1f} standard errors"
