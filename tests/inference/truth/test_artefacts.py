"""Two files that belong together, whatever they hold; and what is said where they do not."""

import json

import numpy as np
import pytest

from inference.errors import FormatError
from inference.truth import artefacts, read_certificate

KIND = "bethe-corners reference of a test"
ARRAYS = {"loo.lpd": np.linspace(0.0, 1.0, 5), "count": np.arange(3)}


@pytest.fixture
def saved(tmp_path):
    return artefacts.write(tmp_path / "deep" / "a.b", {"kind": KIND, "version": 2, "passed": False}, ARRAYS)


@pytest.mark.parametrize("ending", ["", ".json", ".npz"])
def test_either_file_or_their_name_is_read(saved, ending):
    found = artefacts.read(saved.with_name("a.b" + ending), KIND, 2)
    assert found.document["passed"] is False and found.path == saved
    np.testing.assert_array_equal(found.arrays["count"], ARRAYS["count"])
    assert sorted(path.name for path in saved.parent.iterdir()) == ["a.b.json", "a.b.npz"]  # nothing partial is left


def test_a_certificate_alone_is_read_whatever_its_verdict(saved):
    saved.with_suffix(".npz").unlink()
    assert read_certificate(saved)["passed"] is False
    with pytest.raises(FormatError, match=r"a\.b\.npz is missing: a certificate alone holds no draws; copy both"):
        artefacts.read(saved, KIND, 2)


def test_another_kind_is_named(saved):
    with pytest.raises(FormatError, match=f"is not a something else: it says it is '{KIND}'"):
        artefacts.read(saved, "something else", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a certificate of ground truth: it says it is None"),
        ('{"kind": "a recipe"}', "is not a certificate of ground truth: it says it is 'a recipe'"),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_certificate(tmp_path / "x")


def test_a_certificate_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match=r"x\.json is not there; give the path"):
        read_certificate(tmp_path / "x")


def test_a_newer_version_and_other_arrays_are_refused(saved):
    with pytest.raises(FormatError, match="is of version 2, this program reads up to 1; upgrade"):
        artefacts.read(saved, KIND, 1)
    document = json.loads(saved.read_text())
    saved.write_text(json.dumps(document | {"arrays_sha256": "0"}))
    with pytest.raises(FormatError, match="sha256 differs"):
        artefacts.read(saved, KIND, 2)


def test_small_arrays_lose_digits_and_no_counts():
    small = artefacts.small(ARRAYS)
    assert small["loo.lpd"].dtype == np.float32 and small["count"].dtype == ARRAYS["count"].dtype
    np.testing.assert_allclose(small["loo.lpd"], ARRAYS["loo.lpd"], rtol=1e-7)
