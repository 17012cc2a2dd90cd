"""The Gaussian process: its predictive by the definition, its subset, and what it says of itself."""

import pickle

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.spatial.distance import cdist

from corners.backbones.identity import Identity
from corners.baselines.gaussian_process import GaussianProcess
from corners.data.split import Part, Split
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
    plain = optimize.minimize

    def unsure(*args, **kwargs):
        found = plain(*args, **kwargs)
        found.success = False
        return found

    monkeypatch.setattr("corners.baselines.gaussian_process.optimize.minimize", unsure)
    (status,) = GaussianProcess(restarts=0).fit([SPLIT], [5]).statuses
    assert status.code != "converged"
    assert "early stopping" not in status.sentence and "validation" not in status.sentence
    assert "converge" in status.sentence


def test_the_protocol_sets_it_up():
    assert GaussianProcess.from_protocol(Protocol("mine", scale_targets=False), Identity()).scale_targets is False


def test_targets_that_are_only_centred_give_the_same_process():
    """Starts and bounds follow the targets' scale, so that the choice of units decides nothing."""
    for factor in (1.0, 1e3):
        split = Split(*(Part(p.inputs, factor * p.targets) for p in (SPLIT.train, SPLIT.validation, SPLIT.test)), "x")
        one, other = (GaussianProcess(scale_targets=each).fit([split], [5]) for each in (True, False))
        assert one.statuses == other.statuses
        assert one.learned(0) == pytest.approx(other.learned(0), rel=1e-3)
        found, expected = (fit.predict(split.test.inputs) for fit in (one, other))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-4)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-3)


def likelihood(fit, split) -> float:
    """Log marginal likelihood of the training targets by the dense density."""
    learned, scale = fit.learned(0), fit.standardisers[0]
    inputs, targets = scale.inputs(split.train.inputs), split.train.targets - scale.target_mean
    distances = cdist(inputs, inputs, "sqeuclidean") / learned["length_scale"] ** 2
    gram = learned["amplitude"] ** 2 * np.exp(-0.5 * distances) + learned["noise_scale"] ** 2 * np.eye(len(targets))
    return float(stats.multivariate_normal.logpdf(targets, cov=gram))


def test_a_search_on_fewer_rows_ends_at_the_maximum_of_them_all():
    """The likelihood of all rows is what it is when all starts see all rows, and its slope is zero."""
    split = tiny_split(2, rows=(120, 6, 5))
    whole, searched = (GaussianProcess(search_rows=count).fit([split], [5]) for count in (120, 40))
    assert likelihood(searched, split) == pytest.approx(likelihood(whole, split), abs=1e-4)
    model = searched.models[0]
    slope = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)[1]
    assert np.abs(slope).max() < 1e-2 and len(model.X_train_) == 120
    assert "the best of 3 starts, searched on 40 rows and followed on 120" in searched.statuses[0].sentence
    assert "searched" not in whole.statuses[0].sentence


def test_the_end_is_where_scikit_learns_own_optimiser_ends():
    """Its likelihood, its slope and its optimiser, from the same starts."""
    from sklearn.gaussian_process import GaussianProcessRegressor

    model = GaussianProcess(restarts=1).fit([SPLIT], [5]).models[0]
    theirs = GaussianProcessRegressor(model.kernel, alpha=0.0, n_restarts_optimizer=1, random_state=5)
    theirs.fit(model.X_train_, model.y_train_)
    assert model.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-6)
    np.testing.assert_allclose(model.kernel_.theta, theirs.kernel_.theta, atol=1e-3)


def test_a_pickled_fit_predicts_the_same_bits():
    fit = GaussianProcess(restarts=0).fit([SPLIT], [5])
    one, other = (each.predict(SPLIT.test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.variance, other.variance)


def test_the_number_of_starts_is_said():
    for restarts, words in ((0, "one start"), (2, "the best of 3 starts")):
        assert words in GaussianProcess(restarts=restarts).fit([SPLIT], [5]).statuses[0].sentence


def test_a_hyperparameter_at_its_bound_is_said():
    """Targets that are an exact line of the inputs leave no noise."""
    inputs = np.random.default_rng(1).normal(size=(30, 2))
    part = Part(inputs, inputs @ np.array([1.0, -2.0]))
    (status,) = GaussianProcess(restarts=0).fit([Split(part, part, part, "line")], [5]).statuses
    assert "a kernel hyperparameter is at its bound" in status.sentence
    assert "bound" not in GaussianProcess().fit([SPLIT], [5]).statuses[0].sentence


@pytest.mark.parametrize("options", [{"restarts": -1}, {"max_rows": 0}, {"search_rows": 0}])
def test_options_that_cannot_be_are_refused(options):
    from corners.errors import SpecError

    with pytest.raises(SpecError, match=next(iter(options))):
        GaussianProcess(**options)
