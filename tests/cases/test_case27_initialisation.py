"""Case 27: nobody has to initialise: defaults come from the priors; what has no default is listed by name."""

import numpy as np
import pytest

import inference as P
from tests.support.letters import Scaled, letters

PHI = np.array([[1.0, 0.2], [1.0, -0.5], [1.0, 1.0]])


@P.model
def deep(m, y):
    """Two exp links on top of each other, a rate prior, noisy readings: every variable in a mean-field loop."""
    row = m.plate("row", len(y))
    w, tau = m.mvnormal("w", mean=0.0, precision=1.0, dim=2), m.gamma("tau", 2.0, 1.0)
    h = m.softdot("h", w, PHI, tau, plates=row)
    z = m.softdot("z", m.normal("slope", 0.0, 1.0), h, m.exp("inner", h), plates=row)
    gamma = m.exp("gamma", z)
    m.gamma(gamma, 2.0, m.gamma("beta", 1.0, 1.0))
    pred = m.normal("pred", mean=0.5, precision=m.gamma("kappa", 1.0, 1.0), plates=row)
    m.normal("y", mean=pred, precision=gamma, observed=y)


def test_a_loopy_model_runs_without_a_word_on_initialisation():
    result = P.infer(deep, data={"y": [0.1, 0.7, np.nan]}, constraints=P.MeanField(), callbacks=[P.AssertMonotone()])
    assert np.isfinite(result.free_energy).all() and set(result.posteriors) == set(result.graph.variables)


def test_a_start_that_is_given_is_used_and_the_end_is_the_same():
    options = {"constraints": P.MeanField(), "iterations": 2000, "rtol": 0.0, "atol": 1e-12}
    data = {"y": [0.1, 0.7, 0.4]}
    default = P.infer(deep, data=data, **options)
    given = P.infer(deep, data=data, init={"w": P.MvNormal(np.ones(2), np.eye(2)), "tau": P.Gamma(9.0, 1.0)}, **options)
    assert given.free_energy[0] != default.free_energy[0]
    np.testing.assert_allclose(given.free_energy[-1], default.free_energy[-1], rtol=1e-6)


def test_what_has_no_default_is_listed_by_name():
    @P.model
    def stuck(m, y):
        first = m.scaled("first", m.mvnormal("x", 0.0, precision=1.0, dim=2), 1.0)
        second = m.scaled("second", first, 1.0)
        m.mvnormal("y", second, precision=1.0, dim=2, observed=y)

    with letters(Scaled), pytest.raises(P.SpecError) as refusal:
        P.infer(stuck, data={"y": np.zeros(2)})
    said = str(refusal.value)
    assert (
        said.startswith("no default start for first (scaled has no rule") and "second (it follows from first)" in said
    )
    assert "init={name: distribution}" in said and "x (" not in said
