"""What cannot be predicted is said, with what is missing and what to do."""

import re

import numpy as np
import pytest

import inference as P
from tests.support.expert_models import bound, data_of, mean_field
from tests.support.gated_experts import Options
from tests.support.simulated_experts import simulate

X = simulate(11, rows=8, experts=2, d=2).experts
NEW = {"phi": X.phi[:3], "yhat": X.yhat[:3]}


@pytest.fixture(scope="module")
def result():
    return P.infer(bound(X, Options()), data=data_of(X), constraints=mean_field(Options()), iterations=3)


def test_an_unknown_mode(result):
    with pytest.raises(P.SpecError, match="predict knows the modes forward, mixture, vmp, not 'mean'"):
        result.predict(NEW, mode="mean")


def test_features_that_were_left_out(result):
    with pytest.raises(P.DataError, match="predict needs 'phi'"):
        result.predict({"yhat": NEW["yhat"]})


def test_an_unknown_plate(result):
    with pytest.raises(P.SpecError, match=re.escape("rows names no plate; the plates are obs, expert")):
        result.predict(NEW, rows="row")


def test_an_unknown_argument(result):
    with pytest.raises(P.DataError, match=r"does not take .*psi"):
        result.predict({**NEW, "psi": X.phi})


def test_rows_that_do_not_fit_together(result):
    with pytest.raises(P.SpecError, match="phi"):
        result.predict({"phi": X.phi[:3], "yhat": X.yhat[:2]})


def test_another_number_of_experts(result):
    with pytest.raises(P.InferenceError, match="expert"):
        result.predict({"phi": X.phi[:3], "yhat": np.ones((3, 4))})


def test_data_that_share_no_plate():
    @P.model
    def crossed(m, a, b):
        mu = m.normal("mu", mean=0.0, precision=1.0)
        m.normal("a", mean=mu, precision=1.0, observed=a, plates=m.plate("left", len(a)))
        m.normal("b", mean=mu, precision=1.0, observed=b, plates=m.plate("right", len(b)))

    result = P.infer(crossed, data={"a": np.ones(3), "b": np.ones(2)})
    with pytest.raises(P.SpecError, match=r"share no plate.*pass rows="):
        result.predict({"a": P.missing(4), "b": P.missing(5)})
    found = result.predict({"a": P.missing(4)})
    np.testing.assert_allclose(found["a"].mean(), 5.0 / 6.0, rtol=1e-12)


def test_a_target_known_in_part_is_not_for_vmp(result):
    with pytest.warns(UserWarning, match="overconfident"), pytest.raises(P.NoRule, match="known in part"):
        result.predict({**NEW, "y": np.array([0.1, np.nan, np.nan])}, mode="vmp")


def test_forward_takes_a_target_known_in_part(result):
    """A row with a known target informs nothing but itself, globals being frozen; only the missing are predicted."""
    whole, part = result.predict(NEW), result.predict({**NEW, "y": np.array([0.1, np.nan, np.nan])})
    np.testing.assert_allclose(part.mean(), whole.mean()[1:], rtol=1e-9)


def test_new_rows_do_not_change_the_result(result):
    before = result.posteriors["w"].mean().copy()
    result.predict(NEW)
    np.testing.assert_array_equal(result.posteriors["w"].mean(), before)
