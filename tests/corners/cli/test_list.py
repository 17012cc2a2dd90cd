"""``corners list``: everything there is, without loading what is heavy."""

import subprocess
import sys

import pytest

from corners.cli.list import KINDS
from corners.study import method_names


def test_everything_is_listed(command):
    ran = command("list")
    assert ran.code == 0
    assert all(kind in ran.out for kind in KINDS)
    assert all(
        name in ran.out
        for name in (*method_names(), "diabetes", "leave_one_out", "low_rank", "gaussian", "default", "nll")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_alone_and_as_json(command, kind):
    records = command("list", kind, "--json").json()
    assert records and all(record["kind"] == kind and record["name"] and record["what"] for record in records)
    text = command("list", kind).out
    assert all(record["name"] in text and record["what"] in text for record in records)


def test_scores_say_whose_predictives_they_take(command):
    tasks = {record["name"]: record["tasks"] for record in command("list", "scores", "--json").json()}
    assert tasks["brier"] == "classification" and tasks["crps"] == "regression, count"
    assert "[regression, classification, count]" in command("list", "scores").out


def test_json_of_everything_holds_every_kind(command):
    assert {record["kind"] for record in command("list", "--json").json()} == set(KINDS)


def test_what_is_no_kind_is_refused(command):
    ran = command("list", "cavity")
    assert ran.code == 2 and "no kind is called 'cavity'" in ran.err and "cavities" in ran.err


def test_nothing_heavy_is_loaded():
    code = (
        "import sys; from click.testing import CliRunner; from corners.cli.main import main\n"
        "result = CliRunner().invoke(main, ['list']); assert result.exit_code == 0, result.output\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'pymc', 'matplotlib', 'arviz'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
