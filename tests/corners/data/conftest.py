"""Where the real tables are, and an environment that does not reach into the tests."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("CORNERS_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data").resolve()


@pytest.fixture(autouse=True)
def _no_data_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORNERS_DATA", raising=False)


@pytest.fixture
def data_folder() -> Path:
    """The folder of real tables; a clone alone has none."""
    if not (FOLDER / "MANIFEST.json").is_file():
        pytest.skip(f"no real tables at {FOLDER}; set CORNERS_DATA")
    return FOLDER
