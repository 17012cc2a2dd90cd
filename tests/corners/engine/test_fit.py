"""What a trained cell hands out: predictions, its last layer with its hyperpriors, what it learned."""

from dataclasses import replace

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.beliefs import GammaPrior, HalfCauchyPrior, InverseGammaPrior, Prior
from corners.engine.cells import CELLS
from corners.engine.fit import CornerFit
from corners.engine.training import CornerMethod
from corners.errors import DataError, SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import FitStatus, HyperpriorSpec
from tests.support.corner_cells import JITTER, cell
from tests.support.problems import SHORT, tiny_split

SPLIT = tiny_split(1)


def fit(name: str = "scroll_dense", **options) -> CornerFit:
    training = {key: options.pop(key) for key in ("scale_targets", "dtype") if key in options}
    return CornerMethod(name, cell(name, backbone=MLP(3), **options), SHORT, **training).fit([SPLIT], [5])


def test_the_last_layer_names_its_cell_and_its_jitter():
    for name, axes in CELLS.items():
        layer = fit(name).last_layer(0, SPLIT)
        assert layer is not None
        assert (layer.cavity, layer.routing, layer.family) == (axes.cavity, axes.routing, axes.covariance)
        exact = name in ("sequential", "leave_one_out")
        assert layer.jitter == (0.0 if exact or axes.covariance == "none" else JITTER)
        assert layer.has_prior_term == (not exact)
        values = np.linalg.eigvalsh(layer.covariance)
        assert values.min() >= layer.jitter * (1.0 - 1e-9)


def test_the_hyperpriors_are_handed_to_the_sampler_as_numbers_in_the_units_trained_in():
    prior, noise = (
        Prior(hyperprior=GammaPrior(2.5, cap=40.0)),
        Gaussian(hyperprior=InverseGammaPrior(1.5, relative_scale=0.3)),
    )
    for scale_targets in (True, False):
        layer = fit(prior=prior, likelihood=noise, scale_targets=scale_targets).last_layer(0, SPLIT)
        assert layer is not None
        assert layer.precision_prior == HyperpriorSpec("gamma", 2.5, (1.5 + 2.5 - 1.0) / 40.0)
        assert layer.noise_prior is not None and layer.noise_prior.family == "inverse_gamma"
        assert layer.noise_prior.first == 1.5
        assert layer.noise_prior.second == pytest.approx(0.3 * layer.targets.var(), rel=1e-12)


def test_without_hyperpriors_there_are_none_to_hand_over():
    layer = fit().last_layer(0, SPLIT)
    assert layer is not None and layer.precision_prior is None and layer.noise_prior is None
    other = fit(likelihood=Gaussian(hyperprior=HalfCauchyPrior())).last_layer(0, SPLIT)
    assert other is not None and other.noise_prior is None


def test_scaled_and_centred_targets_give_original_units():
    for scale_targets in (True, False):
        fitted = fit(scale_targets=scale_targets)
        assert 25.0 < fitted.predict(SPLIT.test.inputs).mean.mean() < 55.0
        assert 0.3 < fitted.learned(0)["noise_scale"] < 15.0


def test_trained_in_single_precision_it_still_predicts_in_double():
    fitted = fit(dtype="float32")
    predictive = fitted.predict(SPLIT.test.inputs)
    assert predictive.mean.dtype == predictive.variance.dtype == np.float64
    assert fitted.features(SPLIT.test.inputs).dtype == np.float64
    np.testing.assert_allclose(predictive.mean, fit().predict(SPLIT.test.inputs).mean, rtol=0.05)


def test_inputs_of_another_shape_are_refused_with_the_shapes():
    with pytest.raises(DataError, match=r"\(4, 3\).*\(N, 2\)"):
        fit().predict(np.zeros((4, 3)))


def test_a_failed_replicate_refuses_to_predict_and_to_be_judged():
    broken = replace(fit(), statuses=(FitStatus("failed", "at step 3"),))
    for use in (lambda: broken.predict(SPLIT.test.inputs), lambda: broken.last_layer(0, SPLIT)):
        with pytest.raises(SpecError, match="scroll_dense, seed 5: failed before a finite state was reached"):
            use()


def test_the_trace_is_in_original_units():
    fitted = fit("sequential")
    last = fitted.trace.values
    assert set(last) >= {"objective", "validation_nll", "test_nll", "prior_precision", "noise_scale"}
    step = int(fitted.learned(0)["steps"])
    assert last["noise_scale"][0, step] == pytest.approx(fitted.learned(0)["noise_scale"], rel=1e-9)
    test_nll = -fitted.predict(SPLIT.test.inputs).log_prob(SPLIT.test.targets).mean()
    assert last["test_nll"][0, step] == pytest.approx(test_nll, rel=1e-9)
