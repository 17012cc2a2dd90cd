import numpy as np
import pytest
from scipy import stats

from inference.errors import SpecError
from inference.truth import Gamma, HalfNormal, Hyperpriors, InverseGamma, LogNormal, Normal
from tests.inference.truth.oracles import integral_of

PAIRS = [
    (Gamma(2.3, 0.7), stats.gamma(2.3, scale=1 / 0.7)),
    (InverseGamma(1.4, 0.6), stats.invgamma(1.4, scale=0.6)),
    (HalfNormal(1.7), stats.halfnorm(scale=1.7)),
    (LogNormal(-0.4, 0.8), stats.lognorm(0.8, scale=np.exp(-0.4))),
]
IDS = [prior.family for prior, _ in PAIRS]


@pytest.mark.parametrize(("prior", "frozen"), PAIRS, ids=IDS)
def test_log_density_is_scipys_and_normalised(prior, frozen):
    for x in (0.05, 0.6, 1.0, 3.0, 11.0):
        np.testing.assert_allclose(prior.log_density(x), frozen.logpdf(x), rtol=1e-12, atol=1e-12)
    in_logs = integral_of(lambda u: prior.log_density(float(np.exp(u))) + u, -25.0, 12.0)
    np.testing.assert_allclose(in_logs, 1.0, rtol=1e-6)


@pytest.mark.parametrize(("prior", "_"), PAIRS, ids=IDS)
def test_as_dict_holds_all_that_is_needed_to_make_it_again(prior, _):
    document = prior.as_dict()
    assert document.pop("family") == prior.family
    assert type(prior)(**document) == prior


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_parameters_out_of_range_are_named(value):
    with pytest.raises(SpecError, match="Gamma: rate must be finite and positive but got"):
        Gamma(1.0, float(value))


def test_log_normal_may_have_a_negative_mean():
    assert LogNormal(-3.0, 1.0).parameters() == (-3.0, 1.0)


def test_the_noise_has_one_density():
    with pytest.raises(SpecError, match="the same noise"):
        Hyperpriors(noise_scale=HalfNormal(1.0), noise_var=InverseGamma(1.0, 1.0))
    with pytest.raises(SpecError, match="no density was given"):
        Hyperpriors()


def test_default_is_theory_7_4():
    targets = np.array([1.0, 3.0, 5.0, 7.0])  # variance 5
    default = Hyperpriors.default(np.ones((4, 6)), targets)
    assert default.prior_precision == Gamma(2.0, 0.04)
    assert default.noise_var == InverseGamma(1.0, 0.05)
    with pytest.raises(SpecError, match="constant targets"):
        Hyperpriors.default(np.ones((2, 1)), np.ones(2))


def test_a_normal_is_scipys_on_all_numbers_and_no_density_of_a_precision():
    for x in (-7.0, 0.0, 2.5):
        np.testing.assert_allclose(Normal(-0.5, 1.5).log_density(x), stats.norm.logpdf(x, -0.5, 1.5), rtol=1e-13)
    assert not Normal(-0.5, 1.5).positive and Gamma(1.0, 1.0).positive
    with pytest.raises(SpecError, match="prior_precision needs a density on the positive numbers"):
        Hyperpriors(prior_precision=Normal(0.0, 1.0))
