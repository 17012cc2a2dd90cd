"""What quadrature warns of while training becomes one remark; other warnings pass."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from corners.likelihoods._quadrature import QuadratureWarning
from corners.method import Fit, FitStatus, Method, Trace
from corners.study.fitting import WIDE, fit_method, quadrature_heard


@dataclass(frozen=True)
class Fitted(Fit):
    """Two replicates that know nothing but how they ended."""

    method: str = "warning"
    seeds: tuple[int, ...] = (5, 6)
    statuses: tuple[FitStatus, ...] = (FitStatus("converged"), FitStatus("failed"))
    trace: Trace = field(default_factory=lambda: Trace(np.zeros(0)))
    seconds: float = 0.0

    def predict(self, inputs, *, replicate=0):
        raise AssertionError("nothing is predicted here")

    def features(self, inputs, *, replicate=0):
        return None

    def last_layer(self, replicate, split):
        return None

    def learned(self, replicate):
        return {}


@dataclass(frozen=True)
class Talkative(Method):
    """A method that warns as its field says."""

    said: tuple = ()
    name: str = "warning"

    def fit(self, splits, seeds, *, host=None, progress=None):
        for kind, text in self.said:
            warnings.warn(text, kind, stacklevel=1)
        return Fitted()


def wide(value: float):
    return QuadratureWarning, f"a marginal variance of {value} exceeds 10: 32 nodes lose digits"


def test_a_hundred_warnings_are_one_remark_on_usable_replicates():
    fit = fit_method(Talkative(tuple(wide(value) for value in np.arange(11.0, 111.0))), [], [])
    assert [status.remarks for status in fit.statuses] == [(WIDE,), ()]
    assert fit_method(Talkative(), [], []).statuses == Fitted().statuses


def test_other_warnings_pass():
    with pytest.warns(UserWarning, match="something else"):
        fit = fit_method(Talkative(((UserWarning, "something else"),)), [], [])
    assert fit.statuses == Fitted().statuses


def test_what_was_heard_is_kept():
    with quadrature_heard() as heard:
        warnings.warn(wide(12.0)[1], QuadratureWarning, stacklevel=1)
    assert heard == [wide(12.0)[1]]
