"""pytest plugin of a run of its own, in which the families hold the skeletons too and nothing else is tested."""

import importlib
import os
from pathlib import Path

import pytest

from tests.architecture.recipes import FOLDER_VARIABLE, recipes


def pytest_sessionstart() -> None:
    """Extend the search path of each family's package, as if the file lay in its folder."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    for recipe in recipes():
        importlib.import_module(recipe.package).__path__.append(str((folder / recipe.place).parent))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that are about a skeleton."""
    names = {recipe.name for recipe in recipes()}

    def about_a_skeleton(item: pytest.Item) -> bool:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        return any(value in names for value in parameters.values() if isinstance(value, str))

    dropped = [item for item in items if not about_a_skeleton(item)]
    items[:] = [item for item in items if about_a_skeleton(item)]
    config.hook.pytest_deselected(items=dropped)
