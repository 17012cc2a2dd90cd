"""README: its two commands, its code, and that its tables know what there is."""

import re
import subprocess

import pytest

from corners.study import method_names
from tests.architecture.sources import ROOT, in_fresh_python, text_files

README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/corners demo"
TEST = (
    'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pip install --no-deps laplace-torch==0.3 '
    "curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 && .venv/bin/python -m pytest"
)
PYTHON_BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_there_are_exactly_two_set_up_commands():
    assert [line for line in README.splitlines() if ".venv/bin/" in line] == [RUN, TEST]


@pytest.mark.parametrize(("target", "command"), [("demo", RUN), ("test", TEST)])
def test_make_says_the_same(target, command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(rf"^{target}:.*\n\t(.*)\n\n", makefile, flags=re.MULTILINE)
    assert recipe is not None and recipe.group(1) == command


def test_ci_takes_the_test_line_from_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"grep -E '(\^python3 .*)' README\.md", script)
    found = subprocess.run(["grep", "-E", pattern, "README.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [TEST]
    assert "pytest" not in script.replace(pattern, ""), "the tests are run by README's line alone"


def test_the_code_runs_from_top_to_bottom(tmp_path):
    assert len(PYTHON_BLOCKS) >= 3
    finished = in_fresh_python("\n".join(PYTHON_BLOCKS), folder=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "scroll_dense" in finished.stdout
    assert not list(tmp_path.iterdir()), "the quickstart leaves files behind"


def test_every_method_is_in_the_table():
    firsts = re.findall(r"^\| (`.*?`) \|", README, flags=re.MULTILINE)
    rows = {name for first in firsts for name in re.findall(r"`(\w+)`", first)}
    assert set(method_names()) <= rows


def test_every_folder_on_the_map_is_there():
    block = README.split("## Where things are")[1]
    map_ = re.search(r"^```\n(.*?)^```$", block, flags=re.MULTILINE | re.DOTALL)
    assert map_ is not None
    parent = ""
    for line in map_.group(1).splitlines():
        first = line.split()[0]
        parent = first if not line.startswith(" ") else parent
        assert (ROOT / first).exists() or (ROOT / parent / first).exists(), line


def test_the_repository_speaks_of_itself_alone():
    elsewhere = re.compile(r"/(?:work|root|home/\w+)/|\b(?:theory|design|message_passing|acceptance_cases)\.md\b")
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in text_files()
        if (match := elsewhere.search(path.read_text(encoding="utf-8")))
    }
    assert not found, "paths of one machine, or documents that are not in the repository"
