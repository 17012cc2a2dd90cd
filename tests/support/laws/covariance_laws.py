"""What every covariance family must satisfy, against dense numpy matrices."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from corners.covariances._base import Covariance, CovarianceFamily, Params
from corners.errors import ImpossibleCellError
from tests.support.problems import assert_close, generators, normal, real

SIZE, COUNT, ROWS = 4, 3, 6
SEEDS = (11, 12, 13)
JITTER = 0.03


def start(family: CovarianceFamily, *, size: int = SIZE, dtype: torch.dtype = torch.float64) -> Params:
    """Leaf parameters at their start, one replicate a seed."""
    return family.init(size, generators(*SEEDS), dtype)


def moved(family: CovarianceFamily, *, size: int = SIZE, seed: int = 1) -> Params:
    """Leaf parameters away from their start, different in every replicate."""
    return {
        name: value + 0.4 * normal(seed + k, *value.shape)
        for k, (name, value) in enumerate(start(family, size=size).items())
    }


def precision_factor(size: int = SIZE) -> Tensor:
    """Cholesky factors of posterior precisions, one a replicate."""
    features = normal(5, COUNT, 7, size)
    return torch.linalg.cholesky(1.7 * torch.eye(size, dtype=torch.float64) + features.mT @ features / 0.6)


def values(family: CovarianceFamily, jitter: float) -> Iterable[Covariance]:
    """The family's covariance where it is free, and where it is bound if it can be."""
    yield family.build(moved(family), normal(2, COUNT, SIZE), jitter)
    try:
        yield family.bind(precision_factor(), jitter)
    except ImpossibleCellError as refusal:
        assert family.name in str(refusal)


def check_forms_are_those_of_the_matrix(family: CovarianceFamily, jitter: float) -> None:
    """``quadratic`` and ``overlap_terms`` equal numpy on the written-out matrix, replicate by replicate."""
    features, mean, shift = normal(3, COUNT, ROWS, SIZE), normal(4, COUNT, SIZE), real(0.3, 1.9, 40.0)
    for covariance in values(family, jitter):
        matrix, form = covariance.matrix().numpy(), covariance.quadratic(features)
        log_det, overlap = covariance.overlap_terms(mean, shift)
        for k in range(COUNT):
            shifted = matrix[k] + float(shift[k]) * np.eye(SIZE)
            assert_close(form[k], np.array([row @ matrix[k] @ row for row in features[k].numpy()]))
            assert_close(log_det[k], np.linalg.slogdet(shifted)[1])
            assert_close(overlap[k], mean[k].numpy() @ np.linalg.solve(shifted, mean[k].numpy()))


def check_positive_semi_definite(family: CovarianceFamily) -> None:
    """Symmetric, and no direction has less variance than the jitter (or none at all where Σ = 0)."""
    for covariance in values(family, JITTER):
        matrix = covariance.matrix()
        assert torch.equal(matrix, matrix.mT)
        lowest = torch.linalg.eigvalsh(matrix).min()
        assert lowest >= JITTER * (1.0 - 1e-10) or not matrix.any()


def check_jitter_is_in_variance_and_in_overlap(family: CovarianceFamily) -> None:
    """``Σ(ε) = Σ(0) + ε I`` in the matrix, in ``v_n`` and in ``M`` alike; a family with Σ = 0 is untouched."""
    features, mean, shift = normal(3, COUNT, ROWS, SIZE), normal(4, COUNT, SIZE), real(0.3, 1.9, 40.0)
    for plain, jittered in zip(values(family, 0.0), values(family, JITTER), strict=True):
        own = JITTER if plain.matrix().any() else 0.0
        eye = torch.eye(SIZE, dtype=torch.float64)
        assert_close(jittered.matrix(), plain.matrix() + own * eye)
        assert_close(jittered.quadratic(features), plain.quadratic(features) + own * features.square().sum(-1))
        for one, other in zip(jittered.overlap_terms(mean, shift), plain.overlap_terms(mean, shift + own), strict=True):
            assert_close(one, other)


def check_gradients(family: CovarianceFamily) -> None:
    """Autograd through every form agrees with finite differences, once and twice."""
    params = moved(family)
    names, features = list(params), normal(3, COUNT, 3, SIZE)

    def forms(mean: Tensor, shift: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        covariance = family.build(dict(zip(names, leaves, strict=True)), mean, JITTER)
        return (covariance.quadratic(features), *covariance.overlap_terms(mean, shift), covariance.matrix())

    inputs = [normal(4, COUNT, SIZE), real(0.3, 1.9, 40.0), *params.values()]
    leaves = [each.clone().requires_grad_() for each in inputs]
    assert torch.autograd.gradcheck(forms, leaves)


def check_gradients_of_the_binding(family: CovarianceFamily) -> None:
    """Gradients flow through the binding: detaching it would be another algorithm."""
    features, mean, shift = normal(3, COUNT, 3, SIZE), normal(4, COUNT, SIZE), real(0.3, 1.9, 40.0)

    def forms(root: Tensor) -> tuple[Tensor, ...]:
        lower = root.tril(-1) + torch.diag_embed(root.diagonal(dim1=-2, dim2=-1).exp())
        covariance = family.bind(lower, JITTER)
        return (covariance.quadratic(features), *covariance.overlap_terms(mean, shift))

    try:
        family.bind(precision_factor(), JITTER)
    except ImpossibleCellError:
        return
    assert torch.autograd.gradcheck(forms, (0.5 * normal(6, COUNT, SIZE, SIZE)).requires_grad_())


def check_start(family: CovarianceFamily) -> None:
    """Finite, within bounds, one replicate a generator; the replicate of a seed is that seed alone."""
    params, bounds = start(family), family.bounds()
    assert set(bounds) <= set(params)
    for name, value in params.items():
        low, high = bounds.get(name, (-np.inf, np.inf))
        assert value.shape[0] == COUNT and value.dtype == torch.float64
        assert bool(((value >= low) & (value <= high)).all())
    for k, seed in enumerate(SEEDS):
        alone = family.init(SIZE, generators(seed), torch.float64)
        assert all(torch.equal(alone[name][0], value[k]) for name, value in params.items())
    matrix = family.build(params, normal(2, COUNT, SIZE), 0.0).matrix()
    assert bool(matrix.isfinite().all())


def check_bounds_are_of_the_variance(family: CovarianceFamily) -> None:
    """At their bounds the bounded parameters give variances between e⁻¹⁸ and e⁶ (theory 5.7)."""
    params = {name: torch.zeros_like(value) for name, value in start(family).items()}
    for low, expected in ((True, -18.0), (False, 6.0)):
        at = {
            name: torch.full_like(params[name], pair[0] if low else pair[1]) for name, pair in family.bounds().items()
        }
        matrix = family.build(params | at, normal(2, COUNT, SIZE), 0.0).matrix()
        if family.bounds():
            assert_close(matrix.diagonal(dim1=-2, dim2=-1).log(), np.full((COUNT, SIZE), expected), abs_=1e-9)


def check_float32_stays(family: CovarianceFamily) -> None:
    """Single precision in, single precision out."""
    params = start(family, dtype=torch.float32)
    assert all(value.dtype == torch.float32 for value in params.values())
    covariance = family.build(params, normal(2, COUNT, SIZE, dtype=torch.float32), JITTER)
    assert covariance.quadratic(normal(3, COUNT, ROWS, SIZE, dtype=torch.float32)).dtype == torch.float32
    assert covariance.matrix().dtype == torch.float32


def check_bound_member_minimises_the_elbo(family: CovarianceFamily) -> None:
    """The bound Σ is the family's minimum of ``½ tr(AΣ) - ½ log|Σ|``, found here by gradient descent (theory 3.6)."""
    lower = precision_factor()
    try:
        bound = family.bind(lower, 0.0).matrix()
    except ImpossibleCellError:
        return
    if not bound.any():
        return  # Σ = 0 is a limit, where the ELBO is infinite
    precision, mean = lower @ lower.mT, normal(2, COUNT, SIZE)
    leaves = {name: value.clone().requires_grad_() for name, value in start(family).items()}

    def elbo(matrix: Tensor) -> Tensor:
        return 0.5 * ((precision * matrix).sum((-2, -1)) - torch.logdet(matrix))

    optimiser = torch.optim.LBFGS(list(leaves.values()), max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = elbo(family.build(leaves, mean, 0.0).matrix()).sum()
        value.backward()
        return value

    optimiser.step(closure)
    found = family.build(leaves, mean, 0.0).matrix().detach()
    assert_close(elbo(found), elbo(bound), rel=1e-8)  # values, for they are flat where the matrices still differ
    assert bool((elbo(bound) <= elbo(found) + 1e-12).all())


def check_select_and_detach(family: CovarianceFamily) -> None:
    """``select`` takes replicates; ``detach`` leaves the graph and keeps the value."""
    params = {name: value.requires_grad_() for name, value in moved(family).items()}
    covariance = family.build(params, normal(2, COUNT, SIZE).requires_grad_(), JITTER)
    index = torch.tensor([2, 0])
    assert_close(covariance.select(index).matrix(), covariance.matrix()[index])
    assert_close(covariance.select(torch.tensor(1)).matrix(), covariance.matrix()[1])
    detached = covariance.detach()
    assert torch.equal(detached.matrix(), covariance.matrix())
    assert not detached.matrix().requires_grad and not detached.quadratic(normal(3, COUNT, ROWS, SIZE)).requires_grad
