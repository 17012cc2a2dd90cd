"""The Gaussian process: its predictive by the definition, its subset, and what it says of itself."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from corners.backbones.identity import Identity
from corners.baselines.gaussian_process import GaussianProcess
from corners.protocols import Protocol
from tests.support.problems import tiny_split

SPLIT = tiny_split(1, rows=(25, 6, 5))


def test_the_predictive_is_that_of_the_learned_kernel():
    """``k*ᵀ(K + σ²I)⁻¹y`` and ``a² + σ² - k*ᵀ(K + σ²I)⁻¹k*``, in original units."""
    fit = GaussianProcess(restarts=0).fit([SPLIT], [5])
    learned, scale = fit.learned(0), fit.standardisers[0]
    train, new = scale.inputs(SPLIT.train.inputs), scale.inputs(SPLIT.test.inputs)

    def kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return learned["amplitude"] ** 2 * np.exp(
            -0.5 * cdist(one, other, "sqeuclidean") / learned["length_scale"] ** 2
        )

    gram = kernel(train, train) + learned["noise_scale"] ** 2 * np.eye(25)
    cross = kernel(new, train)
    mean = scale.target_mean + cross @ np.linalg.solve(gram, SPLIT.train.targets - scale.target_mean)
    variance = learned["amplitude"] ** 2 + learned["noise_scale"] ** 2 - np.diag(cross @ np.linalg.solve(gram, cross.T))
    predictive = fit.predict(SPLIT.test.inputs)
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(predictive.variance, variance, rtol=1e-5)


def test_too_many_rows_are_thinned_by_the_seed_and_said():
    method = GaussianProcess(restarts=0, max_rows=10)
    fit = method.fit([SPLIT, SPLIT], [5, 6])
    assert all("used 10 of 25 training rows" in status.sentence for status in fit.statuses)
    assert not np.array_equal(fit.predict(SPLIT.test.inputs).mean, fit.predict(SPLIT.test.inputs, replicate=1).mean)
    again = method.fit([SPLIT], [5])
    np.testing.assert_array_equal(again.predict(SPLIT.test.inputs).mean, fit.predict(SPLIT.test.inputs).mean)


def test_an_optimiser_that_did_not_converge_is_said_in_its_own_words(monkeypatch):
    """It has no validation and no steps of ours: the sentence must not speak of them."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor

    plain = GaussianProcessRegressor.fit

    def noisy(self, inputs, targets):
        warnings.warn("lbfgs failed to converge (status=1)", ConvergenceWarning, stacklevel=1)
        return plain(self, inputs, targets)

    monkeypatch.setattr(GaussianProcessRegressor, "fit", noisy)
    (status,) = GaussianProcess(restarts=0).fit([SPLIT], [5]).statuses
    assert status.code != "converged"
    assert "early stopping" not in status.sentence and "validation" not in status.sentence
    assert "converge" in status.sentence


def test_the_protocol_sets_it_up():
    assert GaussianProcess.from_protocol(Protocol("mine", scale_targets=False), Identity()).scale_targets is False


def test_targets_that_are_only_centred():
    fit = GaussianProcess(restarts=0, scale_targets=False).fit([SPLIT], [5])
    assert 25.0 < fit.predict(SPLIT.test.inputs).mean.mean() < 55.0


@pytest.mark.parametrize("options", [{"restarts": -1}, {"max_rows": 0}])
def test_options_that_cannot_be_are_refused(options):
    from corners.errors import SpecError

    with pytest.raises(SpecError, match=next(iter(options))):
        GaussianProcess(**options)
