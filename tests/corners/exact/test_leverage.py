"""Out-of-distribution scores and the area under the curve: golden, pair by pair, bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import DataError
from corners.exact import Evidence, auroc, novelty
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers


@pytest.mark.parametrize("case", golden_cases("ood"))
def test_golden_scores_and_areas(case):
    inputs, expected = case["inputs"], case["expected"]
    evidence = Evidence(as_array(inputs["Psi_train"]), as_array(inputs["y"]))
    posterior = evidence.posterior(float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5).covariance
    for name, covariance in (("closed", posterior), ("free", as_array(inputs["Sigma_free"]))):
        inside, outside = (novelty(as_array(inputs[f"Psi_{side}"]), covariance) for side in ("in", "out"))
        assert_golden("ood", inside, expected[f"score_{name}_in"])
        assert_golden("ood", outside, expected[f"score_{name}_out"])
        assert_golden("ood", auroc(inside, outside), expected[f"auroc_{name}"])


SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_area_counts_every_pair(inside, outside):
    assert auroc(inside, outside) == pytest.approx(oracles.pairwise_auroc(np.array(inside), np.array(outside)))
    assert auroc(inside, outside) + auroc(outside, inside) == pytest.approx(1.0)


@given(layers())
def test_closed_novelty_is_at_most_that_of_the_prior(layer):
    """``ψᵀΣ*ψ ≤ ‖ψ‖²/α``, with equality off the span of the training features."""
    evidence = Evidence(layer.features, layer.targets)
    new = np.random.default_rng(0).standard_normal((5, layer.features.shape[1]))
    covariance = evidence.posterior(layer.precision, layer.noise_var**0.5).covariance
    bound = (new**2).sum(axis=1) / layer.precision
    assert (novelty(new, covariance) <= bound * (1.0 + 1e-9)).all()
    off = new - new @ np.linalg.pinv(layer.features) @ layer.features
    far = (off**2).sum(axis=1) > 1e-6
    np.testing.assert_allclose(novelty(off, covariance)[far], (off**2).sum(axis=1)[far] / layer.precision, rtol=1e-6)


def test_empty_sets_are_refused():
    with pytest.raises(DataError, match="got 0 inside and 1 outside"):
        auroc([], [1.0])
