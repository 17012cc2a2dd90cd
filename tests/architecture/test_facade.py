"""``import corners`` is light, and every public name is where the facade says."""

import json
import re

import pytest

import corners
from tests.architecture.sources import ROOT, in_fresh_python

HEAVY = ("torch", "sklearn", "pandas", "matplotlib", "pymc", "pytensor", "arviz", "numba", "xarray", "scipy")
GENEROUS_SECONDS = 5.0
"""Not a benchmark: an import that takes this long has become eager, whatever the machine."""

TIMED = "import time; start = time.perf_counter(); import corners; print(time.perf_counter() - start)"


def loaded_by(code: str) -> set[str]:
    """Which heavy modules a fresh interpreter holds after ``code``."""
    finished = in_fresh_python(f"{code}\nimport json; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))")
    assert finished.returncode == 0, finished.stderr
    return set(json.loads(finished.stdout.splitlines()[-1]))


def test_importing_corners_loads_nothing_heavy():
    assert loaded_by("import corners") == set()


def test_importing_inference_loads_no_torch_and_no_sampler():
    assert not loaded_by("import inference") & {"torch", "pymc", "pytensor", "arviz", "pandas", "sklearn", "matplotlib"}


def test_importing_corners_takes_no_time(record_property):
    seconds = min(float(in_fresh_python(TIMED).stdout) for _ in range(3))
    print(f"import corners: {1000 * seconds:.0f} ms, best of three")
    record_property("import_seconds", seconds)
    assert seconds < GENEROUS_SECONDS


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["list", "methods", "--json"]], ids=" ".join)
def test_the_light_verbs_load_nothing_heavy(arguments):
    call = f"from corners.cli import main\nmain({arguments!r}, standalone_mode=False)"
    assert not loaded_by(call) & {"torch", "pymc", "pytensor", "arviz", "sklearn", "pandas", "matplotlib"}


@pytest.mark.parametrize("name", dir(corners))
def test_every_public_name_resolves(name):
    assert getattr(corners, name) is not None


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'Corners'; it has .*Corner"):
        corners.Corners  # noqa: B018


def test_type_checkers_see_the_names_that_users_see():
    text = (ROOT / "corners" / "__init__.py").read_text(encoding="utf-8")
    seen = set(re.findall(r"^    from [\w.]+ import (\w+) as \1$", text, flags=re.MULTILINE))
    assert seen == set(dir(corners)) - {"__version__"}
