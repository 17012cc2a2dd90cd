"""A named cell as a method under a protocol."""

from corners.backbones._base import Backbone
from corners.beliefs import GammaPrior, InverseGammaPrior, Prior
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.training import CornerMethod
from corners.errors import UnknownNameError
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
from corners.protocols import Protocol
from corners.registry import unknown_name_message


def named_cell(name: str, protocol: Protocol, backbone: Backbone) -> CornerMethod:
    """The cell called ``name`` with the schedule, hyperpriors and floors of the protocol.

    The exact corners take no hyperprior and no jitter: their objective is the score itself.
    Every cell with a prior overlap takes the protocol's hyperpriors: without them its objective is unbounded below
    (theory 7.1).

    Raises
    ------
    UnknownNameError : no cell is called so; the message lists them.
    """
    if name not in CELLS:
        raise UnknownNameError(unknown_name_message("cell", name, list(CELLS)))
    cell = CELLS[name]
    exact = cell.routing == "closed" and cell.cavity != "shared"
    free_mean = cell.routing == "free"
    corner = Corner(
        cavity=cell.cavity,
        routing=cell.routing,
        covariance=cell.covariance,
        likelihood=Gaussian(hyperprior=None if exact else _noise_prior(protocol)),
        prior=Prior(
            hyperprior=None if exact else _precision_prior(protocol),
            evidence_tied=0 if exact or cell.routing == "mean_closed" else protocol.evidence_tied,
        ),
        backbone=backbone,
        jitter=0.0 if exact else protocol.jitter,
        backbone_penalty=protocol.backbone_penalty,
    )
    schedule = Schedule(protocol.learning_rate, protocol.max_steps, protocol.patience, protocol.threshold)
    return CornerMethod(
        name,
        corner,
        schedule,
        scale_targets=protocol.scale_targets,
        batch_size=protocol.batch_size if free_mean else None,
        dtype=protocol.dtype,
    )


def _precision_prior(protocol: Protocol) -> GammaPrior | None:
    shape = protocol.precision_shape
    return None if shape is None else GammaPrior(shape=shape, cap=protocol.precision_cap)


def _noise_prior(protocol: Protocol) -> InverseGammaPrior | None:
    shape = protocol.noise_shape
    return None if shape is None else InverseGammaPrior(shape=shape, relative_scale=protocol.noise_relative_scale)
