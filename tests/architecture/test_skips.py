"""What ``tests/conftest.py`` promises: it is light, and in full CI a skip fails unless its reason is allowed."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, in_fresh_python

TESTS = """
import os
import pytest

def test_passes(): pass
def test_skips(): pytest.skip("no reason of the machine")
def test_machine(): pytest.skip("machine: one core")
@pytest.mark.needs_tables
def test_marked(): pass
def test_fixture(tables_folder): assert tables_folder.is_dir()
def test_one_thread(): assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
"""


def run(folder, **variables: str) -> subprocess.CompletedProcess[str]:
    """The tests above beside a copy of the project's conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "conftest.py")
    (folder / "test_sample.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = needs_tables: x\n")
    dropped = ("CORNERS_DATA", "CORNERS_REQUIRE_ALL", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "."]
    return subprocess.run(command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False)


@pytest.fixture
def tables(tmp_path):
    """A folder that passes for the real tables."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "MANIFEST.json").write_text("{}")
    return folder


@pytest.fixture
def folder(tmp_path):
    """Where the sample tests lie."""
    made = tmp_path / "sample"
    made.mkdir()
    return made


def test_a_skip_is_only_a_skip_at_home(folder):
    finished = run(folder, CORNERS_DATA="nowhere")
    assert finished.returncode == 0
    assert "2 passed, 4 skipped" in finished.stdout
    assert "skipped for want of the real tables: 2; for other reasons: 2" in finished.stdout


def test_in_full_ci_a_skip_fails_unless_it_has_a_reason_of_the_machine(folder):
    finished = run(folder, CORNERS_DATA="nowhere", CORNERS_REQUIRE_ALL="1")
    assert finished.returncode == 1
    assert "1 failed, 2 passed, 3 skipped" in finished.stdout
    assert "skipped, which CORNERS_REQUIRE_ALL=1 does not allow: no reason of the machine" in finished.stdout


def test_with_the_tables_nothing_skips_for_want_of_them(folder, tables):
    finished = run(folder, CORNERS_DATA=str(tables))
    assert "4 passed, 2 skipped" in finished.stdout
    assert "skipped for want of the real tables: 0; for other reasons: 2" in finished.stdout


def test_a_module_that_skips_as_a_whole_fails_too(folder):
    (folder / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_library')\n")
    finished = run(folder, CORNERS_DATA="nowhere", CORNERS_REQUIRE_ALL="1")
    assert "1 error" in finished.stdout and "could not import 'no_such_library'" in finished.stdout


def test_it_imports_neither_torch_nor_corners():
    finished = in_fresh_python("import tests.conftest; assert not {'torch', 'corners', 'inference'} & set(sys.modules)")
    assert finished.returncode == 0, finished.stderr
