"""The three objectives of a fitted cell: against the exact Gaussian ones, and against quadrature for other heads."""

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from corners.backbones.identity import Identity
from corners.data.split import Part, Split
from corners.engine.class_draws import class_draws
from corners.engine.ordering import objectives_at
from corners.exact.ordering import ordering_at
from corners.study import Head, make_method
from tests.support.problems import TINY_PROTOCOL, tiny_split


def class_split(classes: int) -> Split:
    generator = np.random.default_rng(3)

    def part(count: int) -> Part:
        inputs = generator.normal(size=(count, 2))
        return Part(inputs, np.floor(classes * special.ndtr(inputs[:, 0] + 0.3 * generator.normal(size=count))))

    return Split(part(30), part(12), part(9), "classes", task="classification", labels=[str(k) for k in range(classes)])


def fitted(covariance: str, head, split: Split):
    return make_method(f"scroll_{covariance}", protocol=TINY_PROTOCOL, backbone=Identity(), head=head, table=split).fit(
        [split], [5]
    )


@pytest.mark.parametrize("covariance", ["none", "diagonal", "dense"])
def test_a_gaussian_head_has_the_exact_objectives(covariance):
    split = tiny_split(2)
    fit = fitted(covariance, None, split)
    found, layer = objectives_at(fit, 0, split), fit.last_layer(0, split)
    own = None if covariance == "none" else layer.covariance
    exact = ordering_at(layer.features, layer.targets, layer.mean, own, layer.prior_precision, np.sqrt(layer.noise_var))
    for name in ("map", "bethe", "elbo"):
        np.testing.assert_allclose(getattr(found, name).data_terms, getattr(exact, name).data_terms, rtol=1e-9)
        assert getattr(found, name).prior_term == pytest.approx(getattr(exact, name).prior_term, rel=1e-9)
    assert found.prior_precision == pytest.approx(layer.prior_precision)


def test_probit_terms_are_the_integrals():
    split = class_split(2)
    fit = fitted("dense", "probit", split)
    found, chosen = objectives_at(fit, 0, split), fit.replicates[0]
    features, covariance = fit.features(split.train.inputs), chosen.belief.covariance.matrix().numpy()
    mean, scale = (
        features @ chosen.belief.mean.numpy(),
        np.sqrt(np.einsum("nh,hk,nk->n", features, covariance, features)),
    )
    for n in (0, 7):
        sign = 2.0 * split.train.targets[n] - 1.0

        def averaged(value, n=n):
            return integrate.quad(lambda z: value(mean[n] + scale[n] * z) * stats.norm.pdf(z), -12.0, 12.0)[0]

        bethe, elbo = (
            averaged(lambda f, s=sign: special.ndtr(s * f)),
            averaged(lambda f, s=sign: special.log_ndtr(s * f)),
        )
        assert found.map.data_terms[n] == pytest.approx(-special.log_ndtr(sign * mean[n]), rel=1e-9)
        assert found.bethe.data_terms[n] == pytest.approx(-np.log(bethe), rel=1e-8)
        assert found.elbo.data_terms[n] == pytest.approx(-elbo, rel=1e-8)


@pytest.mark.parametrize("shared", [False, True])
def test_one_versus_all_sums_its_beliefs(shared):
    split = class_split(3)
    fit = fitted("diagonal", Head("one_vs_all", shared_precision=shared), split)
    found, chosen = objectives_at(fit, 0, split), fit.replicates[0]
    precisions = np.broadcast_to(chosen.params["log_prior_precision"].exp().numpy(), 3)
    overlap = 0.0
    for k in range(3):
        belief = chosen.belief.select(torch.tensor(k))
        matrix = belief.covariance.matrix().numpy() + np.eye(2) / precisions[k]
        overlap -= stats.multivariate_normal(np.zeros(2), matrix).logpdf(belief.mean.numpy())
    assert found.bethe.prior_term == pytest.approx(overlap, rel=1e-9)
    assert found.prior_precision == pytest.approx(precisions.min())
    assert fit.learned(0)["prior_precision"] == pytest.approx(np.exp(np.log(precisions).mean()))
    assert (found.elbo.data_terms >= found.bethe.data_terms - 1e-12).all()


@pytest.mark.parametrize("head", ["probit", "logistic", "ordinal"])
def test_draws_average_to_the_predictive(head):
    split = class_split(2)
    fit = fitted("dense", head, split)
    draws = class_draws(fit, 0, split.test.inputs, 4000)
    error = draws.std(axis=0, ddof=1) / np.sqrt(4000)
    np.testing.assert_array_less(
        np.abs(draws.mean(0) - fit.predict(split.test.inputs).probabilities), 5.0 * error + 1e-9
    )
    np.testing.assert_array_equal(draws, class_draws(fit, 0, split.test.inputs, 4000))


def test_draws_of_one_versus_all_are_normalised_and_of_a_point_belief_alike():
    split = class_split(3)
    draws = class_draws(fitted("none", "one_vs_all", split), 0, split.test.inputs, 8)
    np.testing.assert_allclose(draws.sum(-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(draws, np.broadcast_to(draws[0], draws.shape), rtol=1e-12)
    predictive = fitted("none", "one_vs_all", split).predict(split.test.inputs)
    np.testing.assert_allclose(draws[0], predictive.probabilities, rtol=1e-9)


def test_a_label_that_the_training_part_lacks_can_be_tested():
    split = class_split(3)
    rows = split.train.targets < 2.0
    short = Split(
        Part(split.train.inputs[rows], split.train.targets[rows]),
        split.validation,
        split.test,
        task="classification",
        labels=split.labels,
    )
    for head in ("one_vs_all", "ordinal"):
        fit = fitted("dense", head, short)
        assert np.isfinite(fit.predict(short.test.inputs).log_prob(short.test.targets)).all()
        assert np.isfinite(objectives_at(fit, 0, short).bethe.total)
