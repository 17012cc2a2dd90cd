"""A named cell as a method under a protocol."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corners.backbones._base import Backbone
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.covariances import COVARIANCES
from corners.covariances._base import CovarianceFamily
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.training import CornerMethod
from corners.errors import UnknownNameError
from corners.likelihoods._base import Likelihood
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
from corners.protocols import Protocol
from corners.registry import unknown_name_message
from corners.routings.free import Free


def named_cell(
    name: str,
    protocol: Protocol,
    backbone: Backbone,
    likelihood: Likelihood | None = None,
    *,
    shared_precision: bool = False,
    gaussian_options: Mapping[str, Any] | None = None,
) -> CornerMethod:
    """The cell called ``name`` with the schedule, hyperpriors and floors of the protocol.

    ``likelihood``: by default Gaussian noise as the protocol has it, with ``gaussian_options`` in place of some of its
    fields; another one is taken as it is, and never centres or scales labels and counts. ``shared_precision``: one
    prior precision for all latent functions, where the likelihood has several.

    The exact corners take no hyperprior and no jitter: their objective is the score itself.
    Every cell with a prior overlap takes the protocol's hyperpriors: without them its objective is unbounded below
    (theory 7.1).

    Raises
    ------
    UnknownNameError : no cell is called so; the message lists them.
    SpecError : the protocol stops by the calibration of a Gaussian, or ties the precision to its evidence, and the
        likelihood is another; a shared precision where there is one latent function.
    ImpossibleCellError : the cell binds its belief to a conjugate posterior, which the likelihood does not have.
    """
    if name not in CELLS:
        raise UnknownNameError(unknown_name_message("cell", name, list(CELLS)))
    cell = CELLS[name]
    exact = cell.routing == "closed" and cell.cavity != "shared"
    if likelihood is None:
        likelihood = _gaussian(protocol, exact, gaussian_options or {})
    free_mean = cell.routing == "free"
    corner = Corner(
        cavity=cell.cavity,
        routing=Free(protocol.mean_start_var) if free_mean else cell.routing,
        covariance=_family(cell.covariance, protocol.covariance_start),
        likelihood=likelihood,
        prior=_prior(protocol, cell.routing, exact, shared_precision),
        backbone=backbone,
        jitter=0.0 if exact else protocol.jitter,
        backbone_penalty=protocol.backbone_penalty,
    )
    return CornerMethod(
        name,
        corner,
        _schedule(protocol),
        scale_targets=protocol.scale_targets,
        batch_size=protocol.batch_size if free_mean else None,
        dtype=protocol.dtype,
        reduction=protocol.reduction,
    )


def _prior(protocol: Protocol, routing: str, exact: bool, shared: bool) -> Prior:
    """The prior of the weights; the exact corners take no hyperprior and tie nothing."""
    return Prior(
        protocol.precision_start,
        bounded=protocol.precision_bounded,
        hyperprior=None if exact else _precision_prior(protocol),
        evidence_tied=0 if exact or routing == "mean_closed" else protocol.evidence_tied,
        shared=shared,
    )


def _schedule(protocol: Protocol) -> Schedule:
    return Schedule(
        protocol.learning_rate,
        protocol.max_steps,
        protocol.patience,
        protocol.threshold,
        stopping=protocol.stopping,
    )


def _gaussian(protocol: Protocol, exact: bool, options: Mapping[str, Any]) -> Gaussian:
    """Gaussian noise as the protocol has it; the exact corners take no hyperprior."""
    return replace(Gaussian(protocol.noise_start, hyperprior=None if exact else _noise_prior(protocol)), **options)


def _family(name: str, start: float) -> CovarianceFamily:
    """A covariance that starts at ``start² I``."""
    starts: dict[str, dict[str, float]] = {
        "none": {},
        "dense": {"initial_scale": start},
        "diagonal": {"initial_var": start**2},
        "low_rank": {"initial_var": start**2},
    }
    return COVARIANCES.get(name)(**starts[name])


def _precision_prior(protocol: Protocol) -> GammaPrior | None:
    shape = protocol.precision_shape
    return None if shape is None else GammaPrior(shape=shape, cap=protocol.precision_cap)


def _noise_prior(protocol: Protocol) -> InverseGammaPrior | None:
    shape = protocol.noise_shape
    return None if shape is None else InverseGammaPrior(shape=shape, relative_scale=protocol.noise_relative_scale)
