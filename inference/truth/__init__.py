"""Ground truth: NUTS draws from the posterior of a last layer, with the certificate that they may be trusted.

Gaussian noise by default; probit, logistic, ordinal, Poisson, negative binomial and Student-t heads by ``likelihood=``.
``sample_network`` samples every weight of a small network and certifies the function it computes.

PyMC, PyTensor and ArviZ are imported only when something is sampled; a saved reference is read with numpy alone.

Example
-------
>>> import inference.truth
>>> "sample_last_layer" in dir(inference.truth)
True
"""

import importlib
from typing import Any

_HOMES = {
    "sample_last_layer": "nuts",
    "last_layer_model": "models",
    "Gamma": "priors",
    "HalfNormal": "priors",
    "InverseGamma": "priors",
    "LogNormal": "priors",
    "Normal": "priors",
    "Hyperpriors": "priors",
    "Probit": "heads.probit",
    "Logistic": "heads.logistic",
    "Ordinal": "heads.ordinal",
    "Poisson": "heads.poisson",
    "NegativeBinomial": "heads.negative_binomial",
    "StudentT": "heads.student_t",
    "ReferencePosterior": "reference",
    "sample_network": "network",
    "NetworkPrior": "network_problem",
    "NetworkReference": "network_reference",
    "read_certificate": "artefacts",
    "smc_evidence": "smc",
    "GateReport": "gate",
    "bridge_evidence": "evidence",
    "energy_distance": "distances",
    "energy_distance_null": "distances",
    "gaussian_wasserstein": "distances",
    "gaussian_k_hat": "diagnostics",
    "to_arviz": "stacks",
}

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
