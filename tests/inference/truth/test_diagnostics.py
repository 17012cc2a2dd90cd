import numpy as np
import pytest

from inference.errors import SpecError
from inference.truth import gaussian_k_hat
from inference.truth.diagnostics import diagnose
from inference.truth.gate import judge


def fake_run(rng, stuck=()):
    weights = rng.normal(size=(4, 1000, 2))
    for chain in stuck:
        weights[chain] = weights[chain, :1]
    stats = {"energy": rng.normal(size=(4, 1000)), "diverging": np.zeros((4, 1000), dtype=bool)}
    return weights, stats


def test_independent_draws_pass_and_are_named(generator):
    weights, stats = fake_run(generator)
    hyper = {"noise_scale": np.exp(generator.normal(size=(4, 1000)))}
    found = diagnose(weights, hyper, stats)
    assert found.names == ("weights[0]", "weights[1]", "log_noise_scale")
    assert judge(found, draws=4000, hyperpriors=True).passed
    # Independent draws: the effective size is the number of draws, up to the noise of its own estimate.
    assert np.all(np.abs(found.ess_mean / 4000.0 - 1.0) < 0.25)
    assert np.all(np.abs(found.bfmi - 2.0) < 0.3)  # independent energies: E (e - e')^2 / var = 2


def test_hyperparameters_are_judged_by_their_logarithms(generator):
    weights, stats = fake_run(generator)
    logs = generator.normal(size=(4, 1000, 1))
    as_weight = diagnose(logs, {}, stats)
    as_hyper = diagnose(weights, {"prior_precision": np.exp(logs[:, :, 0])}, stats)
    np.testing.assert_allclose(as_hyper.ess_sd[2], as_weight.ess_sd[0])


@pytest.mark.parametrize("stuck", [(2,), (0, 1, 2, 3)])
def test_stuck_chains_fail(stuck, generator):
    weights, stats = fake_run(generator, stuck)
    report = judge(diagnose(weights, {}, stats), draws=4000, hyperpriors=False)
    assert not report.passed and report.failures[0].name == "R-hat"


def test_a_chain_elsewhere_fails(generator):
    weights, stats = fake_run(generator)
    weights[3] += 1.0
    report = judge(diagnose(weights, {}, stats), draws=4000, hyperpriors=False)
    assert {check.name for check in report.failures} >= {"R-hat", "bulk ESS"}


def test_divergences_are_counted_by_chain(generator):
    weights, stats = fake_run(generator)
    stats["diverging"][1, :3] = True
    assert diagnose(weights, {}, stats).divergences.tolist() == [0, 3, 0, 0]


def standard(draws):
    return -0.5 * (draws**2).sum(axis=1) + 7.0


@pytest.mark.parametrize(("factor", "low", "high"), [(4.0, -np.inf, 0.3), (0.5, 0.3, 0.7), (0.1, 0.7, np.inf)])
def test_k_hat_of_a_gaussian_of_the_wrong_width(factor, low, high, generator):
    """In one dimension the ratios have tail index 1 - factor: k = 1 - factor for a narrow q, none for a wide one."""
    found = gaussian_k_hat(standard, np.zeros(1), factor * np.eye(1), rng=generator)
    assert low < found.k_hat < high and not found.exact
    verdict = "good" if found.k_hat < 0.5 else "usable" if found.k_hat <= 0.7 else "unreliable"
    assert str(found) == f"{found.k_hat:.2f} ({verdict})"


def test_k_hat_of_the_exact_gaussian_is_undefined(generator):
    found = gaussian_k_hat(standard, np.zeros(3), np.eye(3), rng=generator)
    assert found.exact and np.isnan(found.k_hat) and str(found) == "exact"


def test_k_hat_needs_a_proper_gaussian(generator):
    with pytest.raises(SpecError, match="not positive definite; add the jitter"):
        gaussian_k_hat(standard, np.zeros(2), np.zeros((2, 2)), rng=generator)
