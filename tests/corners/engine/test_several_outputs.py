"""Cells with several Gaussian outputs: sums of cells with one, or one belief that couples them (Kronecker)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.covariances._base import Params
from corners.data.batch import stack_splits
from corners.data.split import Part, Split
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.named import named_cell
from corners.engine.problem import CornerProblem
from corners.engine.training import CornerMethod
from corners.errors import DataError, ImpossibleCellError, SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR, Gaussian
from corners.likelihoods.one_vs_all import OneVsAll
from corners.predictive.multi_output_gaussian import MultiOutputGaussianPredictive
from corners.protocols import Protocol
from tests.support.corner_cells import cell, energy_at
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import SHORT, assert_close, batch, generators, normal, real

OUTPUTS, ROWS, SIZE, COUNT = 3, 9, 4, 2
PROTOCOL = Protocol("short", learning_rate=0.05, max_steps=15, patience=10)
COMMON = ("target_var",)


def problem() -> tuple[Tensor, Tensor]:
    return normal(1, COUNT, ROWS, SIZE), normal(2, COUNT, OUTPUTS, ROWS) * real(0.3, 1.0, 4.0)[:, None]


def moved(corner: Corner, features: Tensor, targets: Tensor) -> Params:
    """Parameters off their start, no two alike."""
    params = corner.init(features, targets, generators(*range(COUNT)))
    shifted = {name: value + 0.2 * normal(30 + k, *value.shape) for k, (name, value) in enumerate(params.items())}
    return shifted | {name: params[name] for name in COMMON}


def of_output(params: Params, p: int) -> Params:
    return {name: value[:, p] for name, value in params.items()}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_of_several_outputs_is_the_sum_of_cells_of_one(name):
    """Term by term, with a prior precision and a noise variance an output; gradients too."""
    options = {"prior": Prior(hyperprior=GammaPrior())}
    hyper = InverseGammaPrior()
    many = cell(name, likelihood=Gaussian(outputs=OUTPUTS, hyperprior=hyper), **options)
    one = cell(name, likelihood=Gaussian(hyperprior=hyper), **options)
    features, targets = problem()
    params = {key: value.requires_grad_() for key, value in moved(many, features, targets).items()}
    whole = energy_at(many, params, features, targets)
    parts = [energy_at(one, of_output(params, p), features, targets[:, p]) for p in range(OUTPUTS)]
    for term in ("data", "prior", "hyperprior"):
        assert_close(getattr(whole, term), torch.stack([getattr(part, term) for part in parts]).sum(0))
    free = [value for key, value in params.items() if key not in many.frozen]
    slopes = [
        torch.autograd.grad(total.sum(), free, allow_unused=True)
        for total in (whole.total, torch.stack([part.total for part in parts]))
    ]
    for found, expected in zip(*slopes, strict=True):
        assert (found is None) == (expected is None)
        assert found is None or torch.allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["sequential", "scroll_dense"])
def test_a_shared_precision_is_one_parameter(name):
    features, targets = problem()
    many = cell(name, likelihood=Gaussian(outputs=OUTPUTS), prior=Prior(shared=True))
    params = moved(many, features, targets)
    assert params[Prior.parameter].shape == (COUNT,)
    apart = cell(name, likelihood=Gaussian(outputs=OUTPUTS))
    each = params | {Prior.parameter: params[Prior.parameter][:, None].repeat(1, OUTPUTS)}
    assert_close(energy_at(many, params, features, targets).total, energy_at(apart, each, features, targets).total)


def kronecker(likelihood, **options) -> Corner:
    return Corner("shared", "free", "kronecker", likelihood, backbone=Identity(), **options)


def dense_energy(
    params: Params, features: np.ndarray, targets: np.ndarray, jitter: float, k: int = 0
) -> tuple[float, float]:
    """Data and prior term of coupled outputs from scipy's multivariate normal and ``numpy.kron``."""
    own = {name: value[k].detach().numpy() for name, value in params.items()}
    inner = np.tril(own["covariance.strict_lower"], -1) + np.diag(np.exp(own["covariance.log_diagonal"]))
    ratios = np.diag(np.exp(np.append(0.0, own["covariance.output_log_ratio"])))
    outer = np.tril(own["covariance.output_strict_lower"], -1) + ratios
    mean, size = own["mean"], inner.shape[0]
    sigma = np.kron(outer @ outer.T, inner @ inner.T) + jitter * np.eye(mean.size)
    overlap = sigma + np.kron(np.diag(np.exp(-own[Prior.parameter])), np.eye(size))
    prior = -stats.multivariate_normal.logpdf(mean.ravel(), np.zeros(mean.size), overlap)
    data = 0.0
    for row, target in zip(features, targets.T, strict=True):
        lift = np.kron(np.eye(len(outer)), row)
        total = lift @ sigma @ lift.T + np.diag(np.exp(own[LOG_NOISE_VAR]))
        data -= stats.multivariate_normal.logpdf(target, mean @ row, total)
    return data, prior


def test_coupled_outputs_have_the_joint_energy():
    features, targets = problem()
    corner = kronecker(Gaussian(outputs=OUTPUTS), jitter=0.02)
    params = moved(corner, features, targets)
    energy = energy_at(corner, params, features, targets)
    for k in range(COUNT):
        data, prior = dense_energy(params, features[k].numpy(), targets[k].numpy(), 0.02, k)
        assert_close(energy.data[k], data)
        assert_close(energy.prior[k], prior)


def test_gradients_of_coupled_outputs():
    features, targets = normal(1, 1, 3, 2), normal(2, 1, 2, 3)
    corner = kronecker(Gaussian(outputs=2), jitter=0.02)
    params = corner.init(features, targets, generators(0))
    names = [name for name in params if name not in corner.frozen]

    def total(inputs: Tensor, *leaves: Tensor) -> Tensor:
        return energy_at(corner, params | dict(zip(names, leaves, strict=True)), inputs, targets).total

    leaves = [features, *(params[name] for name in names)]
    assert torch.autograd.gradcheck(total, [each.clone().requires_grad_() for each in leaves])


@pytest.mark.parametrize("case", golden_cases("kron"))
def test_golden_prior_term_through_the_engine(case):
    """Autograd against central differences of the golden term, too: the engine's own path from parameters to it."""
    given, corner = case["inputs"], kronecker(Gaussian(outputs=2), prior=Prior(shared=True))
    outer, inner = as_array(given["Sigma_out"]), as_array(given["Sigma_in"])
    lower_o, lower_i = np.linalg.cholesky(outer / outer[0, 0]), np.linalg.cholesky(inner * outer[0, 0])
    params = corner.likelihood.init(torch.zeros(1, 2, 1).double()) | {
        "covariance.log_diagonal": batch([np.log(np.diag(lower_i))]).requires_grad_(),
        "covariance.strict_lower": batch([np.tril(lower_i, -1)]),
        "covariance.output_log_ratio": batch([np.log(np.diag(lower_o))[1:]]),
        "covariance.output_strict_lower": batch([np.tril(lower_o, -1)]),
        "mean": batch([as_array(given["mu"])]),
        Prior.parameter: real(given["alpha"]).log().requires_grad_(),
    }
    features, targets = batch([as_array(given["psi"])[None]]), torch.zeros(1, 2, 1).double()
    energy = energy_at(corner, params, features, targets)
    assert_golden("kron", energy.prior[0].detach(), case["expected"]["prior_term"])
    (slope,) = torch.autograd.grad(energy.prior.sum(), params[Prior.parameter])
    term = [
        dense_energy(params | {Prior.parameter: (real(given["alpha"]).log() + h)[:, None].repeat(1, 2)},
                     features[0].numpy(), targets[0].numpy(), 0.0)[1]
        for h in (-1e-5, 1e-5)
    ]  # fmt: skip
    assert_close(slope[0], (term[1] - term[0]) / 2e-5, rel=1e-7)


def test_one_versus_all_sees_the_variances_of_its_classes_alone():
    """A head with a term a class: Σ_o enters by its diagonal, so classes with scaled dense beliefs score alike."""
    features, labels = normal(1, 1, ROWS, SIZE), torch.tensor([[0.0, 1, 2] * 3]).double()
    corner = kronecker(OneVsAll(3), jitter=0.02)
    params = moved_labels(corner, features, labels)
    dense = cell("scroll_dense", likelihood=OneVsAll(3), jitter=0.02)
    outer = params["covariance.output_strict_lower"].tril(-1) + torch.diag_embed(
        torch.nn.functional.pad(params["covariance.output_log_ratio"], (1, 0)).exp()
    )
    scale = outer.square().sum(-1).sqrt()
    own = {name: value for name, value in params.items() if not name.startswith("covariance")} | {
        "covariance.log_diagonal": params["covariance.log_diagonal"][:, None] + scale.log()[..., None],
        "covariance.strict_lower": params["covariance.strict_lower"][:, None] * scale[..., None, None],
    }
    one, other = (energy_at(each, at, features, labels) for each, at in ((corner, params), (dense, own)))
    assert_close(one.data, other.data)
    assert float((one.prior - other.prior).abs()) > 1e-3


def moved_labels(corner: Corner, features: Tensor, labels: Tensor) -> Params:
    params = corner.init(features, labels, generators(0))
    return {name: value + 0.3 * normal(40 + k, *value.shape) for k, (name, value) in enumerate(params.items())}


def split_of(seed: int, rows: tuple[int, int, int] = (40, 20, 15)) -> Split:
    """Two inputs, three outputs in units far apart."""
    generator = np.random.default_rng(seed)

    def part(count: int) -> Part:
        x = generator.normal(size=(count, 2))
        clean = np.column_stack([x[:, 0], 10.0 * x[:, 1] + 50.0, 0.01 * x.sum(1)])
        return Part(x, clean + np.array([0.2, 3.0, 0.001]) * generator.normal(size=(count, 3)), outputs=3)

    return Split(*(part(count) for count in rows), "three", seed=seed, target_name=["a", "b", "c"])


SCHEDULE = replace(SHORT, max_steps=15)
METHODS = {
    "leave_one_out": replace(named_cell("leave_one_out", PROTOCOL, MLP(4), Gaussian(outputs=3)), schedule=SCHEDULE),
    "scroll_dense": replace(named_cell("scroll_dense", PROTOCOL, MLP(4), Gaussian(outputs=3)), schedule=SCHEDULE),
    "kronecker": CornerMethod(
        "kronecker",
        Corner("shared", "free", "kronecker", Gaussian(outputs=3), backbone=MLP(4), jitter=1e-4),
        SCHEDULE,
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_trained_cell_predicts_the_outputs_jointly_and_replicates_are_their_own(name):
    splits, method = [split_of(5), split_of(6)], METHODS[name]
    fit, alone = method.fit(splits, [5, 6]), method.fit(splits[1:], [6])
    targets = splits[1].test.targets
    joint, other = fit.predict(splits[1].test.inputs, replicate=1), alone.predict(splits[1].test.inputs)
    assert isinstance(joint, MultiOutputGaussianPredictive) and isinstance(other, MultiOutputGaussianPredictive)
    np.testing.assert_allclose(joint.log_prob(targets), other.log_prob(targets), rtol=1e-6)
    np.testing.assert_allclose(
        joint.log_prob(targets),
        [stats.multivariate_normal.logpdf(*each) for each in zip(targets, joint.mean, joint.covariance, strict=True)],
    )
    coupled = np.abs(joint.covariance - joint.variance[..., None] * np.eye(3)).max() > 0.0
    assert coupled == (name == "kronecker")
    assert fit.last_layer(0, splits[0]) is None
    test_nll = [fit.trace.values["test_nll"][1], -joint.log_prob(targets).mean()]
    assert np.nanmin(np.abs(test_nll[0] - test_nll[1])) < 1e-8, "the trace is on the original scale"
    learned = fit.learned(1)
    assert {"noise_scale_0", "noise_scale_1", "noise_scale_2", "prior_precision", "steps"} == set(learned)
    assert {f"noise_scale_{p}" for p in range(3)} <= set(fit.trace.values)
    assert learned["noise_scale_1"] > 100.0 * learned["noise_scale_2"], "each in its own unit"


def test_mini_batches_of_several_outputs_sum_to_all_rows():
    features, targets = problem()
    corner = cell("scroll_dense", likelihood=Gaussian(outputs=OUTPUTS))
    params = moved(corner, features, targets)
    whole = energy_at(corner, params, features, targets).data
    pieces = [
        energy_at(corner, params, features[:, rows], targets[..., rows]).data
        for rows in ([0, 1, 2, 3], [4, 5, 6, 7, 8])
    ]
    assert_close(sum(pieces), whole)
    method = replace(METHODS["scroll_dense"], batch_size=8)
    assert method.fit([split_of(5)], [5]).statuses[0].usable


def test_the_tied_precision_of_every_output_is_its_own():
    prior, split = Prior(evidence_tied=10), split_of(5)
    many = cell("shared_closed", likelihood=Gaussian(outputs=3), prior=prior)
    tied = tied_precision(many, split)
    for p in range(3):
        parts = [Part(part.inputs, part.targets[:, p]) for part in (split.train, split.validation, split.test)]
        assert_close(tied[:, p], tied_precision(cell("shared_closed", prior=prior), Split(*parts)))


def tied_precision(corner: Corner, split: Split) -> Tensor:
    data, _ = stack_splits([split], scale_targets=True, outputs=corner.likelihood.target_columns)
    params = corner.init(data.train.inputs, data.train.targets, generators(0))
    CornerProblem(corner, data, generators(0)).tie_precision(params, calls=3)
    return params[Prior.parameter]


@pytest.mark.parametrize("options", [{"stopping": "combined"}, {"dtype": "float32"}, {"reduction": "mean"}])
def test_the_options_of_a_protocol_hold_for_several_outputs(options):
    method = named_cell("scroll_diagonal", replace(PROTOCOL, **options), MLP(4), Gaussian(outputs=3))
    assert method.fit([split_of(5)], [5]).statuses[0].usable


def test_noise_set_after_training_is_that_of_every_output():
    method = replace(METHODS["scroll_dense"], fixed_noise="posthoc")
    split = split_of(5)
    fit = method.fit([split], [5])
    errors = split.validation.targets - fit.predict(split.validation.inputs).mean
    for p, expected in enumerate(np.sqrt((errors**2).mean(axis=0))):
        assert fit.learned(0)[f"noise_scale_{p}"] == pytest.approx(expected)
    assert "noise scale fixed at " in fit.statuses[0].sentence


def test_remarks_name_the_output():
    fixed = Gaussian(noise_scale=1e-6, learned=False, outputs=3)
    fit = named_cell("scroll_dense", PROTOCOL, Identity(), fixed).fit([split_of(5)], [5])
    assert "output 0: noise collapsed" in fit.statuses[0].sentence and "output 2: " in fit.statuses[0].sentence


def test_another_number_of_outputs_is_refused_with_its_shape():
    for name, likelihood in (("scroll_dense", None), ("sequential", Gaussian(outputs=2)), ("scroll_none", OneVsAll(3))):
        with pytest.raises(DataError, match=r"'three' have shape \(40, 3\), so 3 output\(s\), where [12] are expected"):
            named_cell(name, PROTOCOL, MLP(4), likelihood).fit([split_of(5)], [5])


def test_what_several_outputs_cannot_have_is_refused():
    with pytest.raises(
        ImpossibleCellError,
        match="closed routing takes Σ from each latent function's own posterior, and kronecker has one",
    ):
        Corner("shared", "closed", "kronecker", Gaussian(outputs=2))
    with pytest.raises(ImpossibleCellError, match="defined for covariance 'dense' only"):
        Corner("sequential", "closed", "kronecker", Gaussian(outputs=2))
    for options in ({"routing": "mean_closed"}, {"routing": "closed", "evidence": 10}):
        prior = Prior(shared=True, evidence_tied=options.get("evidence", 0))
        with pytest.raises(SpecError, match="set one for each; leave shared=False"):
            Corner("shared", options["routing"], "dense", Gaussian(outputs=2), prior)
    with pytest.raises(SpecError, match="map, which has one output"):
        replace(METHODS["scroll_dense"], fixed_noise="refit")


def test_a_mean_closed_cell_can_couple_its_outputs():
    features, targets = problem()
    for cavity in ("shared", "leave_one_out"):
        corner = Corner(cavity, "mean_closed", "kronecker", Gaussian(outputs=OUTPUTS), backbone=Identity(), jitter=0.02)
        params = moved(corner, features, targets)
        routed = corner.route(params, features, targets)
        marginals = corner.cavity.marginals(routed, corner.latent_features(features))
        assert marginals.coupling is not None
        noise = params[LOG_NOISE_VAR].exp()
        total = marginals.coupling.covariance() + torch.diag_embed(noise)[:, None]
        expected = -torch.distributions.MultivariateNormal(marginals.mean.mT, total).log_prob(targets.mT).sum(-1)
        assert_close(corner.energy(params, features, targets, routed).data, expected)
