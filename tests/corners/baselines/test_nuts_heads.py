"""What the draws predict under every likelihood, against scipy's densities averaged; which tasks a host allows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special, stats

from corners.baselines import nuts
from corners.baselines._sampling import sample_layer
from corners.baselines.nuts import Nuts, _mixture
from corners.errors import SpecError
from corners.method import HyperpriorSpec
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.count_mixture import CountMixturePredictive
from corners.predictive.student_t_mixture import StudentTMixturePredictive
from tests.support.last_layers import layer
from tests.support.references import independent_reference

RNG = np.random.default_rng(9)
FEATURES, NEW = RNG.normal(size=(8, 2)), RNG.normal(size=(4, 2))
PARAMETERS = {
    "probit": {},
    "logistic": {},
    "ordinal": {"first_threshold": -0.4, "gap_1": 0.9},
    "poisson": {},
    "negative_binomial": {"size": 1.7},
    "student_t": {"scale": 0.5, "df": 5.0},
}


def head_layer(name: str, **rest):
    belief = (np.array([0.4, -0.3]), 0.2 * np.eye(2), 1.3, float("nan"))
    return layer(FEATURES, np.zeros(8), *belief, likelihood=name, likelihood_params=PARAMETERS[name], **rest)


def drawn(own):
    """125 draws a chain: 500 in all, so that thinning keeps every one where 500 are kept."""
    reference = independent_reference(own, own.mean, own.covariance, np.random.default_rng(2), draws=125)
    known = {"prior_precision": own.prior_precision, **own.likelihood_params}
    provenance = replace(reference.provenance, likelihood=own.likelihood, hyperparameters=known)
    ample = {name: np.full(2, 4000.0) for name in ("ess_bulk", "ess_tail", "ess_mean", "ess_sd")}
    return replace(reference, provenance=provenance, diagnostics=replace(reference.diagnostics, **ample))


@pytest.mark.parametrize("name", ["probit", "logistic", "ordinal"])
def test_class_probabilities_are_averaged_over_the_draws(name):
    own = head_layer(name)
    reference = drawn(own)
    predictive = _mixture(own, reference, NEW)
    assert isinstance(predictive, CategoricalPredictive) and predictive.aleatoric_entropy is not None
    latent = reference.flat() @ NEW.T
    link = special.expit if name == "logistic" else special.ndtr
    if name == "ordinal":
        low, high = link(-0.4 - latent), link(0.5 - latent)
        expected = np.stack([low, high - low, 1.0 - high], -1)
    else:
        expected = np.stack([link(-latent), link(latent)], -1)
    np.testing.assert_allclose(predictive.probabilities, expected.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("name", ["poisson", "negative_binomial"])
def test_counts_are_a_mixture_over_the_draws(name):
    own = head_layer(name)
    reference = drawn(own)
    predictive = _mixture(own, reference, NEW)
    assert isinstance(predictive, CountMixturePredictive)
    step = 1 if name == "poisson" else 500 // nuts.THINNED_MORE
    rates, counts = np.exp(reference.flat()[::step] @ NEW.T), np.array([0.0, 1.0, 3.0, 8.0])
    r = PARAMETERS[name].get("size")
    pmf = stats.poisson.pmf(counts, rates) if r is None else stats.nbinom.pmf(counts, r, r / (r + rates))
    np.testing.assert_allclose(np.exp(predictive.log_prob(counts)), pmf.mean(axis=0), rtol=1e-9)


def test_student_t_draws_are_a_mixture_in_original_units():
    own = head_layer("student_t", target_mean=40.0, target_scale=3.0)
    reference = drawn(own)
    predictive = _mixture(own, reference, NEW)
    assert isinstance(predictive, StudentTMixturePredictive) and predictive.df == 5.0
    latent = reference.flat()[:: 500 // nuts.THINNED_MORE] @ NEW.T
    at = np.array([38.0, 40.0, 41.0, 50.0])
    expected = stats.t.pdf(at, 5.0, 40.0 + 3.0 * latent, 1.5).mean(axis=0)
    np.testing.assert_allclose(np.exp(predictive.log_prob(at)), expected, rtol=1e-9)


@dataclass
class Asked:
    """In place of the sampler: what it was asked."""

    arguments: dict

    def __call__(self, features, targets, **arguments):
        self.arguments.update(arguments)
        return self

    def require(self):
        return self


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("hierarchical", [False, True])
def test_the_sampler_is_asked_for_the_fits_own_head_and_hyperprior(monkeypatch, name, hierarchical):
    import inference.truth

    asked = Asked({})
    monkeypatch.setattr(inference.truth, "sample_last_layer", asked, raising=False)
    own = head_layer(name, precision_prior=HyperpriorSpec("gamma", 2.0, 0.07))
    sample_layer(own, hierarchical=hierarchical)
    given = asked.arguments
    assert given["likelihood"].name == name and given["likelihood"].parameters() == PARAMETERS[name]
    assert given["form"] == "whitened" and given.get("noise_scale") is None
    if hierarchical:
        density = given["hyperpriors"].prior_precision
        assert (density.shape, density.rate) == (2.0, 0.07) and given["hyperpriors"].noise_prior is None
    else:
        assert given["prior_precision"] == own.prior_precision


def test_hierarchical_needs_a_density_of_the_precision():
    with pytest.raises(SpecError, match="this fit has none"):
        sample_layer(head_layer("probit"), hierarchical=True)


def test_the_host_decides_the_tasks():
    assert Nuts.tasks == Nuts().tasks == ("regression",)
    assert Nuts(host="scroll_dense").tasks == ("regression", "classification", "count")
    assert Nuts(host="scroll_dense") == Nuts(host="scroll_dense") != Nuts()
