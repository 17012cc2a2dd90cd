"""A trained likelihood that is not Gaussian noise as a sampler wants it: its name, its parameters as numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from corners.beliefs import Marginals, Prior
from corners.covariances._base import Params
from corners.errors import SpecError
from corners.likelihoods._base import Likelihood
from corners.likelihoods.negative_binomial import LOG_SIZE
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import FIRST_THRESHOLD, LOG_GAPS
from corners.likelihoods.probit import Probit
from corners.likelihoods.student_t import EXCESS_DF, LOG_SCALE
from corners.types import Array


def _none(params: Params) -> dict[str, float]:
    del params  # the share of ones, the mean count: recorded, but no parameters of the likelihood
    return {}


def _ordinal(params: Params) -> dict[str, float]:
    gaps = params[LOG_GAPS].double().exp()
    return {"first_threshold": float(params[FIRST_THRESHOLD]), **{f"gap_{j + 1}": float(g) for j, g in enumerate(gaps)}}


def _student_t(params: Params) -> dict[str, float]:
    df = 2.0 + float(torch.nn.functional.softplus(params[EXCESS_DF].double()))
    return {"scale": float(params[LOG_SCALE].double().exp()), "df": df}


PARAMETERS: Mapping[str, Callable[[Params], dict[str, float]]] = {
    "probit": _none,
    "logistic": _none,
    "ordinal": _ordinal,
    "poisson": _none,
    "negative_binomial": lambda params: {"size": float(params[LOG_SIZE].double().exp())},
    "student_t": _student_t,
}
"""One replicate's parameters by the names and in the units a sampler uses, by likelihood."""


@dataclass(frozen=True)
class SampledHead:
    """One trained likelihood; of one-versus-all the binary probit of class ``latent``, "this class or another".

    The K of them are independent given the features: their posterior is that of ``Π_k Π_n Φ(s_nk f_nk)``, what
    one-versus-all trains, and not that of its normalised predictive.

    Example
    -------
    >>> head = SampledHead.of(Probit(), {}, None)
    >>> head.name, head.params
    ('probit', {})
    """

    name: str
    params: Mapping[str, float]
    likelihood: Likelihood
    trained: Params
    latent: int | None

    @classmethod
    def of(cls, likelihood: Likelihood, trained: Params, latent: int | None) -> "SampledHead | None":
        """None where no sampler knows the likelihood, or it has several latent functions and none was chosen.

        Raises
        ------
        SpecError : there is no such latent function.
        """
        several = isinstance(likelihood, OneVsAll)
        if latent is not None and not (several and 0 <= latent < likelihood.latents):
            raise SpecError(
                f"latent chooses one of {likelihood.latents} latent functions of a class each; got {latent}"
            )
        if several:
            return None if latent is None else cls("probit", {}, Probit(), {}, latent)
        if likelihood.name not in PARAMETERS:
            return None
        return cls(likelihood.name, PARAMETERS[likelihood.name](trained), likelihood, trained, None)

    def targets(self, targets: Array) -> Array:
        """As this head takes them: of one class, 1 for its own and 0 for the others."""
        return targets if self.latent is None else (targets == self.latent).astype(targets.dtype)

    def log_predictive(self, targets: Array, marginals: Marginals) -> Array:
        """``log ∫ p(y | f) N(f; m, v) df`` at every target, in float64."""
        at = Marginals(marginals.mean.detach().double(), marginals.variance.detach().double())
        params = {name: value.detach().double() for name, value in self.trained.items()}
        return self.likelihood.log_partition(params, torch.tensor(targets, dtype=torch.float64), at).numpy()


def class_precision(params: Params, latent: int) -> float:
    """Prior precision of one of several latent functions, which may share it."""
    each: Tensor = params[Prior.parameter].double().exp()
    return float(each if each.ndim == 0 else each[latent])
