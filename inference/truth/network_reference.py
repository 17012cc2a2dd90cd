"""A reference posterior of a full network: its function at stated inputs, never its weights. Read with numpy alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from inference.truth import artefacts
from inference.truth.artefacts import NOT_USABLE, USABLE, Artefact, group, small
from inference.truth.gate import Diagnostics, GateReport, Remedies, judge
from inference.truth.loo import PsisLoo
from inference.truth.reference import Provenance, gaussian_log_density
from inference.types import Array, Float

VERSION = 1
KIND = "bethe-corners reference network"
KEPT = 125
"""Draws a chain that a file keeps, evenly spaced; moments and certificate are of all of them."""

NETWORK = Remedies(
    apart="the chains found different functions: run more tuning steps, take fewer units or hold the noise fixed; "
    "there are networks that do not mix at all",
    longer="run more draws",
    step="the step was too long somewhere: raise the target acceptance towards 0.99, or take fewer units",
    energy="the energy explores too slowly: run more tuning steps",
)


@dataclass(frozen=True, eq=False)
class NetworkReference:
    r"""Draws of $f(x)=w_2^\top\tanh(W_1x+b_1)+b_2$ at M stated inputs, with what is needed to trust them (theory 10.1).

    Units can be swapped and their signs turned without changing f, so chains that agree on f need not agree on any
    weight: the gate looks at f at the stated inputs and at the noise, and the weights are not kept. For the same reason
    there is no evidence. What is read as truth raises ``TruthError`` if the gate failed.

    Attributes
    ----------
    inputs : the stated inputs.
    function : $f_s(x_m)$ of every draw that was kept.
    hyperparameters : draws of ``noise_scale`` where it was sampled.
    log_likelihood : $\log p(y_n\mid f_s,\sigma_s)$ of every draw that was kept (chain by chain) and training point.
    moments : mean and standard deviation of f at the stated inputs over all draws, (2, M).
    loo : Pareto-smoothed leave-one-out over all draws, with its flags.
    diagnostics, gate, provenance : the certificate, over all draws.
    """

    inputs: Float[Array, "M D"]
    function: Float[Array, "chains draws M"]
    hyperparameters: Mapping[str, Float[Array, "chains draws"]]
    log_likelihood: Float[Array, "S N"]
    moments: Float[Array, "2 M"]
    loo: PsisLoo
    diagnostics: Diagnostics
    provenance: Provenance

    @property
    def draws(self) -> int:
        """How many draws were made, all chains together."""
        return int(self.provenance.settings["chains"]) * int(self.provenance.settings["draws"])

    @property
    def gate(self) -> GateReport:
        """The checks, computed from the diagnostics; divergences are allowed as with hyperpriors."""
        return judge(self.diagnostics, draws=self.draws, hyperpriors=True, remedies=NETWORK)

    @property
    def passed(self) -> bool:
        """Whether the run may be used as truth."""
        return self.gate.passed

    def require(self) -> "NetworkReference":
        """Return itself if the gate passed, else raise ``TruthError`` naming the check, its number and the remedy."""
        self.gate.require()
        return self

    @property
    def seed(self) -> int:
        """The seed that reproduces the draws."""
        return self.provenance.seed

    @property
    def ess_mean(self) -> Float[Array, " M"]:
        """Effective sample size of the mean of f at every stated input, of all draws."""
        return self.diagnostics.ess_mean[: len(self.inputs)]

    def mean(self) -> Float[Array, " M"]:
        """Posterior mean of f at the stated inputs; its Monte Carlo error is ``sd() / sqrt(ess_mean)``."""
        return self.require().moments[0]

    def sd(self) -> Float[Array, " M"]:
        """Posterior standard deviation of f at the stated inputs, noise not included."""
        return self.require().moments[1]

    def function_draws(self) -> Float[Array, "S M"]:
        """The kept draws of f at the stated inputs, chain by chain."""
        return self.require().function.reshape(-1, len(self.inputs))

    def noise_scale(self) -> Float[Array, " S"]:
        """The noise standard deviation of every kept draw, constant where it was given."""
        if "noise_scale" in self.hyperparameters:
            return self.hyperparameters["noise_scale"].reshape(-1)
        return np.full(self.function.shape[0] * self.function.shape[1], self.provenance.hyperparameters["noise_scale"])

    def log_predictive(self, targets: Float[Array, " M"]) -> Float[Array, " M"]:
        r"""$\log\frac1S\sum_s N(y_m;f_s(x_m),\sigma_s^2)$ of targets at the stated inputs, over the kept draws."""
        log_density = gaussian_log_density(targets, self.function_draws(), self.noise_scale())
        return np.logaddexp.reduce(log_density, axis=0) - np.log(len(log_density))

    def thinned(self, kept: int = KEPT) -> "NetworkReference":
        """At most ``kept`` draws a chain, evenly spaced; everything computed from all draws stays."""
        chains, draws = self.function.shape[:2]
        chosen = np.linspace(0, draws - 1, min(kept, draws)).round().astype(int)
        by_chain = self.log_likelihood.reshape(chains, draws, -1)[:, chosen]
        return NetworkReference(
            inputs=self.inputs,
            function=self.function[:, chosen],
            hyperparameters={name: values[:, chosen] for name, values in self.hyperparameters.items()},
            log_likelihood=by_chain.reshape(chains * len(chosen), -1),
            moments=self.moments,
            loo=self.loo,
            diagnostics=self.diagnostics,
            provenance=self.provenance,
        )

    def save(self, path: str | Path, *, kept: int = KEPT) -> Path:
        """Write certificate and arrays, with ``kept`` draws a chain in float32; return the certificate's path."""
        thin = self.thinned(kept)
        statistics = {f"diagnostics.{f.name}": getattr(thin.diagnostics, f.name) for f in fields(Diagnostics)}
        statistics.pop("diagnostics.names")
        draws = {"function": thin.function, "log_likelihood": thin.log_likelihood}
        draws |= {f"hyperparameters.{name}": values for name, values in thin.hyperparameters.items()}
        exact = {"inputs": thin.inputs, "moments": thin.moments, "loo.lpd": thin.loo.lpd, "loo.k_hat": thin.loo.k_hat}
        return artefacts.write(path, self.certificate(), small(draws) | exact | statistics)

    def certificate(self) -> dict[str, Any]:
        """What the JSON file says, but for the checksum of the arrays; no evidence, see above."""
        return {
            "kind": KIND,
            "version": VERSION,
            "passed": self.passed,
            "verdict": USABLE if self.passed else NOT_USABLE,
            "checks_made": self.gate.as_dicts(),
            "provenance": asdict(self.provenance),
            "loo": self.loo.as_dict(),
            "names": list(self.diagnostics.names),
        }

    @staticmethod
    def load(path: str | Path) -> "NetworkReference":
        """Read what ``save`` wrote, without pickle.

        Raises
        ------
        TruthError : its gate failed.
        FormatError : the files are missing parts, do not belong together, or are of a newer version.
        """
        artefact = artefacts.read(path, KIND, VERSION)
        try:
            reference = _reference(artefact)
        except (KeyError, TypeError, ValueError) as error:
            raise artefacts.incomplete(artefact, error) from error
        return reference.require()


def _reference(artefact: Artefact) -> NetworkReference:
    document, arrays = artefact.document, artefact.arrays
    provenance = Provenance(**document["provenance"])
    made = int(provenance.settings["chains"]) * int(provenance.settings["draws"])
    return NetworkReference(
        inputs=arrays["inputs"],
        function=arrays["function"].astype(np.float64),
        hyperparameters={n: a.astype(np.float64) for n, a in group(arrays, "hyperparameters").items()},
        log_likelihood=arrays["log_likelihood"].astype(np.float64),
        moments=arrays["moments"],
        loo=PsisLoo(arrays["loo.lpd"], arrays["loo.k_hat"], draws=made),
        diagnostics=Diagnostics(names=tuple(document["names"]), **group(arrays, "diagnostics")),
        provenance=provenance,
    )
