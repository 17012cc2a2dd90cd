"""Laplace routing: the belief is the Laplace approximation of the posterior of a log-concave head."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GaussianBelief, Prior, RoutedBelief
from corners.covariances._base import Bounds, CovarianceFamily, Params
from corners.errors import ImpossibleCellError
from corners.likelihoods._base import Likelihood
from corners.numerics import LOG_2PI
from corners.routings import ROUTINGS
from corners.routings._base import Routing, conjugate_mean
from corners.routings._newton import LogConcave, curvature_and_slope, find_mode, posterior_factor


@ROUTINGS.register("laplace")
@dataclass(frozen=True)
class Laplace(Routing):
    """``μ = argmax log p(y | w) p(w)`` and ``Σ = A⁻¹``, ``A = αI + Ψᵀ W Ψ``, ``W_n = -∂² log p(y_n | f_n) / ∂f²``.

    An approximation, and the analogue of closed routing where there is no conjugate posterior: of a Gaussian head it is
    closed routing. The mode is found by damped Newton steps for all replicates at once; a replicate that does not get
    there is NaN, which stops it alone. K latent functions a data point have a mode each (one-versus-all).

    Gradients are those of the mode as a function of features, prior precision and head parameters: one Newton step is
    taken inside the graph from the mode found outside it. There the gradient of the log joint is zero, so that the step
    moves nothing and its derivative is that of the implicit function theorem, without a graph over the iterations.
    A restricted family is bound as in closed routing, to A.

    Parameters
    ----------
    likelihood : the head; a :class:`~corners.engine.corner.Corner` sets it. None stands for Gaussian noise.
    steps : Newton steps at most.

    Raises
    ------
    ImpossibleCellError : a head that is not log-concave.

    Example
    -------
    >>> Laplace().binds_mean, Laplace().approximate
    (True, True)
    """

    likelihood: Likelihood | None = None
    steps: int = 100
    name: ClassVar[str] = "laplace"
    binds_mean: ClassVar[bool] = True
    binds_covariance: ClassVar[bool] = True
    approximate: ClassVar[bool] = True

    @classmethod
    def example(cls) -> "Laplace":
        """A member for the law suite."""
        return cls()

    def for_head(self, likelihood: Likelihood) -> "Laplace":
        """The routing for a head, if it is log-concave."""
        if not likelihood.log_concave:
            raise ImpossibleCellError(
                "laplace routing needs a head that is log-concave in each latent value, so that the posterior has one "
                f"mode and its curvature is positive; likelihood {likelihood.name!r} is not; use routing 'free' with "
                "cavity 'shared'"
            )
        return replace(self, likelihood=likelihood)

    def init(
        self,
        prior: Prior,
        family: CovarianceFamily,
        size: int,
        noise_var: Float[Tensor, " B"],
        generators: list[torch.Generator],
    ) -> Params:
        """Only the prior precision."""
        return prior.init(len(generators), noise_var.dtype)

    def bounds(self, prior: Prior, family: CovarianceFamily) -> Bounds:
        """Bounds of the prior precision."""
        return prior.bounds()

    def prior_precision(self, params: Params, noise_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``α``."""
        return params[Prior.parameter].exp()

    def bind(
        self,
        params: Params,
        family: CovarianceFamily,
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*B N"],
        noise_var: Float[Tensor, "*B"],
        jitter: float,
    ) -> RoutedBelief:
        """``N(μ, Σ)`` with ``Σ`` the family's optimum for the precision ``A``; sites where the head is conjugate."""
        precision = self.prior_precision(params, noise_var)
        if self.likelihood is None or self.likelihood.conjugate:
            mean, sites = conjugate_mean(features, targets, precision, noise_var)
            belief = GaussianBelief(mean, family.bind(sites.precision_factor, jitter))
            return RoutedBelief(belief, precision, sites, covariance_is_bound=True)
        mean, factor, _ = self._at_mode(params, features, targets, precision)
        belief = GaussianBelief(mean, family.bind(factor, jitter))
        return RoutedBelief(belief, precision, covariance_is_bound=True)

    def log_evidence(
        self,
        params: Params,
        features: Float[Tensor, "*L N H"],
        targets: Float[Tensor, "*L N"],
        noise_var: Float[Tensor, "*L"],
    ) -> Float[Tensor, "*B"]:
        """``log p(y | μ) + log p(μ) + H/2 log 2π - ½ log|A|`` in nats, of several latents together; differentiable.

        Arguments are those of :meth:`bind`. It is no objective of a cell: it says how good the approximation is.

        Raises
        ------
        ImpossibleCellError : the routing has no head.
        """
        if self.likelihood is None:
            raise ImpossibleCellError("the Laplace evidence needs a head: Laplace().for_head(likelihood)")
        precision = self.prior_precision(params, noise_var)
        mean, factor, log_likelihood = self._at_mode(params, features, targets, precision)
        log_prior = 0.5 * mean.shape[-1] * (precision.log() - LOG_2PI) - 0.5 * precision * mean.square().sum(-1)
        volume = 0.5 * mean.shape[-1] * LOG_2PI - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        each = log_prior + volume
        return log_likelihood + (each if self.likelihood.latents == 1 else each.sum(-1))

    def _at_mode(
        self, params: Params, features: Tensor, targets: Tensor, precision: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The mode, the factor of ``A`` there and ``log p(y | mode)``, inside the graph where one is wanted."""
        wanted = any(each.requires_grad for each in (features, precision, *params.values()))
        with torch.set_grad_enabled(wanted and torch.is_grad_enabled()):
            return self._one_step(params, features, targets, precision)

    def _one_step(
        self, params: Params, features: Tensor, targets: Tensor, precision: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From the mode found outside the graph one Newton step inside it."""
        problem = LogConcave(self._log_likelihood(params, targets), features, precision)
        start = find_mode(problem.detached(), self.steps, latents=self._latents)
        latent = (features @ start[..., None])[..., 0]
        slope, curvature = curvature_and_slope(problem.log_likelihood, latent)
        gradient = (features.mT @ slope[..., None])[..., 0] - precision[..., None] * start
        step = torch.cholesky_solve(gradient[..., None], posterior_factor(problem, curvature))
        mean = start + step[..., 0]
        latent = (features @ mean[..., None])[..., 0]
        _, curvature = curvature_and_slope(problem.log_likelihood, latent)
        return mean, posterior_factor(problem, curvature), problem.log_likelihood(latent)

    @property
    def _latents(self) -> int:
        return 1 if self.likelihood is None else self.likelihood.latents

    def _log_likelihood(self, params: Params, targets: Tensor) -> Callable[[Tensor], Tensor]:
        """``Σ_n log p(y_n | f_n)`` of latent values; labels stand once a latent function and are the same for all."""
        likelihood = self.likelihood
        assert likelihood is not None
        seen = targets if likelihood.latents == 1 or likelihood.target_columns > 1 else targets[..., 0, :]
        return lambda latent: likelihood.log_prob(params, seen, latent).sum(-1)
