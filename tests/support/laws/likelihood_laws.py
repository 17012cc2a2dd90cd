"""What every likelihood must satisfy: its functionals against quadrature of its own density, and Jensen."""

import numpy as np
import torch
from scipy import integrate
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Params
from corners.likelihoods._base import Likelihood
from tests.support.problems import assert_close, normal, real

COUNT, ROWS = 2, 5


def targets_of(likelihood: Likelihood) -> Tensor:
    """Targets the likelihood can see: its own ``example_targets`` where it has some, else real numbers."""
    own = getattr(likelihood, "example_targets", None)
    return own((COUNT, ROWS)) if own is not None else 1.4 * normal(21, COUNT, ROWS) + 0.3


def setting(likelihood: Likelihood) -> tuple[Params, Tensor, Marginals]:
    """Parameters off their start, targets, and marginals whose variances run from small to large."""
    targets = targets_of(likelihood)
    params = likelihood.init(targets)
    free = [name for name in params if name not in likelihood.frozen]
    params = params | {name: params[name] + real(0.3, -0.4) for name in free}
    variances = real(1e-3, 0.05, 0.4, 1.3, 5.0) * real(1.0, 1.7)[:, None]
    return params, targets, Marginals(normal(22, COUNT, ROWS), variances)


def check_partition_is_the_integral(likelihood: Likelihood) -> None:
    """``log_partition = log ∫ p(y|f) N(f; m, v) df``, by adaptive quadrature of ``exp(log_prob)``."""
    params, targets, marginals = setting(likelihood)
    actual = likelihood.log_partition(params, targets, marginals)
    expected = _integrals(likelihood, params, targets, marginals, np.exp)
    assert_close(actual, np.log(expected), rel=1e-9, abs_=1e-9)


def check_expectation_is_the_integral(likelihood: Likelihood) -> None:
    """``expected_log_prob = ∫ log p(y|f) N(f; m, v) df``, by adaptive quadrature of ``log_prob``."""
    params, targets, marginals = setting(likelihood)
    actual = likelihood.expected_log_prob(params, targets, marginals)
    assert_close(actual, _integrals(likelihood, params, targets, marginals, lambda t: t), rel=1e-9, abs_=1e-9)


def _integrals(likelihood: Likelihood, params: Params, targets: Tensor, marginals: Marginals, of) -> np.ndarray:
    out = np.empty((COUNT, ROWS))
    for k, n in np.ndindex(out.shape):
        mean, scale = float(marginals.mean[k, n]), float(marginals.variance[k, n]) ** 0.5

        def integrand(z: float, k=k, n=n, mean=mean, scale=scale) -> float:
            latent = torch.full_like(targets, mean + scale * z)
            value = float(likelihood.log_prob(params, targets, latent)[k, n])
            return float(of(value)) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

        pieces = [
            integrate.quad(integrand, a, a + 3.0, epsabs=1e-13, epsrel=1e-11)[0]
            for a in (-12.0, -9.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0)
        ]
        out[k, n] = sum(pieces)
    return out


def check_jensen(likelihood: Likelihood) -> None:
    """``E[log p] <= log E[p]`` a data point, for many marginals (Proposition 1, theory 3.8b)."""
    params, targets, _ = setting(likelihood)
    for seed in range(40):
        variance = (2.0 * normal(seed, COUNT, ROWS)).exp()
        marginals = Marginals(3.0 * normal(seed + 100, COUNT, ROWS), variance)
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
    """The predictive's density at a target is ``exp(log_partition) / scale`` in original units, and integrates to 1."""
    params, targets, marginals = setting(likelihood)
    log_partition = likelihood.log_partition(params, targets, marginals)
    for k in range(COUNT):
        own = {name: value[k] for name, value in params.items()}
        predictive = likelihood.predictive(own, Marginals(marginals.mean[k], marginals.variance[k]), mean, scale)
        original = mean + scale * targets[k].numpy()
        assert_close(predictive.log_prob(original), log_partition[k].numpy() - np.log(scale))
        assert_close(_mass(predictive), np.ones(ROWS), rel=1e-8)


def _mass(predictive) -> np.ndarray:
    low, high = predictive.quantile(1e-13), predictive.quantile(1.0 - 1e-13)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    half = 0.5 * (high - low)
    density = [np.exp(predictive.log_prob(low + half * (1.0 + node))) for node in nodes]
    return half * (np.array(density) * weights[:, None]).sum(0)


def check_start(likelihood: Likelihood) -> None:
    """Finite, within bounds and ceiling; what is frozen is there; replicate k alone starts the same."""
    targets = targets_of(likelihood)
    params, bounds = likelihood.init(targets), likelihood.bounds()
    ceiling = likelihood.ceiling(params)
    assert likelihood.frozen <= set(params) and set(bounds) <= set(params) and set(ceiling) <= set(params)
    for name, value in params.items():
        low, high = bounds.get(name, (-np.inf, np.inf))
        assert value.shape == (COUNT,) and bool(value.isfinite().all())
        assert bool(((value >= low) & (value <= high)).all())
        assert bool((value <= ceiling.get(name, torch.tensor(np.inf))).all())
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
    for constant in (targets[:, :1].expand(-1, ROWS), targets[:, :1]):
        params = likelihood.init(constant.clone())
        for name, (low, high) in likelihood.bounds().items():
            assert bool(params[name].isfinite().all() and (params[name] >= low).all() and (params[name] <= high).all())
