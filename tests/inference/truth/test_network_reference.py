"""What a network's file keeps, what it says, and that a run that failed never comes back as truth."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from inference.errors import FormatError, TruthError
from inference.truth import NetworkReference, ReferencePosterior, read_certificate
from inference.truth.diagnostics import diagnose, psis_loo
from inference.truth.reference import Provenance, gaussian_log_density

CHAINS, DRAWS, POINTS = 4, 400, 3


def make(rng, function=None, noise=None):
    """Independent draws of a function at three inputs, two of which are the data."""
    function = rng.normal(size=(CHAINS, DRAWS, POINTS)) if function is None else function
    flat = function.reshape(-1, POINTS)
    scale = np.full(len(flat), 0.5) if noise is None else noise.reshape(-1)
    log_likelihood = gaussian_log_density(np.array([0.2, -0.1]), flat[:, :2], scale)
    stats = {"energy": rng.normal(size=(CHAINS, DRAWS)), "diverging": np.zeros((CHAINS, DRAWS), bool)}
    hyper = {} if noise is None else {"noise_scale": noise}
    settings = {"chains": CHAINS, "draws": DRAWS, "tune": 10, "target_accept": 0.9}
    given = {"noise_scale": 0.5 if noise is None else {"family": "half_normal", "scale": 1.0}}
    return NetworkReference(
        inputs=np.arange(3.0)[:, None],
        function=function,
        hyperparameters=hyper,
        log_likelihood=log_likelihood,
        moments=np.stack([flat.mean(axis=0), flat.std(axis=0, ddof=1)]),
        loo=psis_loo(log_likelihood),
        diagnostics=diagnose(function, hyper, stats, label="function"),
        provenance=Provenance("full network", "0", given, settings, 1, {}, {}, 10.0),
    )


@pytest.fixture
def healthy(generator):
    return make(generator, noise=np.exp(0.1 * generator.normal(size=(CHAINS, DRAWS))))


def test_a_file_keeps_the_certificate_whole_and_the_draws_thin(healthy, tmp_path):
    assert healthy.passed, str(healthy.gate)
    path = healthy.save(tmp_path / "net", kept=50)
    again = NetworkReference.load(path)
    chosen = np.linspace(0, DRAWS - 1, 50).round().astype(int)
    np.testing.assert_allclose(again.function, healthy.function[:, chosen], rtol=1e-6)
    np.testing.assert_allclose(
        again.log_likelihood.reshape(CHAINS, 50, 2),
        healthy.log_likelihood.reshape(CHAINS, DRAWS, 2)[:, chosen],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        again.hyperparameters["noise_scale"], healthy.hyperparameters["noise_scale"][:, chosen], rtol=1e-6
    )
    np.testing.assert_array_equal(again.mean(), healthy.mean())  # of all draws, not of the kept ones
    np.testing.assert_array_equal(again.sd(), healthy.sd())
    np.testing.assert_array_equal(again.loo.lpd, healthy.loo.lpd)
    assert again.loo.draws == again.draws == CHAINS * DRAWS
    assert str(again.gate) == str(healthy.gate) and again.provenance == healthy.provenance


def test_moments_are_of_the_draws(healthy):
    flat = healthy.function_draws()
    np.testing.assert_allclose(healthy.mean(), flat.mean(axis=0))
    np.testing.assert_allclose(healthy.sd(), flat.std(axis=0, ddof=1))
    np.testing.assert_array_equal(flat[DRAWS + 3], healthy.function[1, 3])


def test_the_predictive_is_the_mixture_over_the_draws(healthy, generator):
    targets, scale = np.array([0.1, 5.0, -2.0]), healthy.noise_scale()
    density = norm.pdf(targets, healthy.function_draws(), scale[:, None]).mean(axis=0)
    np.testing.assert_allclose(healthy.log_predictive(targets), np.log(density), rtol=1e-10)
    assert np.all(make(generator).noise_scale() == 0.5)  # held at the certificate's number


def test_the_certificate_can_be_read_by_people(healthy, tmp_path):
    document = read_certificate(healthy.save(tmp_path / "net"))
    assert document["passed"] is True and document["verdict"] == "usable as ground truth"
    first = document["checks_made"][0]
    assert first["name"] == "R-hat" and first["where"] in document["names"]
    assert document["kind"] == "bethe-corners reference network" and document["loo"] == healthy.loo.as_dict()


def test_at_most_what_there_is_is_kept(healthy):
    assert healthy.thinned(10**6).function.shape == healthy.function.shape


def stuck(rng):
    function = rng.normal(size=(CHAINS, DRAWS, POINTS))
    function[2] = function[2, :1]
    return function


def elsewhere(rng):
    function = rng.normal(size=(CHAINS, DRAWS, POINTS))
    function[1, :, 2] += 3.0
    return function


@pytest.mark.parametrize("fault", [stuck, elsewhere])
def test_a_chain_that_is_stuck_or_found_another_function_is_never_truth(fault, generator, tmp_path):
    """Saved with its reasons as not usable; refused when read, also where the text was edited."""
    path = make(generator, function=fault(generator)).save(tmp_path / "net")
    document = json.loads(path.read_text())
    assert document["passed"] is False and document["verdict"] == "not usable as ground truth"
    path.write_text(json.dumps(document | {"passed": True, "verdict": "usable as ground truth"}))
    with pytest.raises(TruthError, match=r"R-hat of function\[\d\].*the chains found different functions: run more"):
        NetworkReference.load(path)


def test_divergences_are_allowed_in_one_draw_of_a_thousand(healthy):
    one, many = (replace(healthy.diagnostics, divergences=np.array([count, 0, 0, 0])) for count in (1, 2))
    assert replace(healthy, diagnostics=one).passed
    assert [check.name for check in replace(healthy, diagnostics=many).gate.failures] == ["divergent fraction"]


def test_a_last_layer_is_no_network_and_a_part_that_is_missing_is_said(healthy, tmp_path):
    path = healthy.save(tmp_path / "net")
    with pytest.raises(FormatError, match="is not a bethe-corners reference posterior: it says it is"):
        ReferencePosterior.load(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"names": None}))
    with pytest.raises(FormatError, match="is incomplete"):
        NetworkReference.load(path)
