"""Every claim has a test that breaks its mathematics and sees the verdict turn."""

from pathlib import Path

import pytest

from corners.claims import CLAIMS


@pytest.mark.parametrize("name", CLAIMS.names())
def test_its_mathematics_was_broken_on_purpose(name):
    file = Path(__file__).parent / f"test_{name}.py"
    assert file.exists(), f"{file.name} is missing: break the mathematics there and see the verdict turn"
    assert "def test_broken_" in file.read_text(encoding="utf-8"), f"{file.name} breaks nothing"
