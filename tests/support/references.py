"""Reference posteriors made of independent draws: what a perfect sampler would hand over."""

import numpy as np

from corners.method import LastLayer
from inference.truth.gate import Diagnostics
from inference.truth.loo import PsisLoo
from inference.truth.reference import Provenance, ReferencePosterior


def independent_reference(
    layer: LastLayer,
    mean: np.ndarray,
    covariance: np.ndarray,
    generator: np.random.Generator,
    *,
    chains: int = 4,
    draws: int = 1000,
    rhat: float = 1.0,
    noise_draws: np.ndarray | None = None,
) -> ReferencePosterior:
    """Independent draws of ``N(mean, covariance)`` as a reference for the layer's data; effective sizes are exact."""
    size = mean.size
    weights = generator.multivariate_normal(mean, covariance, size=(chains, draws), method="eigh")
    hyperparameters = {} if noise_draws is None else {"noise_scale": noise_draws}
    names = [f"weights[{h}]" for h in range(size)] + [f"log_{name}" for name in hyperparameters]
    full = np.full(len(names), float(chains * draws))
    return ReferencePosterior(
        weights=weights,
        hyperparameters=hyperparameters,
        log_likelihood=np.zeros((chains * draws, len(layer.targets))),
        loo=PsisLoo(np.zeros(len(layer.targets)), np.zeros(len(layer.targets)), chains * draws),
        evidence=None,
        sample_stats={},
        diagnostics=Diagnostics(
            tuple(names), full, full, full, full, np.full(len(names), rhat), np.ones(chains), np.zeros(chains, int)
        ),
        provenance=Provenance(
            "last_layer",
            "",
            {"prior_precision": layer.prior_precision, "noise_scale": float(np.sqrt(layer.noise_var))},
            {},
            0,
            {},
            {},
            1.0,
        ),
    )
