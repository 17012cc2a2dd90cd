"""The package as a whole: light to import, public names that no module shadows, everything public documented."""

import inspect
import pkgutil
import subprocess
import sys

import corners.exact


def test_every_public_name_is_there_and_documented():
    for name in corners.exact.__all__:
        member = getattr(corners.exact, name)
        if inspect.isfunction(member) or inspect.isclass(member):
            assert member.__doc__, name


def test_no_function_hides_a_module():
    modules = {info.name for info in pkgutil.iter_modules(corners.exact.__path__)}
    assert not modules & set(corners.exact.__all__)
    for name in modules:
        assert inspect.ismodule(getattr(corners.exact, name, sys)), name


def test_importing_it_loads_no_heavy_module():
    code = "import sys, corners.exact; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "sklearn", "pandas", "matplotlib", "pymc", "scipy.optimize", "scipy.stats", "scipy.special"}
    assert not heavy & set(loaded)
