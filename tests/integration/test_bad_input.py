"""Bad and odd input, end to end: one clear sentence or a finite answer, never a stranger's traceback."""

import numpy as np
import pytest

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.beliefs import Prior
from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.training import CornerMethod
from corners.errors import DataError
from corners.likelihoods.gaussian import Gaussian
from corners.protocols import with_options
from corners.study import compare, make_method, method_names
from corners.study.heads import Target
from tests.support.problems import SHORT, TINY_PROTOCOL, tiny_split

SOME = ["sequential", "scroll_dense", "mean_closed_dense", "map", "gaussian_process"]
NAMES = [name for name in method_names(Target("regression")) if make_method(name).host is None]
GENERATOR = np.random.default_rng(8)
INPUTS = GENERATOR.normal(size=(25, 2))
TARGETS = 3.0 + INPUTS @ np.array([2.0, -1.0]) + 0.4 * GENERATOR.normal(size=25)


def scores(data, methods=NAMES, **options) -> dict[str, float]:
    """NLL of every method; each must be finite and every method must have run."""
    options = {"backbone": MLP(3), "seeds": [5], "protocol": TINY_PROTOCOL} | options
    comparison = compare(data, list(methods), **options)
    assert comparison.unavailable == {}
    found = {record["method"]: record["mean"] for record in comparison.records() if record["score"] == "nll"}
    assert set(found) == set(methods) and np.isfinite(list(found.values())).all(), found
    return found


def split_of(inputs, targets, cuts=(15, 20)) -> Split:
    pieces = zip(np.split(np.asarray(inputs), cuts), np.split(np.asarray(targets), cuts), strict=True)
    return Split(*(Part(x, y) for x, y in pieces), "odd")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_with_column_and_row(bad):
    inputs, targets = INPUTS.copy(), TARGETS.copy()
    inputs[7, 1] = bad
    with pytest.raises(DataError, match=r"column 'x1', row 7"):
        Dataset(inputs, targets)
    targets[4] = bad
    with pytest.raises(DataError, match=r"column 'target', row 4"):
        Dataset(INPUTS, targets)


def test_text_is_named_with_column_and_row():
    table = INPUTS.astype(object)
    table[3, 0] = "three"
    with pytest.raises(DataError, match=r"column 'x0' holds 'three' \(str\) in row 3"):
        Dataset(table, TARGETS)


def test_lengths_that_do_not_match_are_both_named():
    with pytest.raises(DataError, match="25 rows of inputs but 24 targets"):
        Dataset(INPUTS, TARGETS[:-1])


def test_one_row_cannot_be_split_and_says_how_many_it_needs():
    with pytest.raises(DataError, match=r"has 1 row\(s\).*at least 5"):
        scores(Dataset(INPUTS[:1], TARGETS[:1]))


def test_one_training_row_of_ones_own_split():
    """Nothing to learn from, but nothing breaks: the targets are called constant."""
    split = split_of(INPUTS[:6], TARGETS[:6], (1, 3))
    comparison = compare(split, NAMES, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert comparison.unavailable == {}
    for name, fit in comparison.fits.items():
        predictive = fit.predict(split.test.inputs)
        assert np.isfinite(predictive.mean).all() and (predictive.variance > 0.0).all(), name
    assert "constant" in comparison.fits["sequential"].statuses[0].sentence


def test_fewer_rows_than_features():
    scores(split_of(INPUTS, TARGETS), SOME, backbone=MLP(40))


def test_a_constant_column_is_dropped_by_a_random_split_and_harmless_in_ones_own():
    inputs = np.column_stack([INPUTS, np.full(25, 7.0)])
    data = Dataset(inputs, TARGETS)
    comparison = compare(data, ["sequential"], backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert comparison.splits[0].dropped == ("x2",)
    scores(split_of(inputs, TARGETS), SOME)


def test_a_constant_target_is_finite_and_said():
    comparison = compare(split_of(INPUTS, np.full(25, 3.0)), NAMES, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert comparison.unavailable == {}
    for name, fit in comparison.fits.items():
        predictive = fit.predict(INPUTS[20:])
        np.testing.assert_allclose(predictive.mean, 3.0, atol=1.0)
        assert np.isfinite(predictive.log_prob(np.full(5, 3.0))).all(), name
        if name in CELLS:  # whose objective has no floor but the noise's (theory 3.7)
            assert "targets are constant" in fit.statuses[0].sentence, name


def test_all_rows_duplicated_are_finite_and_said_where_it_matters():
    inputs, targets = np.repeat(INPUTS[:12], 2, axis=0), np.repeat(TARGETS[:12], 2)
    split = split_of(inputs, targets, (16, 20))
    comparison = compare(split, NAMES, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert comparison.unavailable == {}
    for name, fit in comparison.fits.items():
        assert np.isfinite(fit.predict(split.test.inputs).log_prob(split.test.targets)).all(), name
    assert "duplicated" in comparison.fits["leave_one_out"].statuses[0].sentence


def test_a_single_row_repeated():
    split = split_of(np.tile(INPUTS[:1], (12, 1)), np.tile(TARGETS[:1], 12), (6, 9))
    comparison = compare(split, NAMES, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert comparison.unavailable == {}
    assert all(np.isfinite(fit.predict(split.test.inputs).mean).all() for fit in comparison.fits.values())


# Units of the targets


def scaled(split: Split, factor: float) -> Split:
    parts = (split.train, split.validation, split.test)
    return Split(*(Part(part.inputs, factor * part.targets) for part in parts), split.name)


@pytest.mark.parametrize("factor", [1e-6, 3.7, 1e6])
def test_with_hyperparameters_in_the_same_unit_every_score_shifts_by_the_log(factor):
    """Fixed features and hyperparameters, targets only centred: NLL shifts by exactly ``log a``."""

    def nll(scale: float) -> np.ndarray:
        noise = Gaussian(noise_scale=1.5 * scale, learned=False)
        prior = Prior(precision=0.7 / scale**2, learned=False)
        corner = Corner("sequential", "closed", "dense", likelihood=noise, prior=prior, backbone=Identity())
        split = scaled(tiny_split(1), scale)
        fit = CornerMethod("exact", corner, SHORT, scale_targets=False).fit([split], [5])
        assert fit.statuses[0].code == "exact"
        return -fit.predict(split.test.inputs).log_prob(split.test.targets)

    np.testing.assert_allclose(nll(factor), nll(1.0) + np.log(factor), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("power", [-20, 17])
def test_a_trained_fit_shifts_by_exactly_k_log_2_for_a_power_of_two(name, power):
    """Under scaled targets the training is the same to the last bit, and predictions are multiplied exactly."""
    split, method = tiny_split(1), make_method(name, protocol=TINY_PROTOCOL, backbone=MLP(3))
    one, other = method.fit([split], [5]), method.fit([scaled(split, 2.0**power)], [5])
    if "objective" in one.trace.values:
        np.testing.assert_array_equal(one.trace.values["objective"], other.trace.values["objective"])
    plain, shifted = one.predict(split.test.inputs), other.predict(split.test.inputs)
    np.testing.assert_array_equal(shifted.mean, 2.0**power * plain.mean)
    np.testing.assert_array_equal(shifted.variance, 4.0**power * plain.variance)
    nll, moved = plain.log_prob(split.test.targets), shifted.log_prob(2.0**power * split.test.targets)
    np.testing.assert_allclose(moved, nll - power * np.log(2.0), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_trained_fit_on_other_scales_is_the_same_up_to_rounding(factor):
    plain, shifted = scores(tiny_split(1), SOME), scores(scaled(tiny_split(1), factor), SOME)
    for name in SOME:
        assert shifted[name] == pytest.approx(plain[name] + np.log(factor), abs=1e-6), name


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_targets_that_are_only_centred_are_finite_on_every_scale(factor):
    """Without scaling, bounds and starts are in the targets' own unit."""
    scores(scaled(tiny_split(1), factor), SOME, protocol=with_options(TINY_PROTOCOL, scale_targets=False))


def test_inputs_of_wildly_different_scales():
    scores(split_of(INPUTS * np.array([1e-9, 1e9]), TARGETS), SOME)
