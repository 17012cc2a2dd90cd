"""What the Laplace approximations of last layers share: laplace-torch, and the choice of its prior precision."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from corners.backbones._base import Backbone
from corners.baselines._networks import NetworkMethod
from corners.covariances._base import Params
from corners.errors import SpecError
from corners.method import METHODS, Method
from corners.optimise import Schedule
from corners.protocols import require_penalty_grid
from corners.selection import best_candidate, choice_remarks

STRUCTURES = {"full": "full", "diagonal": "diag"}
SELECTIONS = ("validation", "marginal_likelihood")
EVIDENCE_STEPS = 500
STILL_RISING = 1e-2
"""Nats a unit of log precision beyond which the evidence is not called maximal."""
UNINFORMED = 0.99
"""Share of the prior variance left in the posterior beyond which the prior precision ran away."""
ROWS = 1024
"""Rows the library sees at once: it lays down their Jacobians."""
LAYER = "1"
"""Name of the last layer inside the sequential model handed over."""
REMEDY = (
    "pip install 'bethe-corners[baselines]', then "
    "pip install --no-deps laplace-torch==0.3 curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 "
    "(with their dependencies they would bring a torchvision that breaks torch's CPU build)"
)


class Features(nn.Module):
    """A trained backbone as a torch module without parameters of its own."""

    def __init__(self, backbone: Backbone, params: Params) -> None:
        super().__init__()
        self.backbone, self.trained = backbone, params

    def forward(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N H"]:
        """``ψ(x)``."""
        return self.backbone.features(self.trained, inputs)


def fitted_posterior(
    library: ModuleType,
    features: Features,
    weights: Float[Tensor, "K H"],
    data: tuple[Tensor, Tensor],
    **options: Any,
) -> Any:
    """The library's posterior over a last layer without biases, curvature computed, at prior precision 1.

    Parameters
    ----------
    data : inputs, and targets as the library takes them.
    options : the library's ``likelihood``, ``hessian_structure``, ``sigma_noise``.
    """
    last = nn.Linear(weights.shape[1], weights.shape[0], bias=False, dtype=torch.float64)
    with torch.no_grad():
        last.weight.copy_(weights)
    made = library.Laplace(
        nn.Sequential(features, last),
        subset_of_weights="last_layer",
        last_layer_name=LAYER,
        backend=library.curvature.GGNInterface,  # the default one multiplies in single precision
        **options,
    )
    rows = torch.utils.data.TensorDataset(*data)
    made.fit(torch.utils.data.DataLoader(rows, batch_size=min(len(rows), ROWS)))
    return made


def _map_network() -> NetworkMethod:
    return METHODS.get("map")()


@dataclass(frozen=True)
class LaplaceMethod(Method):
    """A trained network, the structure of its last layer's covariance, and where the prior precision is from."""

    network: NetworkMethod = field(default_factory=_map_network)
    structure: str = "full"
    prior_precision: float | str = "validation"
    precision_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    name: str = ""

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise SpecError(f"structure must be one of {', '.join(STRUCTURES)}; got {self.structure!r}")
        require_penalty_grid(self.precision_grid)
        chosen = self.prior_precision
        if not (chosen in SELECTIONS if isinstance(chosen, str) else 0.0 < chosen < float("inf")):
            raise SpecError(f"prior_precision must be positive and finite or {' or '.join(SELECTIONS)}; got {chosen!r}")

    @property
    def schedule(self) -> Schedule:
        """The network's."""
        return self.network.schedule

    def _set_precision(self, posterior: Any, nll: Callable[[Any], float]) -> tuple[str, ...]:
        """Give the posterior its prior precision; what is to be said of the choice.

        ``nll`` is the validation NLL of a posterior, which may raise ``ArithmeticError``.
        """
        if self.prior_precision == "validation":
            return self._choose_by_validation(posterior, nll)
        if self.prior_precision == "marginal_likelihood":
            return maximise_evidence(posterior)
        posterior.prior_precision = float(self.prior_precision)
        return ()

    def _choose_by_validation(self, posterior: Any, nll: Callable[[Any], float]) -> tuple[str, ...]:
        grid = self.precision_grid
        scores = np.array([_at_precision(posterior, precision, nll) for precision in grid])
        best = best_candidate(scores)
        if best is None:
            raise ArithmeticError("the posterior is proper at no prior precision of the grid; give larger ones")
        posterior.prior_precision = grid[best]
        return choice_remarks([{"prior_precision": precision} for precision in grid], scores, best)


def _at_precision(posterior: Any, precision: float, nll: Callable[[Any], float]) -> float:
    """Validation NLL at a prior precision; infinite where the posterior is improper."""
    posterior.prior_precision = precision
    try:
        return nll(posterior)
    except ArithmeticError:
        return math.inf


def finite_covariance(posterior: Any) -> Float[Tensor, "P P"]:
    """The posterior covariance, or an ``ArithmeticError`` that names the prior precision."""
    precision = float(posterior.prior_precision)
    try:
        covariance = covariance_of(posterior)
    except torch.linalg.LinAlgError as error:  # pyright: ignore[reportPrivateImportUsage]
        raise ArithmeticError(f"the posterior precision is singular at prior precision {precision:g}") from error
    if not bool(covariance.isfinite().all()):
        raise ArithmeticError(f"the posterior covariance is not finite at prior precision {precision:g}")
    return covariance


def covariance_of(posterior: Any) -> Float[Tensor, "P P"]:
    """The posterior covariance of either structure."""
    if hasattr(type(posterior), "posterior_variance"):  # of the diagonal structure
        return posterior.posterior_variance.diag()
    return posterior.posterior_covariance


def maximise_evidence(posterior: Any) -> tuple[str, ...]:
    """The library's own optimiser on one precision for all weights; says so where it has not arrived."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "By default `link_approx`")  # of classes, and of their prediction alone
        posterior.optimize_prior_precision(
            pred_type="glm", method="marglik", prior_structure="scalar", n_steps=EVIDENCE_STEPS, lr=0.1
        )
    log_precision = posterior.prior_precision.log().detach().requires_grad_()
    (slope,) = torch.autograd.grad(posterior.log_marginal_likelihood(log_precision.exp()), log_precision)
    posterior.prior_precision = log_precision.detach().exp()
    share = float(posterior.prior_precision) * float(covariance_of(posterior).trace()) / posterior.n_params
    if share > UNINFORMED:
        return ("prior precision ran away: the evidence leaves the data no say in the weights",)
    if float(slope.abs()) > STILL_RISING:
        return (f"evidence is not maximal yet: {EVIDENCE_STEPS} steps in the log precision were not enough",)
    return ()
