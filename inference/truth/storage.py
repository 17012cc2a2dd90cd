"""Reference posteriors on disk. No pickle; a compact file leaves out what the data give back."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from inference.truth import artefacts
from inference.truth.artefacts import NOT_USABLE, USABLE, Artefact, group, small
from inference.truth.evidence import BridgeEstimate, SmcEstimate
from inference.truth.gate import Diagnostics
from inference.truth.loo import PsisLoo
from inference.truth.reference import Provenance, ReferencePosterior
from inference.types import Array

VERSION = (
    3  # 2: the certificate names its likelihood (1 is Gaussian noise). 3: source, SMC, exact values, compact files
)
KIND = "bethe-corners reference posterior"
STATISTICS = ("loo.", "diagnostics.")


def save(reference: ReferencePosterior, path: str | Path, *, compact: bool = False) -> Path:
    """Write both files; ``compact`` keeps draws in float32 and the log likelihood of each chain's first draw alone."""
    arrays = _arrays(reference)
    if compact:
        first = np.arange(reference.weights.shape[0]) * reference.weights.shape[1]
        kept = arrays.pop("log_likelihood")[first] if reference.complete else arrays.pop("log_likelihood")
        statistics = {name: array for name, array in arrays.items() if name.startswith(STATISTICS)}
        arrays = small(arrays) | statistics | {"log_likelihood": kept}
    return artefacts.write(path, certificate(reference, compact=compact), arrays)


def certificate(reference: ReferencePosterior, *, compact: bool = False) -> dict[str, Any]:
    """What the JSON file says, but for the checksum of the arrays."""
    evidence, smc = reference.evidence, reference.smc
    return {
        "kind": KIND,
        "version": VERSION,
        "passed": reference.passed,
        "verdict": USABLE if reference.passed else NOT_USABLE,
        "checks_made": reference.gate.as_dicts(),
        "provenance": asdict(reference.provenance),
        "evidence": None if evidence is None else asdict(evidence),
        "smc": None if smc is None else asdict(smc),
        "loo": reference.loo.as_dict(),
        "exact": dict(reference.exact),
        "names": list(reference.diagnostics.names),
        "compact": compact,
    }


def load(path: str | Path) -> ReferencePosterior:
    """Read, check that the files belong together, judge the statistics again, and refuse what did not pass."""
    artefact = artefacts.read(path, KIND, VERSION)
    try:
        reference = _reference(artefact)
    except (KeyError, TypeError, ValueError) as error:
        raise artefacts.incomplete(artefact, error) from error
    return reference.require()


def _arrays(reference: ReferencePosterior) -> dict[str, Array]:
    diagnostics = {f"diagnostics.{f.name}": getattr(reference.diagnostics, f.name) for f in fields(Diagnostics)}
    diagnostics.pop("diagnostics.names")
    return {
        "weights": reference.weights,
        "log_likelihood": reference.log_likelihood,
        "loo.lpd": reference.loo.lpd,
        "loo.k_hat": reference.loo.k_hat,
        **{f"hyperparameters.{name}": values for name, values in reference.hyperparameters.items()},
        **{f"sample_stats.{name}": values for name, values in reference.sample_stats.items()},
        **diagnostics,
    }


def _reference(artefact: Artefact) -> ReferencePosterior:
    document, arrays = artefact.document, artefact.arrays
    evidence, smc = document["evidence"], document.get("smc")
    weights = arrays["weights"].astype(np.float64)
    return ReferencePosterior(
        weights=weights,
        hyperparameters={n: a.astype(np.float64) for n, a in group(arrays, "hyperparameters").items()},
        log_likelihood=arrays["log_likelihood"],
        loo=PsisLoo(arrays["loo.lpd"], arrays["loo.k_hat"], draws=weights.shape[0] * weights.shape[1]),
        evidence=None if evidence is None else BridgeEstimate(**evidence),
        sample_stats=group(arrays, "sample_stats"),
        diagnostics=Diagnostics(names=tuple(document["names"]), **group(arrays, "diagnostics")),
        provenance=Provenance(**document["provenance"]),
        smc=None if smc is None else SmcEstimate(**smc | {"chains": tuple(smc["chains"])}),
        exact=document.get("exact", {}),
    )
