"""The optimum of the free objective at fixed features, and what may be claimed of it (theory 3.5, 5.7, 7.1)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import SpecError
from corners.exact._inputs import as_problem, one_of, positive
from corners.exact.covariance import Covariance
from corners.exact.free_objective import FAMILIES, NO_HYPERPRIORS, FreeBounds, FreeObjective, Hyperpriors
from corners.exact.multistart import minimise
from corners.types import Array, Float

REFUSAL = (
    "prior_precision is free and has no hyperprior: the objective falls without bound as it grows (theory 7.1), so no "
    "global optimum can be claimed. Give prior_precision, or hyperpriors=Hyperpriors((shape, rate)), or "
    "starts=Start(prior_precision, noise_scale) for the local minimum below that start"
)


class Start(NamedTuple):
    """A stated start of the local search: the prior precision and the noise scale."""

    prior_precision: float
    noise_scale: float


@dataclass(frozen=True, eq=False)
class FreeOptimum:
    """The belief and hyperparameters that minimise ``F`` plus penalties.

    ``value`` includes the penalties (their constants dropped), nats. ``claim`` says in a sentence what the point is;
    ``at_bounds`` names the hyperparameters that ended on a bound; ``local_values`` are the distinct minima found,
    rising.
    """

    value: float
    mean: Float[Array, " H"]
    covariance: Covariance
    prior_precision: float
    noise_scale: float
    variances: Float[Array, " N"]
    claim: str
    at_bounds: tuple[str, ...]
    hits: int
    starts: int
    local_values: tuple[float, ...]


def find_free_optimum(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    rng: np.random.Generator,
    *,
    family: str = "dense",
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors = NO_HYPERPRIORS,
    jitter: float = 1e-4,
    starts: int | Start = 16,
    bounds: FreeBounds | None = None,
) -> FreeOptimum:
    """Minimise ``F(μ, Σ, α, σ²)`` over what is not given, from many starts; the mean is eliminated in closed form.

    Parameters
    ----------
    family : ``"none"`` (no jitter), ``"diagonal"`` or ``"dense"``.
    prior_precision, noise_scale : held where given, else optimised within ``bounds`` (theory 5.7).
    hyperpriors : a Gamma density on ``α``, an inverse-Gamma density on ``σ²`` (theory 7.4).
    jitter : ``ε`` in both ``vₙ`` and ``M``; with a free noise it is what bounds the objective (theory 5.6).
    starts : how many, at least 8 since ``F`` is non-convex in ``Σ``; a :class:`Start` asks for the one local minimum
        below it instead.

    Raises
    ------
    SpecError : a free prior precision without hyperprior and without a stated start (theory 7.1), fewer than 8 starts.

    Reference: theory 3.5. Optima often lie on the boundary: eigenvalues of ``Σ`` at the jitter, noise at its bound.

    Example
    -------
    >>> rng = np.random.default_rng(0)
    >>> point = find_free_optimum([[1.0]], [2.0], rng, family="none", prior_precision=1.0, noise_scale=1.0)
    >>> point.mean.round(6).tolist()
    [1.0]
    """
    matrix, vector = as_problem(features, targets)
    stated = isinstance(starts, Start)
    if prior_precision is None and hyperpriors.prior_precision is None and not stated:
        raise SpecError(REFUSAL)
    if not stated and starts < 8:
        raise SpecError(f"the objective is non-convex in the covariance: give at least 8 starts; got {starts}")
    objective = FreeObjective(
        features=matrix,
        targets=vector,
        family=one_of("family", family, FAMILIES),
        jitter=0.0 if family == "none" else jitter,
        prior_precision=None if prior_precision is None else positive("prior_precision", prior_precision),
        noise_var=None if noise_scale is None else positive("noise_scale", noise_scale) ** 2,
        hyperpriors=hyperpriors,
        bounds=bounds or FreeBounds.of(vector),
    )
    points = [objective.near(*starts)] if stated else [objective.random_start(rng) for _ in range(starts)]
    found = minimise(objective, points, bounds=objective.box())
    return _describe(objective, found.value, found.parameters, found.hits, found.starts, found.local_values)


def _describe(
    objective: FreeObjective,
    value: float,
    parameters: Float[Array, " P"],
    hits: int,
    starts: int,
    local_values: tuple[float, ...],
) -> FreeOptimum:
    """Back from transformed parameters, with the claim that the problem allows."""
    belief = objective.belief(parameters)
    variances = belief.noise_var + belief.covariance.variances(objective.features)
    regular = objective.prior_precision is not None or objective.hyperpriors.prior_precision is not None
    claim = f"best of {starts} starts, {hits} of which reached it; not proven global, the objective is non-convex"
    if not regular or starts == 1:
        claim = "local minimum below the stated start" + ("" if regular else "; the objective has no global one")
    return FreeOptimum(
        value=value,
        mean=belief.mean,
        covariance=belief.covariance,
        prior_precision=belief.prior_precision,
        noise_scale=math.sqrt(belief.noise_var),
        variances=variances,
        claim=claim,
        at_bounds=objective.at_bounds(parameters),
        hits=hits,
        starts=starts,
        local_values=local_values,
    )
