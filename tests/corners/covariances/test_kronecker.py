"""The Kronecker family of several outputs against dense matrices of size K H, which it never forms."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from corners.beliefs import GaussianBelief
from corners.covariances._kronecker_overlap import kronecker_overlap
from corners.covariances.dense import Dense
from corners.covariances.kronecker import OUTPUT_LOG_RATIO, OUTPUT_STRICT_LOWER, Kronecker, KroneckerCovariance
from corners.errors import ImpossibleCellError, SpecError
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import assert_close, batch, generators, normal, real

OUTPUTS, SIZE, COUNT, ROWS, JITTER = 3, 4, 2, 5, 0.03


def moved(family: Kronecker, seed: int = 1, size: int = SIZE, count: int = COUNT) -> dict[str, Tensor]:
    """Leaf parameters away from their start, different in every replicate."""
    start = family.init(size, generators(*range(count)), torch.float64)
    return {name: value + 0.4 * normal(seed + k, *value.shape) for k, (name, value) in enumerate(start.items())}


def several(seed: int = 1, jitter: float = JITTER) -> KroneckerCovariance:
    family = Kronecker(outputs=OUTPUTS)
    found = family.build(moved(family, seed), normal(9, COUNT, OUTPUTS, SIZE), jitter)
    assert isinstance(found, KroneckerCovariance)
    return found


def written_out(covariance: KroneckerCovariance, k: int) -> np.ndarray:
    """Σ of replicate k by ``numpy.kron``, rows of the weights one after the other."""
    outer, inner = (factor[k].numpy() for factor in (covariance.output_factor, covariance.input_factor))
    product = np.kron(outer @ outer.T, inner @ inner.T)
    return product + covariance.jitter * np.eye(len(product))


def features_of(seed: int) -> Tensor:
    """Of every data point, the same for each output."""
    return normal(seed, COUNT, ROWS, SIZE)[:, None].expand(-1, OUTPUTS, -1, -1)


@pytest.mark.parametrize("jitter", [0.0, JITTER])
def test_variances_and_coupling_are_those_of_the_matrix(jitter):
    covariance, features = several(jitter=jitter), features_of(3)
    coupling, form = covariance.coupling(features), covariance.quadratic(features)
    for k in range(COUNT):
        dense = written_out(covariance, k)
        for n in range(ROWS):
            lift = np.kron(np.eye(OUTPUTS), features[k, 0, n].numpy())  # f = (I ⊗ ψᵀ) w
            expected = lift @ dense @ lift.T
            assert_close(coupling.covariance()[k, n], expected)
            assert_close(form[k, :, n], np.diag(expected).copy())


def test_the_blocks_are_those_of_the_matrix():
    covariance = several()
    for k in range(COUNT):
        dense = written_out(covariance, k).reshape(OUTPUTS, SIZE, OUTPUTS, SIZE)
        for p in range(OUTPUTS):
            assert_close(covariance.matrix()[k, p], dense[p, :, p])


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10_000))
def test_the_overlap_is_that_of_the_matrix(outputs, size, seed):
    """A shift of its own for each output, and matrices that may be singular."""
    generator = np.random.default_rng(seed)

    def psd(dimension: int) -> np.ndarray:
        root = generator.normal(size=(dimension, generator.integers(1, dimension + 1)))
        return root @ root.T

    outer, inner = psd(outputs), psd(size)
    mean, shift = generator.normal(size=(outputs, size)), np.exp(generator.normal(size=outputs))
    log_det, quadratic = kronecker_overlap(*(torch.tensor(each) for each in (outer, inner, mean, shift)))
    dense = np.kron(outer, inner) + np.kron(np.diag(shift), np.eye(size))
    assert_close(log_det, np.linalg.slogdet(dense)[1], rel=1e-9, abs_=1e-9)
    assert_close(quadratic, mean.ravel() @ np.linalg.solve(dense, mean.ravel()), rel=1e-9, abs_=1e-9)


def test_the_terms_of_the_outputs_sum_to_the_overlap():
    covariance, mean, shift = several(), normal(4, COUNT, OUTPUTS, SIZE), normal(5, COUNT, OUTPUTS).exp()
    log_det, quadratic = covariance.overlap_terms(mean, shift)
    for k in range(COUNT):
        dense = written_out(covariance, k) + np.kron(np.diag(shift[k].numpy()), np.eye(SIZE))
        assert_close(log_det[k].sum(), np.linalg.slogdet(dense)[1])
        assert_close(quadratic[k].sum(), mean[k].numpy().ravel() @ np.linalg.solve(dense, mean[k].numpy().ravel()))


@pytest.mark.parametrize("case", golden_cases("kron"))
def test_golden(case):
    """The golden Σ_o has another scale than ours: it is moved into Σ_i."""
    given_, expected = case["inputs"], case["expected"]
    outer, inner = as_array(given_["Sigma_out"]), as_array(given_["Sigma_in"])
    lowers = [np.linalg.cholesky(each) for each in (outer / outer[0, 0], inner * outer[0, 0])]
    params = {
        "covariance.log_diagonal": batch([np.log(np.diag(lowers[1]))]),
        "covariance.strict_lower": batch([np.tril(lowers[1], -1)]),
        OUTPUT_LOG_RATIO: batch([np.log(np.diag(lowers[0]))[1:]]),
        OUTPUT_STRICT_LOWER: batch([np.tril(lowers[0], -1)]),
    }
    mean = batch([as_array(given_["mu"])])
    belief = GaussianBelief(mean, Kronecker(outputs=len(outer)).build(params, mean, 0.0))
    overlap = belief.prior_overlap(torch.full((1, len(outer)), given_["alpha"], dtype=torch.float64))
    assert_golden("kron", overlap.sum(), expected["prior_term"])
    features = batch([as_array(given_["psi"])[None, None].repeat(len(outer), axis=0)[:, 0]])[:, :, None]
    coupling = belief.marginals(features).coupling
    assert coupling is not None
    assert_golden("kron", coupling.covariance()[0, 0], expected["output_cov"])


@pytest.mark.parametrize("at", ["start", "moved"])
def test_gradients(at):
    """Also where all eigenvalues are equal, as at the start: there the derivative of an eigenvector does not exist."""
    family, size = Kronecker(outputs=2), 3
    start = family.init(size, generators(0), torch.float64)
    params = start if at == "start" else moved(family, size=size, count=1)
    features, names = normal(3, 1, 2, size)[:, None].expand(-1, 2, -1, -1), list(params)

    def forms(mean: Tensor, shift: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        covariance = family.build(dict(zip(names, leaves, strict=True)), mean, JITTER)
        coupling = covariance.coupling(features)
        assert coupling is not None
        terms = covariance.overlap_terms(mean, shift)
        return (covariance.quadratic(features), *terms, covariance.matrix(), coupling.covariance())

    inputs = [normal(4, 1, 2, size), normal(5, 1, 2).exp(), *params.values()]
    assert torch.autograd.gradcheck(forms, [each.clone().requires_grad_() for each in inputs])


def test_no_direction_of_the_parameters_leaves_the_covariance_unchanged():
    """The scale that Σ_o and Σ_i share is fixed: the derivative of Σ by the parameters has full rank."""
    family = Kronecker(outputs=OUTPUTS)
    params = {name: value[0] for name, value in moved(family).items()}
    below = {name: torch.ones_like(value).tril(-1) if "strict" in name else torch.ones_like(value)
             for name, value in params.items()}  # fmt: skip
    free = torch.cat([params[name][below[name] > 0.0] for name in params])

    def matrix(flat: Tensor) -> Tensor:
        pieces, used = {}, 0
        for name, mask in below.items():
            count = int(mask.sum())
            pieces[name] = torch.zeros_like(mask).masked_scatter(mask > 0.0, flat[used : used + count])
            used += count
        built = family.build(pieces, torch.zeros(OUTPUTS, SIZE).double(), 0.0)
        assert isinstance(built, KroneckerCovariance)
        outer, inner = (factor @ factor.mT for factor in (built.output_factor, built.input_factor))
        return torch.kron(outer, inner)

    slopes = torch.autograd.functional.jacobian(matrix, free).reshape(-1, len(free))
    pairs = [size * (size + 1) // 2 for size in (OUTPUTS, SIZE)]
    assert len(free) == sum(pairs) - 1 == int(torch.linalg.matrix_rank(slopes))
    assert_close(
        torch.stack([several(seed).coupling(features_of(3)).outputs[:, 0, 0] for seed in (1, 2)]), np.ones((2, 2))
    )


def test_the_start_is_the_dense_start_of_every_output():
    family, mean = Kronecker(initial_scale=0.2, outputs=OUTPUTS), normal(1, COUNT, OUTPUTS, SIZE)
    built = family.build(family.init(SIZE, generators(0, 1), torch.float64), mean, 0.0)
    assert isinstance(built, KroneckerCovariance)
    assert_close(np.stack([written_out(built, k) for k in range(COUNT)]), np.stack([0.04 * np.eye(OUTPUTS * SIZE)] * 2))


def test_with_one_output_it_is_the_dense_family():
    one, dense = Kronecker(), Dense()
    params, mean = one.init(SIZE, generators(0, 1), torch.float64), normal(1, COUNT, SIZE)
    assert params.keys() == dense.init(SIZE, generators(0, 1), torch.float64).keys() and one.bounds() == dense.bounds()
    params = {name: value + 0.3 * normal(7, *value.shape) for name, value in params.items()}
    assert torch.equal(one.build(params, mean, JITTER).matrix(), dense.build(params, mean, JITTER).matrix())
    assert one.build(params, mean, JITTER).coupling(normal(2, COUNT, ROWS, SIZE)) is None


def test_bounds_hold_for_either_factor():
    low, high = Kronecker(outputs=2).bounds()[OUTPUT_LOG_RATIO]
    assert (low, high) == (-12.0, 12.0) and OUTPUT_LOG_RATIO not in Kronecker().bounds()


def test_what_is_refused():
    assert Kronecker().across(4) == Kronecker(outputs=4).across(4) == Kronecker(outputs=4)
    with pytest.raises(SpecError, match="for 3 outputs and the likelihood has 4 latent functions; leave outputs out"):
        Kronecker(outputs=3).across(4)
    with pytest.raises(SpecError, match="outputs counts the outputs and must be at least 1; got 0"):
        Kronecker(outputs=0)
    with pytest.raises(
        ImpossibleCellError, match="of each of 2 outputs, and kronecker has one; use covariance 'dense'"
    ):
        Kronecker(outputs=2).bind(torch.eye(3).double(), 0.0)


def test_a_replicate_that_failed_leaves_its_siblings_alone():
    family, mean = Kronecker(outputs=OUTPUTS), normal(4, COUNT, OUTPUTS, SIZE)
    params = moved(family)
    params["covariance.log_diagonal"][1] = torch.nan
    log_det, quadratic = family.build(params, mean, JITTER).overlap_terms(mean, torch.ones(COUNT, OUTPUTS).double())
    assert bool(log_det[0].isfinite().all() and quadratic[0].isfinite().all())
    assert bool(log_det[1].isnan().all() and quadratic[1].isnan().all())


def test_select_and_detach():
    covariance = several()
    chosen = covariance.select(torch.tensor([1, 0]))
    assert_close(chosen.matrix(), covariance.matrix()[[1, 0]])
    assert_close(covariance.select(torch.tensor(1)).matrix(), covariance.matrix()[1])
    with pytest.raises(SpecError, match="one for all outputs; none can be selected"):
        covariance.select(torch.tensor(1)).select(torch.tensor(0))
    graph = KroneckerCovariance(covariance.output_factor.clone().requires_grad_(), covariance.input_factor, JITTER)
    assert graph.matrix().requires_grad and not graph.detach().matrix().requires_grad


def test_the_large_matrix_is_never_formed():
    """K H = 20,000 weights: Σ would take 3.2 GB."""
    family, size = Kronecker(outputs=100), 200
    mean = normal(1, 1, 100, size)
    params = {name: value.requires_grad_() for name, value in family.init(size, generators(0), torch.float64).items()}
    log_det, quadratic = family.build(params, mean, 0.0).overlap_terms(mean, torch.ones(1, 100).double())
    assert_close(log_det.sum(), 100 * size * np.log(1.01))
    assert_close(quadratic.sum(), float(mean.square().sum()) / 1.01)
    (log_det.sum() + quadratic.sum()).backward()
    assert all(value.grad is not None and bool(value.grad.isfinite().all()) for value in params.values())


def test_single_precision_stays():
    family = Kronecker(outputs=2)
    params = family.init(SIZE, generators(0, 1), torch.float32)
    mean = normal(1, COUNT, 2, SIZE, dtype=torch.float32)
    log_det, quadratic = family.build(params, mean, JITTER).overlap_terms(
        mean, real(1.0, 2.0).float()[:, None].expand(2, 2)
    )
    assert log_det.dtype == quadratic.dtype == torch.float32
