"""A saved truth: a certificate people can read (JSON) beside the arrays it certifies (npz), tied by a checksum."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inference.errors import FormatError
from inference.types import Array

KINDS = "bethe-corners reference"
"""How every kind of certificate begins."""
USABLE, NOT_USABLE = "usable as ground truth", "not usable as ground truth"


class Artefact(NamedTuple):
    """The certificate's document, the arrays by name, and where they were."""

    document: dict[str, Any]
    arrays: dict[str, Array]
    path: Path


def paths(path: str | Path) -> tuple[Path, Path]:
    """Certificate and arrays of a name with or without either ending.

    Example
    -------
    >>> [each.name for each in paths("draws.of.v1.json")]
    ['draws.of.v1.json', 'draws.of.v1.npz']
    """
    path = Path(path)
    stem = path.name.removesuffix(".json").removesuffix(".npz")
    return path.with_name(stem + ".json"), path.with_name(stem + ".npz")


def write(path: str | Path, document: dict[str, Any], arrays: dict[str, Array]) -> Path:
    """Write arrays, then certificate, each whole or not at all: a killed save leaves no certificate."""
    certificate, beside = paths(path)
    certificate.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # pyright: ignore[reportArgumentType]
    payload = buffer.getvalue()
    sealed = {**document, "arrays_sha256": hashlib.sha256(payload).hexdigest()}
    text = json.dumps(sealed, indent=2, allow_nan=False) + "\n"
    _write_whole(beside, payload)
    _write_whole(certificate, text.encode())
    return certificate


def read(path: str | Path, kind: str, version: int) -> Artefact:
    """The two files, once their kind and version are known to be readable and they belong together.

    Raises
    ------
    FormatError : one is missing, is of another kind or a newer version, or is not what the other goes with.
    """
    certificate, beside = paths(path)
    document = read_certificate(certificate, kind)
    if not isinstance(document.get("version"), int) or document["version"] > version:
        raise FormatError(
            f"{certificate} is of version {document.get('version')}, this program reads up to {version}; upgrade "
            "bethe-corners"
        )
    if not beside.is_file():
        raise FormatError(f"{beside} is missing: a certificate alone holds no draws; copy both files or sample again")
    payload = beside.read_bytes()
    if hashlib.sha256(payload).hexdigest() != document.get("arrays_sha256"):
        raise FormatError(f"{beside} is not the file that {certificate} certifies (its sha256 differs); sample again")
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        return Artefact(document, {name: archive[name] for name in archive.files}, certificate)


def read_certificate(path: str | Path, kind: str | None = None) -> dict[str, Any]:
    """The certificate alone, whatever its verdict: for people and for lists, never for draws.

    Raises
    ------
    FormatError : there is none, it is not JSON, or not a certificate (of that kind, where one is named).
    """
    certificate, _ = paths(path)
    if not certificate.is_file():
        raise FormatError(f"{certificate} is not there; give the path that save() or `corners truth` returned")
    try:
        document = json.loads(certificate.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(f"{certificate} is not JSON ({error}); give a certificate that was saved here") from error
    found = document.get("kind") if isinstance(document, dict) else None
    if not (found == kind if kind else str(found).startswith(KINDS)):
        raise FormatError(f"{certificate} is not a {kind or 'certificate of ground truth'}: it says it is {found!r}")
    return document


def incomplete(artefact: Artefact, error: Exception) -> FormatError:
    """What to raise where a part that the certificate promises is not there."""
    return FormatError(f"{artefact.path} is incomplete ({error!r}); sample again")


def group(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays called ``prefix.name``, by name.

    Example
    -------
    >>> group({"loo.lpd": np.zeros(1), "weights": np.ones(1)}, "loo")
    {'lpd': array([0.])}
    """
    return {name.removeprefix(f"{prefix}."): a for name, a in arrays.items() if name.startswith(f"{prefix}.")}


def small(arrays: dict[str, Array]) -> dict[str, Array]:
    """Floating-point arrays with seven digits instead of sixteen; others as they are."""
    return {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in arrays.items()}


def _write_whole(path: Path, payload: bytes) -> None:
    partial = path.with_name(path.name + f".{os.getpid()}.partial")
    try:
        partial.write_bytes(payload)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
