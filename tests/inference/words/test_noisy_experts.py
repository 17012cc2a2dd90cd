"""Noisy experts: golden fixed points, and predictions that keep the noise of the expert (message passing 4.3)."""

import numpy as np
import pytest

import inference as P
from inference.words import noisy_experts
from tests.inference.words.golden_experts import (
    assert_golden_fit,
    configurations,
    data_of,
    golden_experts,
    golden_new_rows,
)

pytestmark = pytest.mark.unchecked


@pytest.mark.parametrize("entry", configurations(noisy=True))
def test_fixed_points_and_predictions_are_golden(entry):
    assert_golden_fit(noisy_experts, entry)


def test_every_expert_sends_its_own_noise_and_that_of_its_gate():
    x = golden_experts()
    r = P.infer(noisy_experts, data=data_of(x), constraints=P.MeanField())
    phi, yhat = golden_new_rows()
    q, ahead = r.posteriors, r.predict({"phi": phi, "yhat": yhat})
    mean = phi @ q["w"].mean().T
    var = np.einsum("ni,kij,nj->nk", phi, q["w"].covariance, phi) + 1.0 / q["tau"].mean()
    weight = 1.0 / (np.exp(-mean - 0.5 * var) + 1.0 / q["kappa"].mean())
    np.testing.assert_allclose(ahead.var(), 1.0 / weight.sum(1), rtol=1e-12)
    np.testing.assert_allclose(ahead.mean(), (weight * yhat).sum(1) / weight.sum(1), rtol=1e-12)
