"""What every method and its fit must satisfy, cells and references alike, on tiny splits and few steps."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.data.split import Split
from corners.errors import DataError, SpecError
from corners.method import METHODS, STATUS_SENTENCES, Fit, FitStatus, LastLayer, Method
from corners.predictive.categorical import CategoricalPredictive
from corners.study import make_method
from tests.support.problems import TINY_PROTOCOL, tiny_split
from tests.support.task_splits import tiny_classes, tiny_counts

SEEDS = [5, 6]


@dataclass(frozen=True)
class Tables:
    """Two splits of equal shape, a smaller one, one of which only the test part is used, one of another task."""

    splits: list[Split]
    small: Split
    new: Split
    other: Split


TABLES = {
    "regression": Tables([tiny_split(1), tiny_split(2)], tiny_split(3, rows=(9, 4, 3)), tiny_split(9), tiny_counts(1)),
    "classification": Tables(
        [tiny_classes(1), tiny_classes(2)], tiny_classes(3, rows=(9, 4, 3)), tiny_classes(9), tiny_counts(1)
    ),
    "count": Tables([tiny_counts(1), tiny_counts(2)], tiny_counts(3, rows=(9, 4, 3)), tiny_counts(9), tiny_classes(1)),
}
NEW = TABLES["regression"].new.test.inputs
"""All tasks have the same test inputs."""


def task(name: str) -> str:
    """What the laws fit the method to; cells are fitted with their default head."""
    return METHODS.get(name).tasks[0] if name in METHODS.names() else "regression"


def tables(name: str) -> Tables:
    """The tables of its task."""
    return TABLES[task(name)]


def method(name: str, table: Split | None = None) -> Method:
    """The method under a protocol of a few steps, with three features."""
    return make_method(name, protocol=TINY_PROTOCOL, backbone=MLP(3), table=table or tables(name).splits[0])


def host_of(name: str, splits, seeds) -> Fit | None:
    """The fit of the method's host, where it needs one."""
    host = method(name).host
    return None if host is None else method(host, splits[0]).fit(splits, seeds)


def fit(name: str, splits=None, seeds=None) -> Fit:
    """Its fit, its host fitted before where it needs one."""
    splits, seeds = splits or tables(name).splits, seeds or SEEDS
    return method(name).fit(splits, seeds, host=host_of(name, splits, seeds))


def numbers(predictive) -> list[np.ndarray]:
    """What two predictives are compared by."""
    if isinstance(predictive, CategoricalPredictive):
        return [predictive.probabilities]
    return [predictive.mean, predictive.variance]


def alike(one, other, rtol: float) -> None:
    """Two predictives give the same numbers; a probability near zero counts by its distance from it."""
    floor = 1e-12 if rtol and isinstance(one, CategoricalPredictive) else 0.0
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=floor)


def check_promises(name: str, fitted: Fit) -> None:
    """Name, seeds and one status a replicate, in words; the trace has a row for each; time went by."""
    assert fitted.method == name and method(name).name == name
    assert fitted.seeds == tuple(SEEDS) and len(fitted.statuses) == len(SEEDS)
    for status in fitted.statuses:
        assert isinstance(status, FitStatus) and status.usable
        assert status.sentence.startswith(STATUS_SENTENCES[status.code])
    assert all(rows.shape == (len(SEEDS), fitted.trace.steps.size) for rows in fitted.trace.values.values())
    assert fitted.seconds > 0.0


def check_predictions(name: str, fitted: Fit) -> None:
    """Finite, in original units, with log probabilities of the targets."""
    for k in range(len(SEEDS)):
        predictive = fitted.predict(NEW, replicate=k)
        if isinstance(predictive, CategoricalPredictive):
            assert predictive.probabilities.shape == (len(NEW), 3)
        else:
            assert predictive.mean.shape == predictive.variance.shape == (len(NEW),)
            assert np.isfinite(predictive.mean).all() and (predictive.variance > 0.0).all()
            low, high = (25.0, 55.0) if predictive.task == "regression" else (10.0, 60.0)
            assert low < predictive.mean.mean() < high
        log_prob = predictive.log_prob(tables(name).new.test.targets)
        assert np.isfinite(log_prob).all() and log_prob.dtype == np.float64


def check_learned(fitted: Fit) -> None:
    """Finite numbers by name; the noise scale is a positive standard deviation in original units."""
    for k in range(len(SEEDS)):
        values = fitted.learned(k)
        assert values and all(isinstance(value, float) and np.isfinite(value) for value in values.values())
        if "noise_scale" in values:
            assert 1e-4 < values["noise_scale"] < 100.0


def check_same_seed_same_numbers(name: str, fitted: Fit) -> None:
    """Fitted twice: the same predictions to the last bit."""
    again = fit(name)
    for k in range(len(SEEDS)):
        alike(*(each.predict(NEW, replicate=k) for each in (fitted, again)), rtol=0.0)


def check_a_replicate_is_that_run_alone(name: str, fitted: Fit) -> None:
    """Replicate k of a batch equals that run alone, to rounding grown over the steps (1e-7 relative)."""
    for k, seed in enumerate(SEEDS):
        alone = fit(name, [tables(name).splits[k]], [seed]).predict(NEW)
        alike(fitted.predict(NEW, replicate=k), alone, rtol=1e-7)


def check_splits_of_other_shapes(name: str, fitted: Fit) -> None:
    """Unequal shapes in one call: each replicate keeps its place and is what it would have been."""
    own = tables(name)
    mixed = fit(name, [own.splits[0], own.small, own.splits[1]], [5, 7, 6])
    for k, j in ((0, 0), (2, 1)):
        alike(mixed.predict(NEW, replicate=k), fitted.predict(NEW, replicate=j), rtol=1e-7)
    alone = fit(name, [own.small], [7]).predict(NEW)
    alike(mixed.predict(NEW, replicate=1), alone, rtol=1e-7)


def check_another_task_is_refused(name: str) -> None:
    """A table of another task, in words that name the task."""
    if name not in METHODS.names() or method(name).host is not None:
        return  # the heads of cells check their own targets, and a host is fitted before
    other = tables(name).other
    with pytest.raises(DataError, match=f"{name} is for .* but the task of '{other.name}' is {other.task}; for"):
        method(name).fit([other], [5])


def check_last_layer_is_the_predictive(fitted: Fit) -> None:
    """What ``last_layer`` hands to the truth predicts what the fit predicts: ``N(μᵀψ, σ² + ψᵀΣψ)``, rescaled."""
    for k, split in enumerate(TABLES["regression"].splits):
        if isinstance(fitted.predict(NEW, replicate=k), CategoricalPredictive):
            return
        layer = fitted.last_layer(k, split)
        if layer is None:
            continue
        predictive = fitted.predict(split.test.inputs, replicate=k)
        spread = np.einsum("nh,hk,nk->n", layer.test_features, layer.covariance, layer.test_features)
        mean = layer.target_mean + layer.target_scale * layer.test_features @ layer.mean
        np.testing.assert_allclose(predictive.mean, mean, rtol=1e-9)
        np.testing.assert_allclose(predictive.variance, layer.target_scale**2 * (layer.noise_var + spread), rtol=1e-9)
        _check_units(layer, split)
        learned = fitted.learned(k)
        assert learned["prior_precision"] == pytest.approx(layer.prior_precision)
        assert learned["noise_scale"] == pytest.approx(layer.target_scale * layer.noise_var**0.5)


def _check_units(layer: LastLayer, split) -> None:
    np.testing.assert_allclose(layer.target_mean + layer.target_scale * layer.targets, split.train.targets, rtol=1e-12)
    np.testing.assert_allclose(
        layer.target_mean + layer.target_scale * layer.test_targets, split.test.targets, rtol=1e-12
    )
    assert len(layer.features) == split.train.n and len(layer.test_features) == split.test.n


def check_features(fitted: Fit) -> None:
    """(N, H) numbers, or none at all."""
    for k in range(len(SEEDS)):
        features = fitted.features(NEW, replicate=k)
        assert features is None or (features.shape[0] == len(NEW) and np.isfinite(features).all())


def check_wrong_inputs_are_refused(fitted: Fit) -> None:
    """Other columns, NaN, infinity: our own error, and it is the inputs that it blames."""
    with pytest.raises(DataError, match=r"\(4, 3\)"):
        fitted.predict(np.zeros((4, 3)))
    for bad in (np.nan, np.inf):
        inputs = NEW.copy()
        inputs[2, 1] = bad
        with pytest.raises(DataError, match="input"):
            fitted.predict(inputs)


def check_an_unusable_replicate_refuses_to_predict(fitted: Fit) -> None:
    """The refusal names the method, the seed and what happened."""
    changes = {"statuses": (FitStatus("failed", "at step 0"), *fitted.statuses[1:])}
    if hasattr(fitted, "references"):
        changes["references"] = {1: fitted.references[1]}
    broken = replace(fitted, **changes)
    with pytest.raises(SpecError, match=f"{fitted.method}, seed 5: failed before a finite state"):
        broken.predict(NEW)
    assert np.isfinite(numbers(broken.predict(NEW, replicate=1))[0]).all()


def check_progress_is_told(name: str) -> None:
    """A long fit says how far it is: steps that grow, replicates running, a best value."""
    heard: list[tuple[int, int, float]] = []
    splits = tables(name).splits
    method(name).fit(splits, SEEDS, host=host_of(name, splits, SEEDS), progress=lambda *said: heard.append(said))
    assert heard and all(running >= 0 for _, running, _ in heard)
    assert [step for step, _, _ in heard] == sorted(step for step, _, _ in heard)


def check_one_split_a_seed(name: str) -> None:
    """Sequences of unequal length are refused in words."""
    splits = tables(name).splits
    host = host_of(name, splits, SEEDS)
    with pytest.raises(SpecError, match="2 splits and 1 seed"):
        method(name).fit(splits, [5], host=host)


def check_specification_is_frozen(name: str) -> None:
    """A method holds no state: it cannot be changed after it was made."""
    with pytest.raises(AttributeError):
        method(name).name = "other"  # type: ignore[misc]
