"""Reference posteriors on disk: a readable certificate (JSON) beside the arrays (npz). No pickle."""

import hashlib
import io
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from inference.errors import FormatError
from inference.truth.evidence import BridgeEstimate
from inference.truth.gate import Diagnostics
from inference.truth.loo import PsisLoo
from inference.truth.reference import Provenance, ReferencePosterior
from inference.types import Array

VERSION = 2  # 2: the certificate names its likelihood; a file of version 1 is of Gaussian noise
KIND = "bethe-corners reference posterior"


def save(reference: ReferencePosterior, path: str | Path) -> Path:
    """Write arrays, then certificate, each whole or not at all; a killed save leaves no certificate."""
    certificate, arrays = _paths(path)
    certificate.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **_arrays(reference))  # pyright: ignore[reportArgumentType]
    payload = buffer.getvalue()
    evidence = reference.evidence
    document = {
        "kind": KIND,
        "version": VERSION,
        "passed": reference.passed,
        "checks_made": reference.gate.as_dicts(),
        "provenance": asdict(reference.provenance),
        "evidence": None if evidence is None else asdict(evidence),
        "names": list(reference.diagnostics.names),
        "arrays_sha256": hashlib.sha256(payload).hexdigest(),
    }
    _write(arrays, payload)
    _write(certificate, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())
    return certificate


def load(path: str | Path) -> ReferencePosterior:
    """Read, check that the files belong together, judge the statistics again, and refuse what did not pass."""
    certificate, arrays = _paths(path)
    document = _certificate(certificate)
    payload = arrays.read_bytes()
    if hashlib.sha256(payload).hexdigest() != document.get("arrays_sha256"):
        raise FormatError(f"{arrays} is not the file that {certificate} certifies (its sha256 differs); sample again")
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            reference = _reference(document, {name: archive[name] for name in archive.files})
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{certificate} is incomplete ({error!r}); sample again") from error
    return reference.require()


def _paths(path: str | Path) -> tuple[Path, Path]:
    path = Path(path)
    stem = path.name.removesuffix(".json").removesuffix(".npz")
    return path.with_name(stem + ".json"), path.with_name(stem + ".npz")


def _certificate(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(f"{path} is not JSON ({error}); give the file that ReferencePosterior.save wrote") from error
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise FormatError(f"{path} is not a {KIND}; give the file that ReferencePosterior.save wrote")
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise FormatError(
            f"{path} is of version {document.get('version')}, this program reads up to {VERSION}; upgrade bethe-corners"
        )
    return document


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


def _reference(document: dict[str, Any], arrays: dict[str, Array]) -> ReferencePosterior:
    evidence = document["evidence"]
    weights = arrays["weights"]
    return ReferencePosterior(
        weights=weights,
        hyperparameters=_group(arrays, "hyperparameters"),
        log_likelihood=arrays["log_likelihood"],
        loo=PsisLoo(arrays["loo.lpd"], arrays["loo.k_hat"], draws=weights.shape[0] * weights.shape[1]),
        evidence=None if evidence is None else BridgeEstimate(**evidence),
        sample_stats=_group(arrays, "sample_stats"),
        diagnostics=Diagnostics(names=tuple(document["names"]), **_group(arrays, "diagnostics")),
        provenance=Provenance(**document["provenance"]),
    )


def _group(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(f"{prefix}."): a for name, a in arrays.items() if name.startswith(f"{prefix}.")}


def _write(path: Path, payload: bytes) -> None:
    partial = path.with_name(path.name + f".{os.getpid()}.partial")
    try:
        partial.write_bytes(payload)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
