"""A reference posterior: draws that passed a gate, with their provenance. Read and used with numpy alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inference.errors import DataError, SpecError
from inference.truth.evidence import BridgeEstimate, SmcEstimate, mean_error
from inference.truth.gate import Diagnostics, GateReport, judge
from inference.truth.heads import HEADS
from inference.truth.loo import PsisLoo
from inference.truth.problem import checked_data
from inference.types import Array, Float


@dataclass(frozen=True)
class Provenance:
    """Where the draws come from: enough to make them again, and to see that they belong to the data at hand.

    ``likelihood`` is "gaussian" or the name of a head. ``settings`` holds chains, draws, tune, target_accept, form and
    the geometry; ``hyperparameters`` a number or a density each; ``versions`` python and every library; ``seconds`` the
    wall time of importing PyMC, compiling, whitening, sampling and judging. ``source`` is what whoever asked for the
    draws says of the data: which table, which rows, what the features are.
    """

    model: str
    data_sha256: str
    hyperparameters: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    versions: dict[str, str]
    seconds: dict[str, float]
    leapfrog_steps_per_draw: float
    likelihood: str = "gaussian"
    source: dict[str, Any] = field(default_factory=dict)


DATA_TOLERANCE = 1e-4
"""Nats, absolute and relative, by which a log likelihood may differ from the stored one: draws may be in float32."""


class GaussianDraws(NamedTuple):
    """The Gaussian predictive of every draw: location (S, M) and scale (S,); their equal mixture is the predictive."""

    location: Float[Array, "S M"]
    scale: Float[Array, " S"]


@dataclass(frozen=True, eq=False)
class ReferencePosterior:
    r"""Draws of the weights $w$ from $p(w\mid y)$ with all that is needed to trust and to use them (theory 10).

    What is read as truth (``mean``, ``cov``, ``predictive_draws``, ``log_predictive``) raises ``TruthError`` if the
    gate failed; the raw draws stay open for a diagnosis.

    Attributes
    ----------
    weights : the draws, chains kept apart.
    hyperparameters : draws of ``prior_precision``, ``noise_scale`` and a head's parameters where they were sampled.
    log_likelihood : $\log p(y_n\mid w_s,\sigma_s)$ of every draw (chain by chain) and training point; from a compact
        file of each chain's first draw alone, until :meth:`with_data`.
    loo : Pareto-smoothed leave-one-out with its flags.
    evidence : $\log p(y)$ by bridge sampling, or None where there were too few draws for it.
    sample_stats : energy, diverging, tree_size, acceptance and step size of every draw.
    diagnostics, gate, provenance : the certificate.
    smc : $\log p(y)$ by sequential Monte Carlo, if it was asked for.
    exact : values that whoever asked for the draws knows in closed form, by name, such as ``log_evidence``.
    """

    weights: Float[Array, "chains draws H"]
    hyperparameters: Mapping[str, Float[Array, "chains draws"]]
    log_likelihood: Float[Array, "S N"]
    loo: PsisLoo
    evidence: BridgeEstimate | None
    sample_stats: Mapping[str, Array]
    diagnostics: Diagnostics
    provenance: Provenance
    smc: SmcEstimate | None = None
    exact: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the log likelihood of every draw is there; a compact file leaves it out."""
        return len(self.log_likelihood) == self.weights.shape[0] * self.weights.shape[1]

    @property
    def gate(self) -> GateReport:
        """The checks, computed from the diagnostics: a certificate cannot be edited into passing."""
        draws = self.weights.shape[0] * self.weights.shape[1]
        return judge(self.diagnostics, draws=draws, hyperpriors=bool(self.hyperparameters))

    @property
    def passed(self) -> bool:
        """Whether the run may be used as truth."""
        return self.gate.passed

    def require(self) -> "ReferencePosterior":
        """Return itself if the gate passed, else raise ``TruthError`` naming the check, its number and the remedy."""
        self.gate.require()
        return self

    @property
    def seed(self) -> int:
        """The seed that reproduces the draws; a fresh one where none was given."""
        return self.provenance.seed

    def _of_weights(self, name: str) -> Float[Array, " H"]:
        return getattr(self.diagnostics, name)[: self.weights.shape[2]]

    @property
    def ess_bulk(self) -> Float[Array, " H"]:
        """Bulk effective sample size of every weight."""
        return self._of_weights("ess_bulk")

    @property
    def ess_tail(self) -> Float[Array, " H"]:
        """Tail effective sample size (5 % and 95 % quantiles) of every weight."""
        return self._of_weights("ess_tail")

    @property
    def ess_mean(self) -> Float[Array, " H"]:
        """Effective sample size of the mean of every weight."""
        return self._of_weights("ess_mean")

    @property
    def ess_sd(self) -> Float[Array, " H"]:
        """Effective sample size of the standard deviation of every weight."""
        return self._of_weights("ess_sd")

    @property
    def rhat(self) -> Float[Array, " H"]:
        """R-hat of every weight."""
        return self._of_weights("rhat")

    def flat(self) -> Float[Array, "S H"]:
        """All draws of the weights, chain by chain; rows match those of ``log_likelihood``."""
        return self.weights.reshape(-1, self.weights.shape[2])

    def noise_scale(self) -> Float[Array, " S"]:
        """The noise standard deviation of every draw, constant where it was given; Gaussian noise only."""
        self._require_gaussian("noise_scale")
        return self._hyperparameter("noise_scale")

    def prior_precision(self) -> Float[Array, " S"]:
        """The prior precision of every draw, constant where it was given."""
        return self._hyperparameter("prior_precision")

    def _hyperparameter(self, name: str) -> Float[Array, " S"]:
        if name in self.hyperparameters:
            return self.hyperparameters[name].reshape(-1)
        return np.full(len(self.flat()), self.provenance.hyperparameters[name])

    def _require_gaussian(self, what: str) -> None:
        if self.likelihood != "gaussian":
            raise SpecError(f"{what} is of Gaussian noise and this is {self.likelihood}: use latent_draws and log_prob")

    @property
    def likelihood(self) -> str:
        """ "gaussian", or the name of the head."""
        return self.provenance.likelihood

    def parameters(self) -> dict[str, Float[Array, " S"]]:
        """The likelihood's parameters of every draw by name, constant where they were given."""
        names = [name for name in self.provenance.hyperparameters if name != "prior_precision"]
        if self.likelihood == "gaussian":
            return {"noise_scale": self.noise_scale()}
        return {name: self._hyperparameter(name) for name in names}

    def mean(self) -> Float[Array, " H"]:
        """Posterior mean of the weights; its Monte Carlo error is ``sd / sqrt(ess_mean)``."""
        return self.require().flat().mean(axis=0)

    def cov(self) -> Float[Array, "H H"]:
        """Posterior covariance of the weights."""
        return np.atleast_2d(np.cov(self.require().flat(), rowvar=False))

    def predictive_draws(self, features: Float[Array, "M H"]) -> GaussianDraws:
        r"""For every draw $w_s^\top\psi$ and the scale $\sigma_s$ of the predictive; Gaussian noise only."""
        return GaussianDraws(self.latent_draws(features), self.noise_scale())

    def latent_draws(
        self, features: Float[Array, "M H"], offset: Float[Array, " M"] | None = None
    ) -> Float[Array, "S M"]:
        r"""$f_s=w_s^\top\psi+o$ of every draw at new features."""
        latent = self.require().flat() @ features.T
        return latent if offset is None else latent + offset

    def log_prob(
        self,
        targets: Float[Array, " M"],
        latent: Float[Array, "S M"],
        parameters: Mapping[str, Array | float] | None = None,
    ) -> Float[Array, "S M"]:
        r"""$\log p(y_m\mid f_{sm})$ under the likelihood that was sampled.

        ``parameters`` are numbers or one a row; None takes those of the draws, to which the rows must then belong.
        """
        given = self.parameters() if parameters is None else parameters
        columns = {name: np.asarray(value, np.float64).reshape(-1, 1) for name, value in given.items()}
        if self.likelihood == "gaussian":
            scale = np.broadcast_to(columns["noise_scale"][:, 0], len(latent))
            return gaussian_log_density(targets, latent, scale)
        return HEADS.get(self.likelihood).log_prob(targets, latent, columns)

    def log_predictive(
        self, features: Float[Array, "M H"], targets: Float[Array, " M"], offset: Float[Array, " M"] | None = None
    ) -> tuple[Float[Array, " M"], Float[Array, " M"]]:
        r"""$\log\frac1S\sum_s p(y\mid w_s,\sigma_s)$ at new points and its Monte Carlo standard error (theory 10.3).

        The error is that of the mean density over correlated draws (batch means), relative to it (delta method).
        """
        log_density = self.log_prob(targets, self.latent_draws(features, offset))
        peak = log_density.max(axis=0)
        density = np.exp(log_density - peak)
        mean = density.mean(axis=0)
        chains, draws = self.weights.shape[:2]
        errors = [mean_error(column.reshape(chains, draws)) for column in density.T]
        return peak + np.log(mean), np.array(errors) / mean

    def with_data(
        self, features: Float[Array, "N H"], targets: Float[Array, " N"], offset: Float[Array, " N"] | None = None
    ) -> "ReferencePosterior":
        """The same with the log likelihood of every draw, made anew from the data that were sampled.

        Raises
        ------
        DataError : these are other data: they do not give the log likelihood that is stored of some draws.
        """
        matrix, vector = checked_data(features, targets)
        points, known = self.log_likelihood.shape[1], self.log_likelihood
        if matrix.shape != (points, self.weights.shape[2]):
            raise DataError(f"features of shape {(points, self.weights.shape[2])} were sampled, not {matrix.shape}")
        full = self.log_prob(vector, self.latent_draws(matrix, offset))
        found = full if self.complete else full[:: self.weights.shape[1]]
        off = np.abs(found - known)
        if not (off <= DATA_TOLERANCE * (1.0 + np.abs(known))).all():
            raise DataError(
                "these are not the data that were sampled: the log likelihood of a stored draw differs by "
                f"{off.max():.2g} nats (row {int(off.max(axis=0).argmax())}); the certificate's source names the table"
            )
        return replace(self, log_likelihood=full)

    def certificate(self, *, compact: bool = False) -> dict[str, Any]:
        """What the JSON file says, but for the checksum of the arrays."""
        from inference.truth.storage import certificate

        return certificate(self, compact=compact)

    def save(self, path: str | Path, *, compact: bool = False) -> Path:
        """Write ``<path>.json`` (the certificate) and ``<path>.npz`` (the arrays); return the certificate's path.

        ``compact`` keeps seven digits of the draws, and of the pointwise log likelihood only what :meth:`with_data`
        recognises the data by; every statistic stays as it is.
        """
        from inference.truth.storage import save

        return save(self, path, compact=compact)

    @staticmethod
    def load(path: str | Path) -> "ReferencePosterior":
        """Read what ``save`` wrote, without pickle.

        Raises
        ------
        TruthError : its gate failed.
        FormatError : the files are missing parts, do not belong together, or are of a newer version.
        """
        from inference.truth.storage import load

        return load(path)


def gaussian_log_density(
    targets: Float[Array, " N"], location: Float[Array, "S N"], scale: Float[Array, " S"]
) -> Float[Array, "S N"]:
    r"""$\log N(y_n;f_{sn},\sigma_s^2)$ for every draw and point.

    Example
    -------
    >>> scale = np.array([1 / np.sqrt(2 * np.pi)])  # the peak of this density is 1
    >>> float(gaussian_log_density(np.array([3.0]), np.array([[3.0 + 2 * scale[0]]]), scale)[0, 0].round(12))
    -2.0
    """
    residual = (targets - location) / scale[:, None]
    return -0.5 * residual**2 - (np.log(scale) + 0.5 * np.log(2.0 * np.pi))[:, None]
