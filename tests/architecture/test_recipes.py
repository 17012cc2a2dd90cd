"""The skeletons of CONTRIBUTING.md: dropped into a folder beside their family, they pass its laws untouched."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.architecture.recipes import FOLDER_VARIABLE, recipes, write
from tests.architecture.sources import ROOT

INSIDE = str(ROOT / "tests" / "architecture" / "recipes" / "inside.py")
FAMILIES = {
    "corners.cavities",
    "corners.routings",
    "corners.covariances",
    "corners.likelihoods",
    "corners.backbones",
    "corners.baselines",
    "corners.claims",
    "corners.comparison.scores",
    "corners.data.sources",
    "inference.nodes",
}


def test_every_family_has_a_skeleton():
    assert {recipe.package for recipe in recipes()} == FAMILIES


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_skeleton_takes_no_existing_place(recipe):
    assert (ROOT / recipe.place).parent.is_dir()
    assert not (ROOT / recipe.place).exists()
    compile(recipe.text, recipe.place, "exec")


def test_skeletons_pass_the_laws_of_their_families(tmp_path):
    write(tmp_path / "members")
    results = tmp_path / "results.xml"
    laws = sorted({str(recipe.laws) for recipe in recipes()})
    plugins = ["-p", "tests.architecture.recipes.plugin", "-p", "no:cacheprovider"]
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", *plugins, f"--junitxml={results}", *laws, INSIDE],
        cwd=ROOT,
        env=os.environ | {FOLDER_VARIABLE: str(tmp_path / "members"), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    cases = list(ElementTree.parse(results).iter("testcase"))
    for recipe in recipes():
        ran = [case for case in cases if recipe.name in case.attrib["name"] and not list(case)]
        assert len(ran) >= 5, f"only {len(ran)} tests ran for {recipe.place}"
