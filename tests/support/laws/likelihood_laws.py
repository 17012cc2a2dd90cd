"""What every likelihood must satisfy: its functionals against quadrature of its own density, and Jensen."""

import numpy as np
import pytest
import torch
from scipy import integrate
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Params
from corners.errors import SpecError
from corners.likelihoods._base import Likelihood
from tests.support.problems import assert_close, normal, real

COUNT, ROWS = 2, 5
LARGEST_COUNT = 40


def targets_of(likelihood: Likelihood) -> Tensor:
    """Targets the likelihood can see: its own ``example_targets`` where it has some, else real numbers."""
    own = getattr(likelihood, "example_targets", None)
    if own is not None:
        return own((COUNT, ROWS))
    outputs = likelihood.target_columns
    return 1.4 * normal(21, *((COUNT, ROWS) if outputs == 1 else (COUNT, outputs, ROWS))) + 0.3


def setting(likelihood: Likelihood) -> tuple[Params, Tensor, Marginals]:
    """Parameters off their start, targets, and marginals whose variances run from small to large.

    A likelihood of K > 1 latent functions sees marginals of shape ``(COUNT, K, ROWS)``.
    """
    targets = targets_of(likelihood)
    params = likelihood.init(targets)
    free = [name for name in params if name not in likelihood.frozen]
    shift = real(0.3, -0.4)
    params = params | {name: params[name] + shift.reshape(COUNT, *[1] * (params[name].ndim - 1)) for name in free}
    variances = real(1e-3, 0.05, 0.4, 1.3, 5.0) * real(1.0, 1.7)[:, None]
    if likelihood.latents > 1:
        variances = variances[:, None] * torch.linspace(1.0, 0.6, likelihood.latents, dtype=torch.float64)[:, None]
    return params, targets, Marginals(normal(22, *_shape(likelihood)), variances)


def _shape(likelihood: Likelihood) -> tuple[int, ...]:
    return (COUNT, ROWS) if likelihood.latents == 1 else (COUNT, likelihood.latents, ROWS)


def check_partition_is_the_integral(likelihood: Likelihood) -> None:
    """``log_partition = log ∫ p(y|f) N(f; m, v) df``, by adaptive quadrature of ``exp(log_prob)``."""
    params, targets, marginals = setting(likelihood)
    actual = likelihood.log_partition(params, targets, marginals)
    expected, at_mean = _integrals(likelihood, params, targets, marginals, np.exp)
    assert_close(actual, _over_latents(likelihood, np.log(expected), at_mean), rel=1e-9, abs_=1e-9)


def check_expectation_is_the_integral(likelihood: Likelihood) -> None:
    """``expected_log_prob = ∫ log p(y|f) N(f; m, v) df``, by adaptive quadrature of ``log_prob``."""
    params, targets, marginals = setting(likelihood)
    actual = likelihood.expected_log_prob(params, targets, marginals)
    expected, at_mean = _integrals(likelihood, params, targets, marginals, lambda t: t)
    assert_close(actual, _over_latents(likelihood, expected, at_mean), rel=1e-9, abs_=1e-9)


def _integrals(
    likelihood: Likelihood, params: Params, targets: Tensor, marginals: Marginals, of
) -> tuple[np.ndarray, np.ndarray]:
    """The integral over each latent function with the others at their means, and ``log_prob`` at all means."""
    out = np.empty(marginals.mean.shape)
    for index in np.ndindex(out.shape):
        mean, scale = float(marginals.mean[index]), float(marginals.variance[index]) ** 0.5

        def integrand(z: float, index=index, mean=mean, scale=scale) -> float:
            latent = marginals.mean.clone()
            latent[index] = mean + scale * z
            value = float(likelihood.log_prob(params, targets, latent)[index[0], index[-1]])
            return float(of(value)) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

        pieces = [
            integrate.quad(integrand, a, a + 3.0, epsabs=1e-13, epsrel=1e-11)[0]
            for a in (-12.0, -9.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0)
        ]
        out[index] = sum(pieces)
    return out, likelihood.log_prob(params, targets, marginals.mean).numpy()


def _over_latents(likelihood: Likelihood, values: np.ndarray, at_mean: np.ndarray) -> np.ndarray:
    """One function of all latents from one of each: ``log p`` is a sum of one term a latent function."""
    return values if likelihood.latents == 1 else values.sum(1) - (likelihood.latents - 1) * at_mean


def check_latents_are_apart(likelihood: Likelihood) -> None:
    """``log p(y | f)`` is a sum of one term a latent function: moving two adds what moving each alone adds."""
    params, targets, marginals = setting(likelihood)
    base, moved = marginals.mean, marginals.mean + 1.3
    value = likelihood.log_prob(params, targets, base)
    parts = torch.zeros_like(value)
    for k in range(likelihood.latents):
        alone, at = base.clone(), (..., k, slice(None)) if likelihood.latents > 1 else ...
        alone[at] = moved[at]
        parts += likelihood.log_prob(params, targets, alone) - value
    assert_close(likelihood.log_prob(params, targets, moved) - value, parts)


def check_jensen(likelihood: Likelihood) -> None:
    """``E[log p] <= log E[p]`` a data point, for many marginals (Proposition 1, theory 3.8b)."""
    params, targets, _ = setting(likelihood)
    for seed in range(40):
        variance = (2.0 * normal(seed, *_shape(likelihood))).exp()
        marginals = Marginals(3.0 * normal(seed + 100, *_shape(likelihood)), variance)
        gap = likelihood.log_partition(params, targets, marginals) - likelihood.expected_log_prob(
            params, targets, marginals
        )
        assert bool((gap >= -1e-12).all())


def check_point_limit(likelihood: Likelihood) -> None:
    """At ``v = 0`` all three functionals are one, and the first steps away from it are the heat equation's."""
    params, targets, marginals = setting(likelihood)
    point = Marginals(marginals.mean, torch.zeros_like(marginals.variance))
    value = likelihood.log_prob(params, targets, marginals.mean)
    assert_close(likelihood.log_partition(params, targets, point), value)
    assert_close(likelihood.expected_log_prob(params, targets, point), value)


def check_heat_equation(likelihood: Likelihood) -> None:
    """``∂_v ℓ = ½ (∂²_m ℓ - (∂_m ℓ)²)`` with ``ℓ = -log Z``, for any head (theory 3.5)."""
    params, targets, marginals = setting(likelihood)
    mean = marginals.mean.clone().requires_grad_()
    variance = marginals.variance.clone().requires_grad_()
    loss = -likelihood.log_partition(params, targets, Marginals(mean, variance)).sum()
    first, slope = torch.autograd.grad(loss, (mean, variance), create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), mean)
    assert_close(slope, 0.5 * (second - first.detach() ** 2), rel=1e-8, abs_=1e-10)


def check_gradients(likelihood: Likelihood) -> None:
    """Autograd agrees with finite differences in the mean, the variance and every learned parameter."""
    params, targets, marginals = setting(likelihood)
    free = [name for name in params if name not in likelihood.frozen]

    def functionals(mean: Tensor, variance: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        own = params | dict(zip(free, values, strict=True))
        at = Marginals(mean, variance)
        return (
            likelihood.log_prob(own, targets, mean),
            likelihood.log_partition(own, targets, at),
            likelihood.expected_log_prob(own, targets, at),
            likelihood.penalty(own),
        )

    leaves = [marginals.mean, marginals.variance, *(params[name] for name in free)]
    assert torch.autograd.gradcheck(functionals, [each.clone().requires_grad_() for each in leaves])


def check_predictive_is_the_partition(likelihood: Likelihood, mean: float, scale: float) -> None:
    """The predictive's density at a target is ``exp(log_partition) / scale`` in original units, and integrates to 1.

    Labels and counts have no other units: a transform is refused, and probabilities sum to 1. For K > 1 latent
    functions the partition need not be normalised, and the predictive is ``log_predictive`` instead. That of P outputs
    is joint: ``log scale`` counts for each, and every marginal has its own mass.
    """
    params, targets, marginals = setting(likelihood)
    single = likelihood.latents == 1
    expected = (likelihood.log_partition if single else likelihood.log_predictive)(params, targets, marginals)
    for k in range(COUNT):
        own = {name: value[k] for name, value in params.items()}
        at = Marginals(marginals.mean[k], marginals.variance[k])
        if likelihood.task != "regression" and (mean, scale) != (0.0, 1.0):
            with pytest.raises(SpecError, match="target_mean must be 0 and target_scale 1"):
                likelihood.predictive(own, at, mean, scale)
            continue
        original, outputs = (mean + scale * targets[k].numpy()).T, likelihood.target_columns
        if outputs == 1:
            predictive = likelihood.predictive(own, at, mean, scale)
            check_mass(predictive, likelihood.task)
        else:
            predictive = likelihood.joint_predictive(own, at, mean, scale)
            for p in range(outputs):
                check_mass(predictive.output(p), likelihood.task)
        assert_close(predictive.log_prob(original), expected[k].numpy() - outputs * np.log(scale))


def check_mass(predictive, task: str) -> None:
    """Probabilities sum to 1, or up to a count to the distribution function there; a density does too."""
    if task == "classification":
        mass = sum(np.exp(predictive.log_prob(np.full(ROWS, float(k)))) for k in range(predictive.classes))
        assert_close(mass, np.ones(ROWS), rel=1e-8)
    elif task == "count":
        mass = sum(np.exp(predictive.log_prob(np.full(ROWS, float(count)))) for count in range(LARGEST_COUNT + 1))
        assert_close(mass, predictive.cdf(np.full(ROWS, float(LARGEST_COUNT))), rel=1e-8)
    else:
        low, high = predictive.quantile(1e-3), predictive.quantile(1.0 - 1e-3)  # heavy tails end nowhere
        nodes, weights = np.polynomial.legendre.leggauss(120)
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        mass = sum(
            w * half * np.exp(predictive.log_prob(middle + half * x)) for x, w in zip(nodes, weights, strict=True)
        )
        assert_close(mass, predictive.cdf(high) - predictive.cdf(low), rel=1e-8)


def check_start(likelihood: Likelihood) -> None:
    """Finite, within bounds and ceiling; what is frozen is there; replicate k alone starts the same."""
    targets = targets_of(likelihood)
    params, bounds = likelihood.init(targets), likelihood.bounds()
    ceiling = likelihood.ceiling(params)
    assert likelihood.frozen <= set(params) and set(bounds) <= set(params) and set(ceiling) <= set(params)
    for name, value in params.items():
        low, high = bounds.get(name, (-np.inf, np.inf))
        assert len(value) == COUNT and bool(value.isfinite().all())
        assert bool(((value >= low) & (value <= high)).all())
        assert name not in ceiling or bool((value <= ceiling[name]).all())
        for k in range(COUNT):
            assert_close(likelihood.init(targets[k : k + 1])[name][0], value[k])


def check_replicates_are_apart(likelihood: Likelihood) -> None:
    """Every functional of replicate k sees only replicate k, with the replicate dimension or without."""
    params, targets, marginals = setting(likelihood)
    for k in range(COUNT):
        own = {name: value[k] for name, value in params.items()}
        at = Marginals(marginals.mean[k], marginals.variance[k])
        assert torch.equal(
            likelihood.log_partition(own, targets[k], at), likelihood.log_partition(params, targets, marginals)[k]
        )
        assert torch.equal(
            likelihood.log_prob(own, targets[k], at.mean), likelihood.log_prob(params, targets, marginals.mean)[k]
        )
        assert torch.equal(likelihood.penalty(own), likelihood.penalty(params)[k])
        noise_var = likelihood.noise_var(params)
        assert noise_var is None or torch.equal(likelihood.noise_var(own), noise_var[k])


def check_constant_targets_start_finite(likelihood: Likelihood) -> None:
    """Targets that do not vary (or a single one) leave a finite start within its bounds."""
    targets = targets_of(likelihood)
    for constant in (targets[..., :1].expand_as(targets), targets[..., :1]):
        params = likelihood.init(constant.clone())
        for name, (low, high) in likelihood.bounds().items():
            assert bool(params[name].isfinite().all() and (params[name] >= low).all() and (params[name] <= high).all())
