"""What is asked of every skeleton beside its family's laws; collected only in the run that has the skeletons."""

import doctest
import importlib

import pytest

from corners.cli.list import KINDS
from tests.architecture.recipes import recipes
from tests.architecture.test_doctests import FLAGS, Finder

RECIPES = {recipe.name: recipe for recipe in recipes()}


@pytest.mark.parametrize("name", RECIPES)
def test_examples_run(name):
    module = importlib.import_module(f"{RECIPES[name].package}.{name}")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in Finder().find(module):
        runner.run(test)
    assert runner.tries and not runner.failures


@pytest.mark.parametrize("name", RECIPES)
def test_the_command_line_lists_it(name):
    listed = {row["name"]: row["what"] for rows in KINDS.values() for row in rows()}
    assert listed[name]
