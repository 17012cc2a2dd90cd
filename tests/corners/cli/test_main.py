"""The command group: help, version, unknown verbs, and errors as one sentence."""

import subprocess
import sys

import pytest

import corners
from corners.cli.main import VERBS


def test_help_lists_the_verbs_in_the_order_a_newcomer_meets_them(command):
    ran = command("--help")
    assert ran.code == 0 and "Start with: corners demo" in ran.out
    places = [ran.out.index(f"\n  {verb} ") for verb in VERBS]
    assert places == sorted(places)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(command, verb):
    ran = command(verb, "--help")
    assert ran.code == 0 and f"corners {verb}" in ran.out and "Example" in ran.out


def test_version_prints_where_both_packages_are(command):
    ran = command("--version")
    assert ran.code == 0
    assert corners.__version__ in ran.out
    for package in ("corners", "inference"):
        assert any(line.startswith(package) and line.rstrip().endswith(package) for line in ran.out.splitlines())


def test_no_verb_is_help_and_an_unknown_one_is_refused(command):
    assert "Usage" in command().out + command().err
    ran = command("comapre")
    assert ran.code == 2 and "comapre" in ran.err


def test_an_error_of_ours_is_one_sentence_with_status_2(command):
    ran = command("list", "methds")
    assert ran.code == 2 and ran.out == ""
    assert (
        ran.err.startswith("corners: no kind is called 'methds'. Did you mean 'methods'?") and ran.err.count("\n") == 1
    )


def test_the_module_is_the_command():
    ran = subprocess.run(
        [sys.executable, "-m", "corners", "list", "routings"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0 and "mean_closed" in ran.stdout and ran.stderr == ""
