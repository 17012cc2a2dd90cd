"""The product point of the design space: the one place where cavity, routing and the other axes meet."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.beliefs import Prior, RoutedBelief
from corners.cavities import CAVITIES
from corners.cavities._base import Cavity
from corners.covariances import COVARIANCES
from corners.covariances._base import Bounds, CovarianceFamily, Params, require_jitter
from corners.engine.objective import FreeEnergy
from corners.errors import ImpossibleCellError, SpecError
from corners.likelihoods._base import Likelihood
from corners.likelihoods.gaussian import Gaussian
from corners.registry import Registry
from corners.routings import ROUTINGS
from corners.routings._base import Routing


@dataclass(frozen=True, init=False)
class Corner:
    """One cell: which data the belief sees, where the belief comes from, and everything around it.

    Parameters
    ----------
    cavity, routing, covariance : a specification or its registry name.
    likelihood, prior, backbone : specifications.
    jitter : ``ε`` added to a free or shared Σ (theory 5.6); the exact corners take none.
    backbone_penalty : weight of the squared norm of the hidden weights (theory 1).
    prior_term : whether ``-log Z_w`` is part of the objective; ``None`` takes it where theory 2 has it.

    Raises
    ------
    ImpossibleCellError : the axes do not go together; the message says why.

    Example
    -------
    >>> Corner(cavity="shared", routing="free", covariance="dense").has_prior_term
    True
    >>> Corner(cavity="sequential", routing="free", covariance="dense")
    Traceback (most recent call last):
    corners.errors.ImpossibleCellError: sequential cavity with free routing is not defined: ...
    """

    cavity: Cavity
    routing: Routing
    covariance: CovarianceFamily
    likelihood: Likelihood
    prior: Prior
    backbone: Backbone
    jitter: float
    backbone_penalty: float
    prior_term: bool | None

    def __init__(
        self,
        cavity: Cavity | str,
        routing: Routing | str,
        covariance: CovarianceFamily | str,
        likelihood: Likelihood | None = None,
        prior: Prior | None = None,
        backbone: Backbone | None = None,
        *,
        jitter: float = 0.0,
        backbone_penalty: float = 0.01,
        prior_term: bool | None = None,
    ) -> None:
        fields = {
            "cavity": _named("cavity", cavity, CAVITIES, Cavity),
            "routing": _named("routing", routing, ROUTINGS, Routing),
            "covariance": _named("covariance", covariance, COVARIANCES, CovarianceFamily),
            "likelihood": _given("likelihood", Gaussian() if likelihood is None else likelihood, Likelihood),
            "prior": _given("prior", Prior() if prior is None else prior, Prior),
            "backbone": _given("backbone", MLP() if backbone is None else backbone, Backbone),
            "jitter": jitter,
            "backbone_penalty": backbone_penalty,
            "prior_term": prior_term,
        }
        fields["covariance"] = fields["covariance"].across(fields["likelihood"].latents)
        fields["routing"] = fields["routing"].for_head(fields["likelihood"])
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        require_jitter(jitter)
        if not 0.0 <= backbone_penalty < float("inf"):
            raise SpecError(f"backbone_penalty must be at least 0 and finite; got {backbone_penalty}")
        _refuse_impossible(self)

    @property
    def is_exact(self) -> bool:
        """Whether the belief is the conjugate posterior and every score is a function of it."""
        return self.routing.binds_covariance and self.cavity.needs_sites

    @property
    def has_prior_term(self) -> bool:
        """Whether ``-log Z_w`` is part of the objective."""
        return not self.is_exact if self.prior_term is None else self.prior_term

    @property
    def frozen(self) -> frozenset[str]:
        """Parameters that no gradient step moves."""
        return self.prior.frozen | self.likelihood.frozen | self.backbone.frozen

    def init(
        self, inputs: Float[Tensor, "B N D"], targets: Float[Tensor, "B *P N"], generators: list[torch.Generator]
    ) -> Params:
        """All leaf parameters at their start, one replicate a generator."""
        params = self.likelihood.init(targets)
        params |= self.backbone.init(inputs.shape[-1], generators, inputs.dtype)
        with torch.no_grad():
            size = self.backbone.features(params, inputs[:, :1]).shape[-1]
        return params | self._belief_start(size, self._noise_var(params, targets), generators)

    def _belief_start(self, size: int, noise_var: Tensor, generators: list[torch.Generator]) -> Params:
        """Prior and belief; of K latent functions with a dimension of that size after the replicates'."""
        if self.likelihood.latents == 1:
            return self.routing.init(self.prior, self.covariance, size, noise_var, generators)
        noises = self._of_latents(noise_var, 0).unbind(-1)
        starts = [self.routing.init(self.prior, self.covariance, size, noise, generators) for noise in noises]
        one = self.covariance.joint | ({Prior.parameter} if self.prior.shared else frozenset())
        return {
            name: value if name in one else torch.stack([start[name] for start in starts], 1)
            for name, value in starts[0].items()
        }

    def bounds(self) -> Bounds:
        """Element-wise bounds of the leaf parameters (theory 5.7)."""
        return self.likelihood.bounds() | self.routing.bounds(self.prior, self.covariance)

    def route(self, params: Params, features: Float[Tensor, "*B N H"], targets: Float[Tensor, "*T N"]) -> RoutedBelief:
        """The belief, inside the graph; its precision and belief have a dimension K where there are K latents."""
        noise_var = self._noise_var(params, targets)
        if self.likelihood.latents == 1:
            return self.routing.bind(params, self.covariance, features, targets, noise_var, self.jitter)
        each, own = self._each_latent, self._of_latents
        if self.prior.shared:
            params = params | {Prior.parameter: each(params[Prior.parameter], 0)}
        return self.routing.bind(
            params, self.covariance, each(features, 2), own(targets, 1), own(noise_var, 0), self.jitter
        )

    def _each_latent(self, tensor: Tensor, after: int) -> Tensor:
        """The same for each of K latents, their dimension before the last ``after`` ones."""
        shape = tensor.shape
        cut = len(shape) - after
        return tensor.unsqueeze(cut).expand(*shape[:cut], self.likelihood.latents, *shape[cut:])

    def _of_latents(self, tensor: Tensor, after: int) -> Tensor:
        """Targets or noise with a dimension K: they have it where the latents are outputs, else all see the same."""
        return tensor if self.likelihood.target_columns > 1 else self._each_latent(tensor, after)

    def latent_features(self, features: Float[Tensor, "*B N H"]) -> Tensor:
        """The features as the belief takes them: every one of K latent functions sees the same."""
        return features if self.likelihood.latents == 1 else self._each_latent(features, 2)

    def energy(
        self,
        params: Params,
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*T N"],
        routed: RoutedBelief,
        data_size: int | None = None,
    ) -> FreeEnergy:
        """The free energy at features and belief; ``data_size`` scales the data term of a mini-batch up to all data."""
        data = self.cavity.data_term(routed, self.latent_features(features), targets, self.likelihood, params)
        if data_size is not None:
            data = data * (data_size / features.shape[-2])
        zero = torch.zeros_like(data)
        prior = self._over_latents(routed.belief.prior_overlap(routed.prior_precision)) if self.has_prior_term else zero
        hyperprior = self.likelihood.penalty(params)
        if self.prior.hyperprior is not None:
            penalty = self.prior.hyperprior.penalty(routed.prior_precision.log(), features.shape[-1])
            hyperprior = hyperprior + (penalty[..., 0] if self.prior.shared else self._over_latents(penalty))
        return FreeEnergy(data, prior, hyperprior, zero + self.backbone_penalty * self.backbone.penalty(params))

    def _over_latents(self, each: Tensor) -> Float[Tensor, "*B"]:
        return each if self.likelihood.latents == 1 else each.sum(-1)

    def _noise_var(self, params: Params, targets: Tensor) -> Tensor:
        noise_var = self.likelihood.noise_var(params)
        return torch.ones_like(targets[..., 0]) if noise_var is None else noise_var


def _given(axis: str, value: Any, kind: type) -> Any:
    """The specification itself, if it is one of its kind."""
    if not isinstance(value, kind):
        raise SpecError(f"{axis} must be a {kind.__name__} specification; got {value!r}")
    return value


def _named(axis: str, value: Any, registry: Registry, kind: type) -> Any:
    """The specification, or the member of that registry name with its defaults."""
    if isinstance(value, str):
        return registry.get(value)()
    if not isinstance(value, kind):
        raise SpecError(f"{axis} must be a {kind.__name__} specification or a registry name; got {value!r}")
    return value


def _refuse_impossible(corner: Corner) -> None:
    cavity, routing = corner.cavity, corner.routing
    if cavity.name == "sequential" and not routing.binds_covariance:
        raise ImpossibleCellError(
            f"sequential cavity with {routing.name} routing is not defined: every prefix of the data needs a belief "
            "of its own, and only the conjugate posterior gives them all; use routing 'closed'"
        )
    if cavity.needs_sites and not routing.binds_mean:
        raise ImpossibleCellError(
            "leave-one-out cavity with free routing is refused: a free belief has no data to leave out, and with a "
            "free (μ, Σ) in the leave-one-out formula the data term grows with every v_n and drives Σ to 0 (theory "
            "3.8f); "
            "use routing 'closed' or 'mean_closed', or cavity 'shared'"
        )
    _refuse_family(corner)
    if routing.approximate and cavity.needs_sites and not corner.likelihood.conjugate:
        raise ImpossibleCellError(
            f"{cavity.name} cavity with {routing.name} routing needs sites that can be taken away, and likelihood "
            f"{corner.likelihood.name!r} has none: the mode and its curvature have seen every data point; use cavity "
            "'shared', or the method expectation_propagation, whose cavities are made for it"
        )
    if routing.binds_mean and not routing.approximate and not corner.likelihood.conjugate:
        raise ImpossibleCellError(
            f"{routing.name} routing binds the belief to the conjugate posterior, and likelihood "
            f"{corner.likelihood.name!r} has none; use routing 'free' with cavity 'shared'"
        )
    _refuse_contradictions(corner)


def _refuse_family(corner: Corner) -> None:
    cavity, routing, family = corner.cavity, corner.routing, corner.covariance
    if corner.is_exact and family.name != "dense":
        raise ImpossibleCellError(
            f"{cavity.name} cavity with {routing.name} routing is defined for covariance 'dense' only (theory 3.4), "
            f"not {family.name!r}; use 'dense', or cavity 'shared' for a restricted family"
        )
    if routing.binds_covariance and family.name == "low_rank":
        raise ImpossibleCellError(
            f"{routing.name} routing needs the ELBO optimum of the family in closed form, and low_rank has none; use "
            "'dense' or 'diagonal', or routing 'free'"
        )
    if routing.binds_covariance and family.name == "kronecker" and corner.likelihood.latents > 1:
        raise ImpossibleCellError(
            f"{routing.name} routing takes Σ from each latent function's own posterior, and kronecker has one for all; "
            "use 'dense' or 'diagonal', or routing 'free'"
        )


def _refuse_contradictions(corner: Corner) -> None:
    if corner.is_exact and corner.prior_term:
        raise SpecError(
            f"prior_term=True would count the prior twice: in the {corner.cavity.name} corner it enters through every "
            "cavity"
        )
    if corner.is_exact and corner.jitter:
        raise SpecError(f"the {corner.cavity.name} corner is exact and takes no jitter; got {corner.jitter}")
    if corner.routing.name == "mean_closed" and (corner.prior.evidence_tied or not corner.prior.learned):
        raise SpecError(
            "mean_closed routing trains the ridge λ = α σ², so its prior precision can be neither fixed nor tied to "
            "the evidence; leave Prior(learned=True, evidence_tied=0)"
        )
    if corner.prior.shared and (corner.routing.name == "mean_closed" or corner.prior.evidence_tied):
        raise SpecError(
            "Prior(shared=True) learns one precision for all latent functions, but mean_closed routing and "
            "evidence_tied set one for each; leave shared=False"
        )
    if corner.prior.evidence_tied and corner.prior_term is False:
        raise SpecError("evidence_tied ties a precision that plays no part with prior_term=False; choose one")
    if corner.prior.shared and corner.likelihood.latents == 1:
        raise SpecError("Prior(shared=True) shares one precision among several latent functions; there is one here")
    if corner.prior.evidence_tied and not corner.likelihood.conjugate:
        raise SpecError("evidence-tied precision needs the evidence of a Gaussian likelihood; use a hyperprior instead")
