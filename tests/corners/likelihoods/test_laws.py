"""The likelihood laws over every registered likelihood, and over several Gaussian outputs."""

import pytest

from corners.beliefs import InverseGammaPrior
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods.gaussian import Gaussian
from tests.support.laws import likelihood_laws as laws

OUTPUTS = "gaussian of two outputs"


@pytest.fixture(params=[*LIKELIHOODS.names(), OUTPUTS])
def likelihood(request):
    if request.param == OUTPUTS:
        return Gaussian(noise_scale=0.7, hyperprior=InverseGammaPrior(), outputs=2)
    member = LIKELIHOODS.get(request.param).example()
    assert member.name == request.param
    return member


def test_partition_is_the_integral(likelihood):
    laws.check_partition_is_the_integral(likelihood)


def test_expectation_is_the_integral(likelihood):
    laws.check_expectation_is_the_integral(likelihood)


def test_latents_are_apart(likelihood):
    laws.check_latents_are_apart(likelihood)


@pytest.mark.filterwarnings("ignore:a marginal variance of:UserWarning")
def test_jensen(likelihood):
    laws.check_jensen(likelihood)


def test_point_limit(likelihood):
    laws.check_point_limit(likelihood)


def test_heat_equation(likelihood):
    laws.check_heat_equation(likelihood)


def test_gradients(likelihood):
    laws.check_gradients(likelihood)


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (-40.0, 2.5), (3e-6, 1e-6), (7.0, 1e6)])
def test_predictive_is_the_partition(likelihood, mean, scale):
    laws.check_predictive_is_the_partition(likelihood, mean, scale)


def test_start(likelihood):
    laws.check_start(likelihood)


def test_replicates_are_apart(likelihood):
    laws.check_replicates_are_apart(likelihood)


def test_constant_targets_start_finite(likelihood):
    laws.check_constant_targets_start_finite(likelihood)
