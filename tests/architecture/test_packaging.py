"""What is installed: two packages, nobody else's names, one version, and every library they import."""

import ast
import re
import sys
import tomllib
from importlib import metadata

import pytest

import corners
from tests.architecture.sources import PACKAGES, ROOT, source_files, tree

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_exactly_two_packages_are_built():
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["inference", "corners"]
    assert PROJECT["tool"]["hatch"]["build"]["dev-mode-exact"] is True


@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_distribution_claims_the_name(package):
    others = set(metadata.packages_distributions().get(package, [])) - {PROJECT["project"]["name"]}
    assert not others, f"{others} also install a package called {package}: use an environment of its own"


def test_one_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = PROJECT["project"]["version"]
    assert corners.__version__ == version
    assert f"version: {version}\n" in citation
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_package_folder_is_a_package():
    bare = [
        str(path.parent.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        if not (path.parent / "__init__.py").is_file()
    ]
    assert not bare, "without __init__.py a folder is a namespace: its modules are found by luck"


def imported_libraries() -> set[str]:
    """Top-level names of what both packages import, other than themselves and the standard library."""
    found = set()
    for node in (each for path in source_files() for each in ast.walk(tree(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(PACKAGES) - set(sys.stdlib_module_names)


def test_every_imported_library_is_declared():
    extras = PROJECT["project"]["optional-dependencies"]
    required = PROJECT["project"]["dependencies"] + extras["baselines"] + extras["cluster"]
    declared = {re.split(r"[<>=!\[ ;]", each)[0] for each in required}
    distributions = {"sklearn": "scikit-learn", "PIL": "pillow"}
    missing = {name for name in imported_libraries() if distributions.get(name, name) not in declared}
    assert not missing, f"{missing} are installed only as long as another library asks for them: declare them"
