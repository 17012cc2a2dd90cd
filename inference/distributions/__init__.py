"""Immutable, batched distributions: what travels on edges and what comes out as posteriors.

Each is a batch of one family; arrays are ``(*batch, *event)``, float64 and read-only. Gamma is shape-rate.

Example
-------
>>> Gamma(shape=2.0, rate=4.0)
Gamma(shape=2, rate=4)
"""

from inference.distributions._base import Distribution
from inference.distributions.bernoulli import Bernoulli
from inference.distributions.beta import Beta
from inference.distributions.divergence import kl
from inference.distributions.gamma import Gamma
from inference.distributions.log_gamma import LogGamma
from inference.distributions.log_normal import LogNormal
from inference.distributions.mixture import Mixture
from inference.distributions.mv_normal import MvNormal
from inference.distributions.normal import Normal
from inference.distributions.normal_gamma import NormalGamma
from inference.distributions.point_mass import PointMass
from inference.distributions.student_t import StudentT

__all__ = [
    "Bernoulli",
    "Beta",
    "Distribution",
    "Gamma",
    "LogGamma",
    "LogNormal",
    "Mixture",
    "MvNormal",
    "Normal",
    "NormalGamma",
    "PointMass",
    "StudentT",
    "kl",
]
