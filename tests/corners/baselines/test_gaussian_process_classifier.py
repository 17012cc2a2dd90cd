"""gaussian_process_classifier: scikit-learn called directly, the cap of rows, classes against the rest."""

import pickle

import numpy as np
import pytest
from sklearn import gaussian_process
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from corners.baselines.gaussian_process_classifier import GaussianProcessClassifier, _some_rows
from corners.data.split import Part, Split
from corners.errors import SpecError
from tests.support.task_splits import tiny_classes

SEEDS = [5, 6]


def scaled(split: Split, part: Part) -> np.ndarray:
    return (part.inputs - split.train.inputs.mean(0)) / split.train.inputs.std(0)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_scikit_learns_classifier(classes):
    splits = [tiny_classes(seed, rows=(30, 6, 5), classes=classes) for seed in (1, 2)]
    fit = GaussianProcessClassifier(restarts=0).fit(splits, SEEDS)
    for k, split in enumerate(splits):
        kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(2.0**0.5, (1e-2, 1e3))
        theirs = gaussian_process.GaussianProcessClassifier(kernel)
        theirs.fit(scaled(split, split.train), split.train.targets)
        found = fit.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(found.probabilities, theirs.predict_proba(scaled(split, split.test)), rtol=1e-8)
        learned, sentence = fit.learned(k), fit.statuses[k].sentence
        assert ("one process for each of 3 classes against the rest" in sentence) == (classes == 3)
        if classes == 2:
            assert learned["amplitude"] == pytest.approx(theirs.kernel_.k1.constant_value**0.5)
            assert learned["length_scale"] == pytest.approx(theirs.kernel_.k2.length_scale)
        else:
            assert set(learned) == {f"{name}_{k}" for name in ("amplitude", "length_scale") for k in range(3)}


def test_above_the_cap_it_uses_a_subset_and_says_so():
    splits = [tiny_classes(seed, rows=(40, 6, 5), classes=2) for seed in (1, 2)]
    fit = GaussianProcessClassifier(restarts=0, max_rows=15).fit(splits, SEEDS)
    assert all("used 15 of 40 training rows" in status.sentence for status in fit.statuses)
    assert fit.models[0].base_estimator_.X_train_.shape == (15, 2)


def test_a_subset_has_every_class():
    labels = np.zeros(200)
    labels[[7, 120]] = 1.0, 2.0
    for seed in range(20):
        rows = _some_rows(labels, 10, np.random.default_rng(seed))
        assert rows.size == 10 == np.unique(rows).size and set(labels[rows]) == {0.0, 1.0, 2.0}
    np.testing.assert_array_equal(_some_rows(labels, 200, np.random.default_rng(1)), np.arange(200))


def test_a_missing_class_fails_its_replicate_alone():
    split, whole = tiny_classes(1), tiny_classes(2)
    some = Part(split.train.inputs, np.minimum(split.train.targets, 1.0))
    without = Split(some, split.validation, split.test, "two", task="classification", labels=split.labels)
    fit = GaussianProcessClassifier(restarts=0, temperature=True).fit([without, whole], SEEDS)
    assert "no training row has class blue: it would be 0" in fit.statuses[0].sentence and fit.learned(0) == {}
    with pytest.raises(SpecError, match="gaussian_process_classifier, seed 5: failed"):
        fit.predict(split.test.inputs)
    assert fit.learned(1)["temperature"] > 0.0


def test_a_pickled_fit_predicts_the_same_bits():
    split = tiny_classes(1)
    fit = GaussianProcessClassifier(restarts=0).fit([split], [5])
    one, other = (each.predict(split.test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


@pytest.mark.parametrize("options", [{"restarts": -1}, {"max_rows": 1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(SpecError, match="restarts must be at least 0"):
        GaussianProcessClassifier(**options)
