"""Where the numbers of a comparison come from: versions, commit, machine, protocol, seeds, time and command."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from corners.comparison.records import json_ready

DISTRIBUTIONS = (
    "bethe-corners",
    "numpy",
    "scipy",
    "torch",
    "scikit-learn",
    "pymc",
    "pytensor",
    "arviz",
    "pandas",
    "xarray",
)
GIT_SECONDS = 5.0


@dataclass(frozen=True)
class Provenance:
    """What another person needs to get the same numbers.

    ``date`` is passed in (ISO 8601): nothing here reads the clock. ``commit`` is None outside a git checkout of the
    project. ``protocol`` holds the choices of the training protocol by name, ``settings`` those of this comparison.

    Example
    -------
    >>> record = Provenance(date="2026-01-31", command="corners compare diabetes", wall_seconds=12.0)
    >>> Provenance.from_dict(record.to_dict()) == record
    True
    """

    date: str
    command: str
    wall_seconds: float
    protocol: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed_info: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    machine: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def gather(
        cls,
        *,
        date: str,
        command: str,
        wall_seconds: float,
        protocol: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        seed_info: str = "",
    ) -> "Provenance":
        """Add what can be found out here: versions of the libraries, commit and machine."""
        return cls(
            date=date,
            command=command,
            wall_seconds=wall_seconds,
            protocol=dict(protocol or {}),
            settings=dict(settings or {}),
            seed_info=seed_info,
            versions=package_versions(),
            commit=source_commit(),
            machine=machine_summary(),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold; anything else is written as its text."""
        return json_ready(asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Provenance":
        """The inverse of ``to_dict`` for plain values."""
        return cls(**values)


def package_versions(names: Sequence[str] = DISTRIBUTIONS) -> dict[str, str]:
    """Installed versions from their metadata, without importing; ``"not installed"`` where there is none."""
    return {name: _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def machine_summary() -> dict[str, str]:
    """System, processor and interpreter; no host or user name, so that a report can be published."""
    return {
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "processor": f"{_processor()}, {os.cpu_count() or '?'} logical cores",
        "python": platform.python_version(),
        "threads": os.environ.get("OMP_NUM_THREADS", "library default"),
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def source_commit(folder: Path | None = None) -> str | None:
    """Commit of the project's own checkout, with ``" with uncommitted changes"`` where there are any, or None.

    Only ``folder/.git`` counts (default: beside the package), so a project that merely contains the environment in
    which this package is installed never lends its commit.
    """
    folder = folder or Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain")
    return f"{commit} with uncommitted changes" if commit and changes else commit or None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
