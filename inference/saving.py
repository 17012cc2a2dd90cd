"""Results and streams on disk: one npz file with a readable header; no pickle, and no plated data of the training."""

import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inference.building import Model
from inference.constraints import BeliefPropagation, Constraint, Fixed, Form, MeanField, Structured
from inference.distributions import Distribution, NormalGamma
from inference.errors import FormatError, SpecError
from inference.modes import Predictor
from inference.schema import Role, Schema
from inference.types import Array

if TYPE_CHECKING:
    from inference.result import Result
    from inference.streaming import Stream

VERSION = 1
RESULT, STREAM = "bethe-corners inference result", "bethe-corners inference stream"


@dataclass(frozen=True, eq=False)
class SavedResult(Predictor):
    """A result read from disk; it predicts when it was loaded together with its model."""

    model_name: str
    marginals: Mapping[str, Distribution]
    joints: Mapping[tuple[str, str], NormalGamma]
    returned: tuple[str, ...]
    free_energy: Array | None
    free_energy_reason: str
    free_energy_diagnostic: Array | None
    converged: bool
    n_iter: int
    reason: str
    seed: Any
    schema: Schema
    constraints: tuple[Constraint, ...]
    plan: str
    version: str
    _model: Model | None = field(default=None, repr=False)

    @property
    def posteriors(self) -> dict[str, Distribution]:
        """The marginals that the result returned."""
        return {v: self.marginals[v] for v in self.returned}

    @property
    def model(self) -> Model:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The model it was loaded with.

        Raises
        ------
        SpecError : it was loaded without one.
        """
        if self._model is None:
            raise SpecError("this result was loaded without its model; use load(path, model=...) to predict")
        return self._model

    def __str__(self) -> str:
        energy = f"free energy {self.free_energy[-1]:.6g} nats" if self.free_energy is not None else "no free energy"
        return f"{self.model_name}: {energy} after {self.n_iter} iterations, {self.reason}\nposterior {self.plan}"


def to_dict(result: "Result") -> dict[str, Any]:
    """Plain values and arrays of a result: posteriors by name and parameter, free energy, status."""
    return {
        "model": result.model.name,
        "posteriors": {v: {"family": type(q).__name__, **q.arrays()} for v, q in result.posteriors.items()},
        "free_energy": result.free_energy,
        "free_energy_reason": result.free_energy_reason,
        "converged": result.converged,
        "n_iter": result.n_iter,
        "reason": result.reason,
        "plan": result.plan.factorisation,
        "seed": result.seed,
    }


def save(result: "Result", path: str | Path) -> None:
    """Write a result; the file appears whole or not at all.

    Raises
    ------
    SpecError : a constant of the model is neither a number, a string nor an array.
    """
    arrays: dict[str, Array] = {}
    header = {
        "kind": RESULT,
        "model": result.model.name,
        "marginals": _pack(arrays, "marginals", result.marginals),
        "joints": _pack(arrays, "joints", {",".join(k): q for k, q in result.joints.items()}),
        "returned": list(result.posteriors),
        "reason": result.reason,
        "free_energy_reason": result.free_energy_reason,
        "converged": result.converged,
        "n_iter": result.n_iter,
        "seed": None if result.seed is None else str(result.seed),
        "roles": {name: asdict(role) for name, role in result.schema.roles.items()},
        "constants": _pack_constants(arrays, result.schema.constants),
        "constraints": [_pack_constraint(arrays, k, c) for k, c in enumerate(result.constraints)],
        "plan": result.plan.factorisation,
    }
    for name in ("free_energy", "free_energy_diagnostic"):
        if getattr(result, name) is not None:
            arrays[name] = getattr(result, name)
    _write(Path(path), header, arrays)


def load(path: str | Path, model: Model | None = None) -> SavedResult:
    """Read a result; with its model it predicts as the fresh one did, bit for bit.

    Raises
    ------
    FormatError : the file is no saved result, is damaged, or was written by a newer version.
    SpecError : the model has another name than the one that was saved.
    """
    header, arrays = _read(Path(path), RESULT)
    if model is not None and model.name != header["model"]:
        raise SpecError(f"{path} holds a result of model {header['model']!r}, not of {model.name!r}")
    joints: dict[tuple[str, str], Any] = {}
    for pair, q in _unpack(arrays, "joints", header["joints"]).items():
        w, tau = pair.split(",")
        joints[w, tau] = q
    roles = {
        name: Role(tuple(r["plates"]), tuple(r["sizes"]), tuple(r["event"]), r["may_miss"], r["where"])
        for name, r in header["roles"].items()
    }
    return SavedResult(
        header["model"], _unpack(arrays, "marginals", header["marginals"]), joints, tuple(header["returned"]),
        arrays.get("free_energy"), header["free_energy_reason"], arrays.get("free_energy_diagnostic"),
        header["converged"], header["n_iter"], header["reason"], header["seed"],
        Schema(roles, _unpack_constants(arrays, header["constants"])),
        tuple(_unpack_constraint(arrays, k, c) for k, c in enumerate(header["constraints"])),
        header["plan"], header["written_by"], model,
    )  # fmt: skip


def save_stream(stream: "Stream", path: str | Path) -> None:
    """Write what a stream carries."""
    arrays: dict[str, Array] = {}
    header = {
        "kind": STREAM,
        "model": stream.model.name,
        "carry": list(stream.carry),
        "n_steps": stream.n_steps,
        "carried": _pack(arrays, "carried", stream._carried),
        "first": _pack(arrays, "first", stream._first),
    }
    _write(Path(path), header, arrays)


def restore_stream(stream: "Stream", path: str | Path) -> None:
    """Put what a file carries into a stream of the same model."""
    header, arrays = _read(Path(path), STREAM)
    if header["model"] != stream.model.name or tuple(header["carry"]) != stream.carry:
        raise SpecError(
            f"{path} carries {header['carry']} of model {header['model']!r}; this stream carries {list(stream.carry)} "
            f"of {stream.model.name!r}"
        )
    stream._carried = _unpack(arrays, "carried", header["carried"])
    stream._first = _unpack(arrays, "first", header["first"])
    stream.n_steps = int(header["n_steps"])


def _pack(arrays: dict[str, Array], prefix: str, beliefs: Mapping[str, Distribution]) -> dict[str, str]:
    for name, q in beliefs.items():
        arrays |= {f"{prefix}/{name}/{k}": a for k, a in q.arrays().items()}
    return {name: type(q).__name__ for name, q in beliefs.items()}


def _unpack(arrays: Mapping[str, Array], prefix: str, families: Mapping[str, str]) -> dict[str, Distribution]:
    out: dict[str, Distribution] = {}
    for name, family in families.items():
        lead = f"{prefix}/{name}/"
        parameters = {k[len(lead) :]: a for k, a in arrays.items() if k.startswith(lead)}
        out[name] = Distribution.named(family).from_arrays(parameters)
    return out


def _pack_constants(arrays: dict[str, Array], constants: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in constants.items():
        if isinstance(value, np.ndarray):
            arrays[f"constants/{name}"] = value
            out[name] = {"array": True}
        elif value is None or isinstance(value, bool | int | float | str | tuple | list):
            out[name] = {"value": value}
        elif isinstance(value, np.generic):
            out[name] = {"value": value.item()}
        else:
            raise SpecError(
                f"the constant {name!r} is a {type(value).__name__} and cannot be saved; pass numbers or arrays"
            )
    return out


def _unpack_constants(arrays: Mapping[str, Array], packed: Mapping[str, Any]) -> dict[str, Any]:
    return {k: arrays[f"constants/{k}"] if v.get("array") else v["value"] for k, v in packed.items()}


def _pack_constraint(arrays: dict[str, Array], k: int, constraint: Constraint) -> dict[str, Any]:
    if isinstance(constraint, str):
        return {"text": constraint}
    if isinstance(constraint, Fixed):
        families = _pack(arrays, f"fixed{k}", {constraint.variable: constraint.distribution})
        return {"kind": "Fixed", "families": families}
    return {"kind": type(constraint).__name__, **asdict(constraint)}


def _unpack_constraint(arrays: Mapping[str, Array], k: int, packed: dict[str, Any]) -> Constraint:
    match packed.get("kind"):
        case "MeanField":
            return MeanField(*packed["variables"])
        case "Structured":
            return Structured(*packed["clusters"])
        case "BeliefPropagation":
            return BeliefPropagation()
        case "Form":
            return Form(packed["variable"], packed["form"])
        case "Fixed":
            ((name, q),) = _unpack(arrays, f"fixed{k}", packed["families"]).items()
            return Fixed(name, q)
    return packed["text"]


def _write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    from inference import __version__

    text = json.dumps({**header, "format": VERSION, "written_by": __version__}, allow_nan=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)  # pyright: ignore[reportArgumentType]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.write_bytes(buffer.getvalue())
    draft.replace(path)


def _read(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
    except FileNotFoundError:
        raise FormatError(f"there is no file {path}") from None
    except Exception as error:
        raise FormatError(f"{path} is not a file that inference saved, or it is damaged ({error!r})") from error
    if header.get("kind") != kind:
        raise FormatError(f"{path} holds a {header.get('kind')!r}, not a {kind!r}")
    if header.get("format", 0) > VERSION:
        raise FormatError(f"{path} was written by a newer version ({header.get('written_by')}); update bethe-corners")
    return header, arrays
