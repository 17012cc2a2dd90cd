"""In place of the sampler: conjugate draws with a certificate of our choice, to test what surrounds a run."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from inference.truth.evidence import BridgeEstimate, SmcEstimate
from inference.truth.gate import Diagnostics
from inference.truth.loo import PsisLoo
from inference.truth.network_problem import network_problem
from inference.truth.network_reference import NetworkReference
from inference.truth.reference import Provenance, ReferencePosterior

CHAINS, DRAWS = 4, 500


def diagnostics(names: list[str], rhat: float) -> Diagnostics:
    """What independent draws would show, but for R-hat."""
    full = np.full(len(names), float(CHAINS * DRAWS))
    rest = (np.full(len(names), rhat), np.ones(CHAINS), np.zeros(CHAINS, int))
    return Diagnostics(tuple(names), full, full, full, full, *rest)


@dataclass
class DrawnTruth:
    """Stands for ``sample_last_layer``, ``smc_evidence`` and ``sample_network``; remembers what it was asked."""

    rhat: float = 1.0
    flagged: tuple[int, ...] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)

    def last_layer(self, features: Any, targets: Any, **options: Any) -> ReferencePosterior:
        """Draws at the hyperparameters that were given, else at 1 and 0.5."""
        self.asked.append({"what": "last_layer", "features": features, "targets": targets, **options})
        precision, scale = options.get("prior_precision") or 1.0, options.get("noise_scale") or 0.5
        size, points = features.shape[1], len(targets)
        covariance = np.linalg.inv(precision * np.eye(size) + features.T @ features / scale**2)
        mean = covariance @ features.T @ targets / scale**2
        generator = np.random.default_rng(options["seed"])
        weights = generator.multivariate_normal(mean, covariance, size=(CHAINS, DRAWS), method="eigh")
        k_hat = np.zeros(points)
        k_hat[list(self.flagged)] = 0.9
        residual = (targets - weights.reshape(-1, size) @ features.T) / scale
        log_likelihood = -0.5 * residual**2 - np.log(scale * np.sqrt(2.0 * np.pi))
        return ReferencePosterior(
            weights=weights,
            hyperparameters={},
            log_likelihood=log_likelihood,
            loo=PsisLoo(log_likelihood.mean(axis=0), k_hat, CHAINS * DRAWS),
            evidence=BridgeEstimate(-1.5, 0.01),
            sample_stats={},
            diagnostics=diagnostics([f"weights[{h}]" for h in range(size)], self.rhat),
            provenance=self._provenance("gaussian_last_layer, drawn", options, precision, scale),
        )

    def smc(self, features: Any, targets: Any, **options: Any) -> SmcEstimate:
        """A number."""
        self.asked.append({"what": "smc", **options})
        return SmcEstimate(-1.6, 0.02, (-1.58, -1.62), 1000)

    def network(self, inputs: Any, targets: Any, **options: Any) -> NetworkReference:
        """Noise for a function."""
        self.asked.append({"what": "network", "inputs": inputs, "targets": targets, **options})
        at = options["at"]
        network_problem(inputs, targets, units=options["units"], at=at, noise_scale=1.0)
        function = np.random.default_rng(options["seed"]).normal(size=(CHAINS, DRAWS, len(at)))
        return NetworkReference(
            inputs=at,
            function=function,
            hyperparameters={},
            log_likelihood=np.zeros((CHAINS * DRAWS, len(targets))),
            moments=np.stack([function.mean(axis=(0, 1)), function.std(axis=(0, 1))]),
            loo=PsisLoo(np.zeros(len(targets)), np.zeros(len(targets)), CHAINS * DRAWS),
            diagnostics=diagnostics([f"function[{m}]" for m in range(len(at))], self.rhat),
            provenance=self._provenance("full network, drawn", options, 1.0, options.get("noise_scale", 1.0)),
        )

    def _provenance(self, model: str, options: dict[str, Any], precision: float, scale: float) -> Provenance:
        settings = {"chains": CHAINS, "draws": DRAWS, "tune": options.get("tune") or 300}
        given = {"prior_precision": precision, "noise_scale": scale}
        return Provenance(model, "0", given, settings, options["seed"] or 77, {"python": "3"}, {}, 7.0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> DrawnTruth:
    """The stand-in, in place."""
    stand_in = DrawnTruth()
    monkeypatch.setattr("inference.truth.nuts.sample_last_layer", stand_in.last_layer)
    monkeypatch.setattr("inference.truth.smc.smc_evidence", stand_in.smc)
    monkeypatch.setattr("inference.truth.network.sample_network", stand_in.network)
    return stand_in
