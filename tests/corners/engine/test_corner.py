"""Every cell's energy against the dense definition, and the products of the axes that are refused."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy import stats

from corners.backbones.mlp import MLP
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.cavities import CAVITIES
from corners.covariances import COVARIANCES
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.errors import CornersError, ImpossibleCellError, SpecError, UnknownNameError
from corners.likelihoods.gaussian import Gaussian
from corners.routings import ROUTINGS
from tests.support import dense_cells as dense
from tests.support.corner_cells import JITTER, cell, energy_at, inputs_of, parameters
from tests.support.problems import assert_close, generators, normal
from tests.support.strategies import Layer, draw_layer, layers

SHAPES = {"N>H": (9, 3), "N<H": (4, 6), "N=H": (5, 5), "N=1": (1, 3), "H=1": (6, 1)}


def of_shape(rows: int, size: int) -> list[Layer]:
    """Three problems of one shape at different precision and noise."""
    return [
        draw_layer(k, rows, size, precision, noise)
        for k, (precision, noise) in enumerate(((1.3, 0.4), (0.02, 2.3), (40.0, 0.09)))
    ]


def assert_energy_is_the_definition(corner: Corner, problems: list[Layer], *, rel: float = 1e-8) -> None:
    features, targets = inputs_of(problems)
    params = parameters(corner, problems)
    routed = corner.route(params, features, targets)
    found = energy_at(corner, params, features, targets)
    names = corner.cavity.name, corner.routing.name, corner.covariance.name
    for k, layer in enumerate(problems):
        expected = dense.energy(
            *names,
            layer.features,
            layer.targets,
            layer.precision,
            layer.noise_var,
            mean=routed.belief.mean[k].numpy(),
            covariance=routed.belief.covariance.matrix()[k].numpy(),
            jitter=corner.jitter,
        )
        size = 1.0 + float(layer.targets @ layer.targets) / layer.noise_var
        assert_close(found.data[k], expected.data, rel=rel, abs_=1e-12 * size)
        assert_close(found.prior[k], expected.prior, rel=rel, abs_=1e-12 * size)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CELLS)
def test_energy_is_the_definition(name, shape):
    assert_energy_is_the_definition(cell(name), of_shape(*SHAPES[shape]))


@pytest.mark.parametrize("name", CELLS)
def test_energy_in_every_regime(name):
    @given(layers(rows=(1, 7), size=(1, 5)))
    def check(layer: Layer) -> None:
        assert_energy_is_the_definition(cell(name), [layer], rel=1e-6)

    check()


@pytest.mark.parametrize("family", ["none", "diagonal"])
def test_restricted_families_of_the_shared_closed_cell(family):
    corner = Corner("shared", "closed", family, backbone=cell("sequential").backbone, jitter=JITTER)
    assert_energy_is_the_definition(corner, of_shape(9, 3))


@pytest.mark.parametrize("family", COVARIANCES.names())
@pytest.mark.parametrize("cavity", ["leave_one_out", "shared"])
def test_every_family_under_a_bound_mean(cavity, family):
    corner = Corner(cavity, "mean_closed", family, backbone=cell("sequential").backbone, jitter=JITTER)
    assert_energy_is_the_definition(corner, of_shape(9, 3))


@pytest.mark.parametrize("name", CELLS)
def test_the_total_is_the_sum_of_its_terms(name):
    """Data, prior, hyperpriors (scipy's densities up to constants), and the weights' penalty; nothing else."""
    backbone = MLP(4)
    options = {
        "prior": Prior(hyperprior=GammaPrior(2.5, rate=0.3)),
        "likelihood": Gaussian(hyperprior=InverseGammaPrior(1.5, scale=0.2)),
    }
    corner = cell(name, backbone=backbone, backbone_penalty=0.07, **options)
    inputs, targets = normal(1, 2, 8, 3), normal(2, 2, 8)
    params = corner.init(inputs, targets, generators(1, 2))
    features = backbone.features(params, inputs)
    routed = corner.route(params, features, targets)
    energy = corner.energy(params, features, targets, routed)
    assert_close(energy.total, energy.data + energy.prior + energy.hyperprior + energy.penalty)
    assert_close(energy.penalty, 0.07 * params["backbone.weight_0"].square().sum((-2, -1)))
    noise_var, precision = params["log_noise_var"].exp().numpy(), routed.prior_precision.numpy()
    expected = -stats.invgamma.logpdf(noise_var, 1.5, scale=0.2) - stats.gamma.logpdf(precision, 2.5, scale=1.0 / 0.3)
    assert_close((energy.hyperprior[1] - energy.hyperprior[0]).numpy(), np.array(expected[1] - expected[0]))


def test_the_prior_term_can_be_left_out_of_a_mean_closed_cell():
    layers_ = of_shape(9, 3)
    features, targets = inputs_of(layers_)
    with_, without = cell("mean_closed_dense"), cell("mean_closed_dense", prior_term=False)
    params = parameters(with_, layers_)
    one, other = (energy_at(corner, params, features, targets) for corner in (with_, without))
    assert torch.equal(one.data, other.data) and not other.prior.any() and bool(one.prior.abs().min() > 0.0)


PRODUCTS = list(itertools.product(CAVITIES.names(), ROUTINGS.names(), COVARIANCES.names()))


def possible(cavity: str, routing: str, family: str) -> bool:
    """Theory 2 and 3.4: what is defined."""
    if routing == "free":
        return cavity == "shared"
    if routing == "mean_closed":
        return cavity != "sequential"
    return family == "dense" if cavity != "shared" else family != "low_rank"


@pytest.mark.parametrize(("cavity", "routing", "family"), PRODUCTS)
def test_every_product_is_built_or_refused_with_its_reason(cavity, routing, family):
    if possible(cavity, routing, family):
        corner = Corner(cavity, routing, family)
        assert (corner.cavity.name, corner.routing.name, corner.covariance.name) == (cavity, routing, family)
        return
    with pytest.raises(ImpossibleCellError) as refusal:
        Corner(cavity, routing, family)
    message = str(refusal.value)
    assert "use " in message  # the remedy
    if cavity == "sequential" and routing in ("free", "mean_closed"):
        assert "sequential cavity" in message and "is not defined" in message and "prefix" in message
    elif routing == "free":
        assert "leave-one-out cavity with free routing is refused" in message and "3.8f" in message
    elif cavity != "shared":
        assert f"{cavity} cavity with {routing} routing is defined for covariance 'dense' only" in message
    else:
        assert "low_rank has none" in message


UNNAMED = {"kronecker"}
"""Without a cell of its own: with one output, every cell's default, it is dense."""


def test_every_named_cell_is_possible_and_every_cavity_and_routing_has_one():
    for name, axes in CELLS.items():
        assert possible(axes.cavity, axes.routing, axes.covariance), name
        assert axes.summary and "\n" not in axes.summary
    for registry, axis in ((CAVITIES, "cavity"), (ROUTINGS, "routing"), (COVARIANCES, "covariance")):
        assert set(registry.names()) - UNNAMED == {getattr(axes, axis) for axes in CELLS.values()}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cell("sequential", prior_term=True), "count the prior twice"),
        (lambda: cell("leave_one_out", prior_term=True), "count the prior twice"),
        (lambda: cell("sequential", jitter=1e-4), "sequential corner is exact and takes no jitter; got 0.0001"),
        (lambda: cell("leave_one_out", jitter=1e-4), "leave_one_out corner is exact and takes no jitter"),
        (lambda: cell("mean_closed_dense", prior=Prior(evidence_tied=10)), "neither fixed nor tied"),
        (lambda: cell("mean_closed_dense", prior=Prior(learned=False)), "neither fixed nor tied"),
        (lambda: cell("scroll_dense", prior=Prior(evidence_tied=10), prior_term=False), "evidence_tied|prior_term"),
        (lambda: cell("scroll_dense", jitter=-1.0), "jitter is a variance"),
        (lambda: cell("scroll_none", jitter=float("nan")), "jitter is a variance"),
        (
            lambda: cell("scroll_dense", backbone_penalty=-0.1),
            "backbone_penalty must be at least 0 and finite; got -0.1",
        ),
        (lambda: cell("scroll_dense", backbone_penalty=float("inf")), "backbone_penalty must be at least 0"),
    ],
)
def test_contradictions_are_refused(make, message):
    with pytest.raises(SpecError, match=message):
        make()


def test_an_unknown_axis_lists_the_known_ones():
    for arguments in (("sharde", "free", "dense"), ("shared", "fere", "dense"), ("shared", "free", "desne")):
        with pytest.raises(UnknownNameError, match=r"Did you mean '(shared|free|dense)'"):
            Corner(*arguments)


def test_a_likelihood_without_a_conjugate_posterior_cannot_be_bound():
    class Heavy(Gaussian):
        name = "heavy"
        conjugate = False

    for routing in ("closed", "mean_closed"):
        with pytest.raises(ImpossibleCellError, match=f"{routing} routing binds.*'heavy' has none"):
            Corner("shared", routing, "dense", likelihood=Heavy())
    with pytest.raises(CornersError, match="evidence"):
        Corner("shared", "free", "dense", likelihood=Heavy(), prior=Prior(evidence_tied=10))
    assert Corner("shared", "free", "dense", likelihood=Heavy()).has_prior_term


def test_what_is_exact_and_what_has_a_prior_term():
    for name, axes in CELLS.items():
        exact = axes.routing == "closed" and axes.cavity != "shared"
        assert cell(name).is_exact == exact and cell(name).has_prior_term == (not exact)


def test_frozen_parameters_and_bounds_are_parameters():
    for name in CELLS:
        corner = cell(name, likelihood=Gaussian(noise_scale=0.5, learned=False))
        params = corner.init(normal(1, 2, 8, 3), normal(2, 2, 8), generators(1, 2))
        assert corner.frozen <= set(params) and set(corner.bounds()) <= set(params)
        assert "log_noise_var" in corner.frozen
