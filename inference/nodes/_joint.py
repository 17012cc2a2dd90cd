"""Expectations under a normal-gamma pair, where the weights' spread is measured in units of 1/tau."""

import numpy as np

from inference.contractions import inner, quadratic
from inference.inbox import Inbox, Moments
from inference.types import Values


def scaled_error(q: Inbox, features: Values, target: Moments, spread: Values | None = None) -> Values:
    """E tau (z - w'phi)^2 = E tau ((z - m'phi)^2 + var z + m'V m) + phi'L^-1 phi + tr(L^-1 V), V the spread of phi.

    Example
    -------
    >>> scaled_error.__name__
    'scaled_error'
    """
    assert q.joint is not None
    arrays = q.joint.arrays()
    inverse = np.linalg.inv(arrays["precision"])
    error = (target.mean - inner(arrays["mean"], features)) ** 2 + target.var
    forms = quadratic(features, inverse)
    if spread is not None:
        error = error + quadratic(arrays["mean"], spread)
        forms = forms + np.einsum("...ij,...ij->...", inverse, spread)
    return q.joint.marginal_precision().mean() * error + forms
