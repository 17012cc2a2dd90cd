"""Where the numbers come from: gathered once, kept as plain values, silent about the person and the host."""

import json
import platform
import subprocess
from importlib import metadata

import numpy as np
import pytest

from corners.comparison.provenance import Provenance, machine_summary, package_versions, source_commit
from corners.comparison.records import json_ready
from tests.corners.comparison.fakes import provenance


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_versions_are_those_installed_and_absence_is_said():
    versions = package_versions(["numpy", "no-such-distribution"])
    assert versions == {"numpy": metadata.version("numpy"), "no-such-distribution": "not installed"}


def test_commit_is_that_of_the_checkout_and_says_what_is_uncommitted(tmp_path):
    assert source_commit(tmp_path) is None
    git(tmp_path, "init")
    assert source_commit(tmp_path) is None  # nothing committed yet
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert source_commit(tmp_path) == commit
    (tmp_path / "file").write_text("b")
    assert source_commit(tmp_path) == f"{commit} with uncommitted changes"


def test_a_folder_inside_another_checkout_has_no_commit_of_its_own(tmp_path):
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "one")
    (tmp_path / "environment").mkdir()
    assert source_commit(tmp_path / "environment") is None


def test_machine_names_no_host_and_no_user():
    text = json.dumps(machine_summary())
    assert platform.node() not in text
    assert "logical cores" in text and platform.python_version() in text


def test_gather_keeps_what_it_is_given_and_adds_the_rest():
    record = Provenance.gather(date="2026-01-31", command="c", wall_seconds=2.0, protocol={"a": 1}, seed_info="s")
    assert (record.date, record.command, record.wall_seconds, record.protocol) == ("2026-01-31", "c", 2.0, {"a": 1})
    assert record.versions["numpy"] == np.__version__ and record.settings == {} and record.machine


def test_round_trip_through_json():
    record = provenance()
    assert Provenance.from_dict(json.loads(json.dumps(record.to_dict(), allow_nan=False))) == record


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64("nan"), None),
        (float("inf"), "inf"),
        (np.arange(2), [0, 1]),
        ((np.int64(3), True, None), [3, True, None]),
        ({1: {"b": -np.inf}}, {"1": {"b": "-inf"}}),
        (ValueError("text"), "text"),
    ],
)
def test_everything_becomes_what_json_holds(value, expected):
    ready = json_ready(value)
    assert ready == expected
    assert json.loads(json.dumps(ready, allow_nan=False)) == expected
