"""Imports point one way: the import contracts of pyproject.toml, and that they cover every family."""

import tomllib

import pytest

from tests.architecture.sources import PACKAGES, ROOT, in_fresh_python

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = CONFIGURATION["tool"]["importlinter"]["contracts"]
FAMILIES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts) for name in PACKAGES for path in (ROOT / name).rglob("_base.py")
)


def test_the_import_contracts_are_kept():
    code = "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"
    finished = in_fresh_python(code)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "0 broken" in finished.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_forbids_imports_between_its_members(family):
    independent = {module for each in CONTRACTS if each["type"] == "independence" for module in each["modules"]}
    assert f"{family}.*" in independent, (
        f"{family} has a _base.py, so it is a family: add an independence contract for {family}.* to pyproject.toml"
    )


def test_there_are_families():
    assert {"corners.cavities", "corners.routings", "corners.covariances"} <= set(FAMILIES)
