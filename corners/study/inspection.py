"""What can be asked of the belief of a cell with any head; nothing for fits without such a belief."""

from typing import TYPE_CHECKING, TypeGuard

from corners.method import Fit
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Split
    from corners.engine.fit import CornerFit
    from corners.method import BeliefObjectives

LATENTS = "latent_functions"
ONE_VERSUS_ALL = (
    "one-versus-all trains K yes-or-no forecasts, whose loss is no proper score of the normalised class probabilities; "
    "every score here is one of the normalised probabilities, and the prior precision is the geometric mean over the "
    "classes"
)


def has_latents(fit: Fit) -> "TypeGuard[CornerFit]":
    """Whether it is a cell of a one-versus-all head."""
    from corners.engine.fit import CornerFit

    return isinstance(fit, CornerFit) and fit.corner.likelihood.name == "one_vs_all"


def latent_facts(fit: Fit, replicate: int) -> dict[str, float]:
    """Of a cell with several latent functions a point: how many, the lowest and highest of their precisions, and
    whether these differ by more than chance (``precision_spread_p``; not of a shared one).

    ``fit.learned`` holds the geometric mean of those precisions; the ends say how far they are apart.
    """
    if not has_latents(fit):
        return {}
    from corners.beliefs import Prior
    from corners.comparison.precision_spread import precision_spread

    chosen, facts = fit.replicates[replicate], {LATENTS: float(fit.corner.likelihood.latents)}
    if chosen is None:
        return facts
    precisions = chosen.params[Prior.parameter].double().exp().reshape(-1)
    ends = {"prior_precision_lowest": precisions.min(), "prior_precision_highest": precisions.max()}
    facts |= {name: float(value) for name, value in ends.items()}
    means = chosen.belief.mean.detach().double().numpy()
    if fit.corner.prior.learned and not fit.corner.prior.shared and means.any(axis=1).all():
        facts["precision_spread_p"] = precision_spread(means).p
    return facts


def class_draws(fit: Fit, replicate: int, inputs: Float[Array, "N D"]) -> Float[Array, "S N K"] | None:
    """Class probabilities given draws of a cell's belief; None for other methods and other tasks."""
    from corners.engine.fit import CornerFit

    if not isinstance(fit, CornerFit) or fit.corner.likelihood.task != "classification":
        return None
    from corners.engine.class_draws import class_draws as draws_of

    return draws_of(fit, replicate, inputs)


def objectives(fit: Fit, replicate: int, split: "Split") -> "BeliefObjectives | None":
    """MAP, Bethe and ELBO at a cell's belief with whatever head; None for other methods."""
    from corners.engine.fit import CornerFit

    if not isinstance(fit, CornerFit):
        return None
    from corners.engine.ordering import objectives_at

    return objectives_at(fit, replicate, split)
