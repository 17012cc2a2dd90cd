"""Case 28: a free energy where it is defined, else the reason; predictions in batch and in streaming."""

import numpy as np
import pytest
from scipy import stats

import inference as P

X = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 2.0], [1.0, 0.1]])
Y = np.array([0.7, np.nan, 1.9, 0.2])
SEEN = ~np.isnan(Y)


@P.model
def regression(m, x, y):
    """Weights of variance 4 under noise of precision 2."""
    w = m.mvnormal("w", mean=0.0, precision=0.25, dim=x.shape[1])
    m.softdot("y", w, x, 2.0, observed=y, plates=m.plate("row", len(y)))


@P.model
def gated(m, x, yhat, y):
    """One precision-gated expert."""
    row = m.plate("row", len(y))
    z = m.softdot("z", m.mvnormal("w", mean=0.0, precision=1.0, dim=x.shape[1]), x, 5.0, plates=row)
    m.normal("yhat", mean=y, precision=m.exp("gamma", z), observed=yhat, plates=row)


def evidence(rows) -> float:
    cov = 4.0 * X[rows] @ X[rows].T + 0.5 * np.eye(int(np.sum(rows)))
    return float(stats.multivariate_normal.logpdf(Y[rows], np.zeros(len(cov)), cov))


def test_with_missing_targets_the_free_energy_is_that_of_what_was_seen_and_they_are_predicted():
    result = P.infer(regression, data={"x": X, "y": Y})
    np.testing.assert_allclose(-result.free_energy[-1], evidence(SEEN), rtol=1e-12)
    assert result.free_energy_reason == "" and list(result.predictions) == ["y"]
    cov = np.linalg.inv(0.25 * np.eye(2) + 2.0 * X[SEEN].T @ X[SEEN])
    np.testing.assert_allclose(result.predictions["y"].mean(), X[~SEEN] @ cov @ (2.0 * X[SEEN].T @ Y[SEEN]), rtol=1e-12)
    np.testing.assert_allclose(result.predictions["y"].var(), np.diag(X[~SEEN] @ cov @ X[~SEEN].T) + 0.5, rtol=1e-12)


def test_predicting_does_not_change_the_free_energy():
    result = P.infer(regression, data={"x": X, "y": Y})
    before = result.free_energy.copy()
    result.predict({"x": X[:2]})
    np.testing.assert_array_equal(result.free_energy, before)


def test_a_stream_predicts_and_scores_every_piece():
    stream = P.Stream(regression, carry=["w"])
    steps = [stream.step({"x": X[i : i + 1], "y": Y[i : i + 1]}) for i in range(len(Y))]
    scores = [s.logscore for s in steps]
    np.testing.assert_allclose(np.nansum(scores), evidence(SEEN), rtol=1e-11)
    assert all("y" in s.predictive for s in steps)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"free_energy": False}, "it was not computed"),
        (
            {"constraints": [P.MeanField(), P.Form("z", "dual")]},
            "a dual projection has no free energy that bounds anything",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::inference.errors.DualProjection")
def test_where_there_is_none_the_reason_is_given(options, reason):
    yhat = np.array([0.5, 0.1, 2.0, 0.0])
    result = P.infer(gated, data={"x": X, "yhat": yhat, "y": Y}, iterations=5, **options)
    assert result.free_energy is None and reason in result.free_energy_reason and reason in str(result)
    assert (result.free_energy_diagnostic is None) == ("constraints" not in options)
