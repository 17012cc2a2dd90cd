"""The Gaussian likelihood: noise that starts, is bounded, is fixed, and is judged by its hyperprior."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from corners.beliefs import HalfCauchyPrior, InverseGammaPrior, Marginals
from corners.covariances._base import Coupling
from corners.errors import DataError, SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR, TARGET_VAR, Gaussian
from corners.likelihoods.probit import Probit
from tests.support.problems import assert_close, normal, real


def test_noise_starts_at_half_the_variance_of_the_targets():
    targets = normal(1, 2, 9) * real(0.3, 40.0)[:, None]
    expected = 0.5 * targets.numpy().var(axis=1)
    assert_close(Gaussian().init(targets)[LOG_NOISE_VAR].exp(), expected)


def test_a_given_noise_scale_is_a_standard_deviation():
    params = Gaussian(noise_scale=0.2).init(normal(1, 3, 9))
    assert_close(params[LOG_NOISE_VAR].exp(), np.full(3, 0.04))


def test_density_is_scipys():
    params = {LOG_NOISE_VAR: real(0.49).log(), TARGET_VAR: real(1.0)}
    targets, latent = normal(1, 1, 6), normal(2, 1, 6)
    expected = stats.norm.logpdf(targets.numpy(), latent.numpy(), 0.7)
    assert_close(Gaussian().log_prob(params, targets, latent), expected)


def test_the_gap_of_jensen_is_the_stated_one():
    """``½ [κ - log(1 + κ)] + ½ ρκ/(1 + κ)`` with ``κ = v/σ²``, ``ρ = r²/σ²`` (theory 3.8b)."""
    noise_var = 0.3
    params = {LOG_NOISE_VAR: real(noise_var).log(), TARGET_VAR: real(1.0)}
    targets, marginals = normal(1, 1, 6), Marginals(normal(2, 1, 6), normal(3, 1, 6).exp())
    kappa = marginals.variance / noise_var
    rho = (targets - marginals.mean).square() / noise_var
    expected = 0.5 * (kappa - kappa.log1p()) + 0.5 * rho * kappa / (1.0 + kappa)
    likelihood = Gaussian()
    gap = likelihood.log_partition(params, targets, marginals) - likelihood.expected_log_prob(
        params, targets, marginals
    )
    assert_close(gap, expected)


def test_the_ceiling_is_four_variances_and_includes_a_start_above_it():
    params = Gaussian(noise_scale=3.0).init(normal(1, 1, 9))
    assert_close(Gaussian().ceiling(params)[LOG_NOISE_VAR], (4.0 * params[TARGET_VAR]).log())
    assert float(Gaussian(noise_scale=30.0).ceiling(params)[LOG_NOISE_VAR]) == pytest.approx(2.0 * math.log(30.0))


def test_the_floor_can_be_moved_and_includes_a_start_below_it():
    assert Gaussian().bounds()[LOG_NOISE_VAR][0] == -14.0
    assert Gaussian(log_noise_var_floor=-30.0).bounds()[LOG_NOISE_VAR][0] == -30.0
    assert Gaussian(noise_scale=1e-6).bounds()[LOG_NOISE_VAR][0] == pytest.approx(2.0 * math.log(1e-6))


def test_what_is_fixed_is_frozen():
    assert LOG_NOISE_VAR not in Gaussian().frozen
    assert LOG_NOISE_VAR in Gaussian(noise_scale=1.0, learned=False).frozen
    assert TARGET_VAR in Gaussian().frozen


@pytest.mark.parametrize("noise_scale", [0.0, -1.0, math.inf, math.nan])
def test_a_noise_scale_that_is_no_standard_deviation_is_refused(noise_scale):
    with pytest.raises(SpecError, match=r"standard deviation.*positive and finite; got"):
        Gaussian(noise_scale=noise_scale)


def test_fixed_noise_needs_its_value():
    with pytest.raises(SpecError, match="learned=False fixes the noise: give noise_scale"):
        Gaussian(learned=False)


def hyperprior_differences(hyperprior, log_density) -> tuple[np.ndarray, np.ndarray]:
    """Penalty and negative log density along noise variances, both against their first value: constants drop out."""
    variances = np.array([0.02, 0.3, 1.7, 9.0])
    params = {LOG_NOISE_VAR: torch.tensor(variances).log(), TARGET_VAR: real(2.3, 2.3, 2.3, 2.3)}
    penalty = Gaussian(hyperprior=hyperprior).penalty(params).numpy()
    expected = -log_density(variances)
    return penalty - penalty[0], expected - expected[0]


def test_inverse_gamma_is_scipys_density_of_the_variance():
    one, other = hyperprior_differences(
        InverseGammaPrior(shape=1.5, relative_scale=0.2), lambda v: stats.invgamma.logpdf(v, 1.5, scale=0.2 * 2.3)
    )
    assert_close(one, other, abs_=1e-10)


def test_inverse_gamma_with_a_scale_of_its_own():
    one, other = hyperprior_differences(
        InverseGammaPrior(shape=2.5, scale=0.7), lambda v: stats.invgamma.logpdf(v, 2.5, scale=0.7)
    )
    assert_close(one, other, abs_=1e-10)


def test_half_cauchy_is_scipys_density_of_the_standard_deviation():
    one, other = hyperprior_differences(
        HalfCauchyPrior(scale=0.6), lambda v: stats.halfcauchy.logpdf(np.sqrt(v), scale=0.6)
    )
    assert_close(one, other, abs_=1e-10)


def test_without_a_hyperprior_there_is_no_penalty():
    params = Gaussian().init(normal(1, 3, 9))
    assert not Gaussian().penalty(params).any()


def coupled(rows: int = 4, outputs: int = 3) -> tuple[Gaussian, dict, torch.Tensor, Marginals]:
    """Outputs that the belief couples: a covariance of its own at every data point."""
    root = normal(1, 1, outputs, outputs)
    coupling = Coupling(root @ root.mT, normal(2, 1, rows).exp(), 0.1 * normal(3, 1, rows).exp())
    variance = coupling.covariance().diagonal(dim1=-2, dim2=-1).mT
    params = {LOG_NOISE_VAR: normal(4, 1, outputs), TARGET_VAR: torch.ones(1, outputs).double()}
    marginals = Marginals(normal(5, 1, outputs, rows), variance, coupling)
    return Gaussian(outputs=outputs), params, normal(6, 1, outputs, rows), marginals


def test_coupled_outputs_are_scored_jointly():
    """``∫ N(y; f, diag σ²) N(f; m, V) df = N(y; m, V + diag σ²)``, not the product of the outputs' own."""
    likelihood, params, targets, marginals = coupled()
    assert marginals.coupling is not None
    noise, latent = params[LOG_NOISE_VAR][0].exp().numpy(), marginals.coupling.covariance()[0].numpy()
    expected = np.array(
        [
            stats.multivariate_normal.logpdf(targets[0, :, n], marginals.mean[0, :, n], latent[n] + np.diag(noise))
            for n in range(4)
        ]
    )
    assert_close(likelihood.log_partition(params, targets, marginals)[0], expected)
    apart = likelihood.log_partition(params, targets, Marginals(marginals.mean, marginals.variance))
    assert float((apart[0] - torch.tensor(expected)).abs().min()) > 1e-3
    own = {name: value[0] for name, value in params.items()}
    one = Marginals(
        marginals.mean[0], marginals.variance[0], Coupling(*(each[0] for each in vars(marginals.coupling).values()))
    )
    mean, scale = np.array([5.0, -1.0, 0.0]), np.array([2.0, 10.0, 0.1])
    joint = likelihood.joint_predictive(own, one, mean, scale)
    assert_close(joint.log_prob(mean + scale * targets[0].numpy().T), expected - np.log(scale).sum())


def test_the_expectation_of_coupled_outputs_sees_their_variances_alone():
    """``log p`` is a sum over the outputs, so its expectation is too: by the mean of many joint draws."""
    likelihood, params, targets, marginals = coupled()
    assert marginals.coupling is not None
    lower = torch.linalg.cholesky(marginals.coupling.covariance())[0]
    draws = (lower @ normal(7, 40_000, 4, 3)[..., None])[..., 0].mT + marginals.mean
    own = {name: value[0] for name, value in params.items()}
    values = likelihood.log_prob(own, targets[0].expand_as(draws), draws)
    error = values.std(0) / len(draws) ** 0.5
    assert bool(
        ((likelihood.expected_log_prob(params, targets, marginals)[0] - values.mean(0)).abs() < 4.5 * error).all()
    )
    gap = likelihood.log_partition(params, targets, marginals) - likelihood.expected_log_prob(
        params, targets, marginals
    )
    assert bool((gap >= 0.0).all())


def test_gradients_of_coupled_outputs():
    likelihood, params, targets, marginals = coupled(rows=2, outputs=2)
    assert marginals.coupling is not None

    def term(log_var, mean, outputs, scale, own):
        at = Marginals(mean, marginals.variance, Coupling(outputs @ outputs.mT, scale, own))
        return likelihood.log_partition(params | {LOG_NOISE_VAR: log_var}, targets, at)

    leaves = [params[LOG_NOISE_VAR], marginals.mean, *vars(marginals.coupling).values()]
    assert torch.autograd.gradcheck(term, [each.clone().requires_grad_() for each in leaves])


def test_another_number_of_outputs_is_refused():
    with pytest.raises(SpecError, match="outputs counts the target columns and must be at least 1; got 0"):
        Gaussian(outputs=0)
    with pytest.raises(
        DataError, match=r"shape \(2, 9\), so 1 column\(s\), and the likelihood is for 3; use Gaussian\(outputs=1\)"
    ):
        Gaussian(outputs=3).init(normal(1, 2, 9))
    with pytest.raises(DataError, match=r"shape \(2, 4, 9\), so 4 column\(s\)"):
        Gaussian(outputs=3).init(normal(1, 2, 4, 9))
    likelihood, params, _, marginals = coupled()
    with pytest.raises(SpecError, match="3 outputs have a joint predictive"):
        likelihood.predictive(params, marginals, 0.0, 1.0)
    with pytest.raises(SpecError, match="likelihood 'probit' has one output a data point; ask for its predictive"):
        Probit().joint_predictive({}, marginals, 0.0, 1.0)


def test_the_noise_of_every_output_starts_and_is_bounded_by_itself():
    targets = normal(1, 2, 3, 9) * real(0.1, 1.0, 30.0)[:, None]
    several = Gaussian(outputs=3)
    params, alone = several.init(targets), Gaussian().init(targets[:, 2])
    assert params[LOG_NOISE_VAR].shape == (2, 3) and several.latents == several.target_columns == 3
    assert torch.equal(params[LOG_NOISE_VAR][:, 2], alone[LOG_NOISE_VAR])
    assert torch.equal(several.ceiling(params)[LOG_NOISE_VAR][:, 2], Gaussian().ceiling(alone)[LOG_NOISE_VAR])
