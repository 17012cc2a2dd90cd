"""NUTS on one fitted last layer: what :mod:`inference.truth` must know of it, and errors in words of this package."""

from typing import TYPE_CHECKING, Any

from corners.errors import SpecError, TruthError
from corners.method import LastLayer

if TYPE_CHECKING:
    from inference.truth.heads._base import Head
    from inference.truth.priors import Hyperpriors
    from inference.truth.reference import ReferencePosterior

GAUSSIAN = "gaussian"


def sample_layer(
    layer: LastLayer, *, hierarchical: bool = False, draws: int = 1000, chains: int = 4, seed: int | None = None
) -> "ReferencePosterior":
    """Sample the posterior of one last layer at its own hyperparameters, or with its own hyperpriors.

    The likelihood is the fit's own. The parameters of one that is not Gaussian noise (thresholds, size, scale) stay at
    their fitted values, hierarchical or not: the fit has no density of them.

    Raises
    ------
    TruthError : the run failed its gate or could not be made; the message says which check and what to do.
    SpecError : ``hierarchical`` for a fit without hyperpriors.
    """
    from inference.errors import InferenceError
    from inference.truth import sample_last_layer

    try:
        gaussian = layer.likelihood == GAUSSIAN
        known: dict[str, Any] = {"likelihood": None if gaussian else _head(layer)}
        if hierarchical:
            known["hyperpriors"] = _hyperpriors(layer)
        else:
            known["prior_precision"] = layer.prior_precision
            known["noise_scale"] = layer.noise_var**0.5 if gaussian else None
        reference = sample_last_layer(
            layer.features,
            layer.targets,
            **known,
            form="collapsed" if hierarchical and gaussian else "whitened",
            chains=chains,
            draws=draws,
            seed=seed,
        )
        return reference.require()
    except InferenceError as error:
        raise TruthError(str(error)) from error


def _head(layer: LastLayer) -> "Head":
    """The fit's own likelihood, its parameters held at their fitted values."""
    from inference.truth.heads import HEADS

    return HEADS.get(layer.likelihood).from_parameters(layer.likelihood_params)


def _hyperpriors(layer: LastLayer) -> "Hyperpriors":
    """The fit's own hyperpriors, as the sampler's."""
    from inference.truth import Gamma, Hyperpriors, InverseGamma

    precision, noise = layer.precision_prior, layer.noise_prior
    if precision is not None and layer.likelihood != GAUSSIAN:
        return Hyperpriors(prior_precision=Gamma(precision.first, precision.second))
    if precision is None or noise is None:
        raise SpecError("a hierarchical truth needs the hyperpriors of the fit it judges, and this fit has none")
    return Hyperpriors(
        prior_precision=Gamma(precision.first, precision.second), noise_var=InverseGamma(noise.first, noise.second)
    )
