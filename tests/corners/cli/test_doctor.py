"""``corners doctor``: what is there, what is broken, and a status that says so."""

import pytest

from corners.cli import doctor


@pytest.fixture
def light(monkeypatch):
    """Without importing the samplers: one test does."""
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "scipy"))


def test_a_healthy_installation(command):
    ran = command("doctor")
    assert ran.code == 0
    assert all(
        name in ran.out for name in ("python", "corners", "inference", "torch", "pymc", "compiler", "CORNERS_DATA")
    )
    assert "broken" not in ran.out


def test_as_json(command, light):
    records = command("doctor", "--json").json()
    assert {"name", "fine", "found", "needed"} == set(records[0])
    assert all(record["fine"] for record in records if record["needed"])


def test_a_needed_package_that_is_broken_is_status_1_with_the_remedy(command, monkeypatch):
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no_such_library"))
    ran = command("doctor")
    assert ran.code == 1
    (line,) = [line for line in ran.out.splitlines() if "no_such_library" in line]
    assert line.startswith("broken") and "ModuleNotFoundError" in line and "remedy: pip install" in line


def test_an_optional_peer_that_is_missing_is_no_fault(command, monkeypatch, light):
    monkeypatch.setattr(doctor, "OPTIONAL", {"no_such_peer": "pip install peer"})
    ran = command("doctor")
    assert ran.code == 0
    (line,) = [line for line in ran.out.splitlines() if "no_such_peer" in line]
    assert line.startswith("absent") and "pip install peer" in line


@pytest.mark.parametrize("claimed", ["corners", "inference"])
def test_another_distribution_that_claims_our_name_is_found(command, monkeypatch, claimed, light):
    found = {"corners": ["bethe-corners"], "inference": ["bethe-corners"]}
    found[claimed] = ["bethe-corners", "roboflow-inference"]
    monkeypatch.setattr(doctor.metadata, "packages_distributions", lambda: found)
    ran = command("doctor")
    assert ran.code == 1 and "also claimed by roboflow-inference: use an environment of its own" in ran.out


def test_a_data_folder_without_a_manifest_is_said(command, tmp_path, light):
    ran = command("doctor", CORNERS_DATA=str(tmp_path))
    assert ran.code == 0 and "holds no MANIFEST.json" in ran.out
