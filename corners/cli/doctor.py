"""``corners doctor``: versions, paths, compiler and peers, and what is broken."""

import importlib
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

from corners.cli.options import json_option, print_json

NEEDED = ("numpy", "scipy", "torch", "pymc", "pytensor", "arviz", "numba", "pandas", "xarray", "sklearn", "matplotlib")
OPTIONAL = {
    "gpytorch": "pip install 'bethe-corners[baselines]'",
    "vbll": "pip install 'bethe-corners[baselines]'",
    "laplace": "the --no-deps step of the README's test line",
}
OURS = ("corners", "inference")


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is in order, and what was found."""

    name: str
    fine: bool
    found: str
    needed: bool = True


def checks() -> list[Check]:
    """Everything that can be wrong with an installation."""
    return [*_own_packages(), *[_package(name) for name in NEEDED], *_optional(), _compiler(), _data_folder()]


def claimants(package: str) -> list[str]:
    """Installed distributions that provide a top-level package of this name."""
    return sorted(set(metadata.packages_distributions().get(package, [])))


def _own_packages() -> list[Check]:
    found = [Check("python", True, sys.version.split()[0])]
    for package in OURS:
        path = str(Path(importlib.import_module(package).__file__ or "").parent)
        others = [name for name in claimants(package) if name != "bethe-corners"]
        note = f"{path}; also claimed by {', '.join(others)}: use an environment of its own" if others else path
        found.append(Check(package, not others, note))
    return found


def _package(name: str, remedy: str = "pip install bethe-corners", needed: bool = True) -> Check:
    try:
        module = importlib.import_module(name)
    except Exception as error:  # a broken peer can raise anything at import, and saying what is this verb's purpose
        return Check(name, False, f"{type(error).__name__}: {error}; remedy: {remedy}", needed)
    return Check(name, True, getattr(module, "__version__", "unknown version"), needed)


def _optional() -> list[Check]:
    return [_package(name, remedy, needed=False) for name, remedy in OPTIONAL.items()]


def _compiler() -> Check:
    found = next((path for name in ("g++", "clang++") if (path := shutil.which(name))), None)
    note = (
        f"{found} (not needed: sampling compiles with numba)"
        if found
        else "none, and none is needed: sampling uses numba"
    )
    return Check("C++ compiler", True, note, needed=False)


def _data_folder() -> Check:
    import os

    folder = os.environ.get("CORNERS_DATA")
    if folder is None:
        return Check("CORNERS_DATA", True, "not set: embedded, cached and OpenML tables only", needed=False)
    fine = (Path(folder) / "MANIFEST.json").is_file()
    return Check("CORNERS_DATA", fine, folder if fine else f"{folder} holds no MANIFEST.json", needed=False)


@click.command("doctor", short_help="Versions, paths and what is broken.")
@json_option
def command(as_json: bool) -> None:
    """Look at the installation: versions, paths, compiler, optional peers. Exit status 1 if something needed is broken.

    Example: corners doctor
    """
    found = checks()
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        width = max(len(check.name) for check in found)
        for check in found:
            mark = "ok     " if check.fine else ("broken " if check.needed else "absent ")
            click.echo(f"{mark} {check.name:<{width}}  {check.found}")
    if any(not check.fine and check.needed for check in found):
        sys.exit(1)
