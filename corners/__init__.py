"""What a Bayesian last layer really computes, and how far it is from the truth.

The facade is lazy: ``import corners`` loads nothing heavy, and each name below loads its module when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Dataset": "corners.data.dataset",
    "Part": "corners.data.split",
    "Split": "corners.data.split",
    "load": "corners.data.loading",
    "random_split": "corners.data.splitters",
    "predefined_split": "corners.data.splitters",
    "time_ordered_split": "corners.data.splitters",
    "grouped_split": "corners.data.splitters",
    "shifted_split": "corners.data.splitters",
    "Identity": "corners.backbones.identity",
    "MLP": "corners.backbones.mlp",
    "RandomFeatures": "corners.backbones.random_features",
    "Module": "corners.backbones.module",
    "Gaussian": "corners.likelihoods.gaussian",
    "Prior": "corners.beliefs",
    "GammaPrior": "corners.beliefs",
    "InverseGammaPrior": "corners.beliefs",
    "HalfCauchyPrior": "corners.beliefs",
    "Corner": "corners.engine.corner",
    "Protocol": "corners.protocols",
    "Comparison": "corners.comparison.comparison",
    "compare": "corners.study",
    "make_method": "corners.study",
    "method_names": "corners.study",
}

if TYPE_CHECKING:
    from corners.backbones.identity import Identity as Identity
    from corners.backbones.mlp import MLP as MLP
    from corners.backbones.module import Module as Module
    from corners.backbones.random_features import RandomFeatures as RandomFeatures
    from corners.beliefs import GammaPrior as GammaPrior
    from corners.beliefs import HalfCauchyPrior as HalfCauchyPrior
    from corners.beliefs import InverseGammaPrior as InverseGammaPrior
    from corners.beliefs import Prior as Prior
    from corners.comparison.comparison import Comparison as Comparison
    from corners.data.dataset import Dataset as Dataset
    from corners.data.loading import load as load
    from corners.data.split import Part as Part
    from corners.data.split import Split as Split
    from corners.data.splitters import grouped_split as grouped_split
    from corners.data.splitters import predefined_split as predefined_split
    from corners.data.splitters import random_split as random_split
    from corners.data.splitters import shifted_split as shifted_split
    from corners.data.splitters import time_ordered_split as time_ordered_split
    from corners.engine.corner import Corner as Corner
    from corners.likelihoods.gaussian import Gaussian as Gaussian
    from corners.protocols import Protocol as Protocol
    from corners.study import compare as compare
    from corners.study import make_method as make_method
    from corners.study import method_names as method_names


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'corners' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return ["__version__", *sorted(_HOMES)]
