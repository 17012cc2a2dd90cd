"""The static ensemble is exact: golden posteriors, evidence and predictions (message passing 4.1)."""

import numpy as np
import pytest

import inference as P
from inference.words import static_ensemble
from tests.support.golden import as_array, golden


def fitted(x, **priors):
    return P.infer(static_ensemble, data={"yhat": x["yhat"], "y": x["y"], **priors})


@pytest.mark.parametrize("case", golden("mp_static"))
def test_posterior_evidence_and_predictions_are_golden(case):
    x, expected = {name: as_array(value) for name, value in case["inputs"].items()}, case["expected"]
    r = fitted(x, shape=x["shape0"], rate=x["rate0"])
    q, p = r.posteriors["gamma"], r.predict({"yhat": x["yhat_new"]}, rows="row")
    found = {"shape": q.shape, "rate": q.rate, "bfe": r.free_energy[-1], "log_evidence": -r.free_energy[-1]}
    found |= {"pred_mean": p.mean(), "pred_var": p.var()}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12, err_msg=name)


def test_an_expert_that_is_there_twice_weighs_twice():
    x = {name: as_array(value) for name, value in golden("mp_static")[0]["inputs"].items()}
    twice = np.column_stack([x["yhat"], x["yhat"][:, 0]])
    one, two = fitted(x), fitted({"yhat": twice, "y": x["y"]})
    alone = one.posteriors["gamma"].mean()
    np.testing.assert_allclose(two.posteriors["gamma"].mean(), [*alone, alone[0]], rtol=1e-14)
    mean = two.predict({"yhat": [[1.0, 0.0, 1.0]]}).mean()  # the rows are those of what is predicted, not the experts
    np.testing.assert_allclose(mean, 2.0 * alone[0] / (2.0 * alone[0] + alone[1]), rtol=1e-14)


def test_a_missing_target_is_predicted_and_counts_for_nothing():
    x = {name: as_array(value) for name, value in golden("mp_static")[1]["inputs"].items()}
    holed = x["y"].copy()
    holed[2] = np.nan
    kept = np.delete(np.arange(len(holed)), 2)
    with_hole, without = fitted({"yhat": x["yhat"], "y": holed}), fitted({"yhat": x["yhat"][kept], "y": x["y"][kept]})
    np.testing.assert_allclose(with_hole.free_energy[-1], without.free_energy[-1], rtol=1e-13)
    weights = without.posteriors["gamma"].mean()
    prediction = with_hole.predictions["y"]
    np.testing.assert_allclose(prediction.mean(), [weights @ x["yhat"][2] / weights.sum()], rtol=1e-13)
    np.testing.assert_allclose(prediction.var(), [1.0 / weights.sum()], rtol=1e-13)
