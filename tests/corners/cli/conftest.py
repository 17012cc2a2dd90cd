"""Running the command in this process, on tiny tables, without the user's data folder."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from corners.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self):
        """Standard output as JSON, strictly: NaN is no JSON."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.fixture
def command(monkeypatch, tmp_path):
    """``command("list", "methods")``: status, output and errors; an exception that is not ours fails the test."""
    monkeypatch.delenv("CORNERS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> Ran:
        monkeypatch.setattr("sys.argv", ["corners", *arguments])
        result = CliRunner().invoke(main, list(arguments), env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


def write_table(path: Path, rows: int = 30, **columns) -> Path:
    """A CSV of two inputs and a price; columns given replace or add."""
    generator = np.random.default_rng(3)
    table = {"area": generator.uniform(1.0, 9.0, rows), "age": generator.uniform(0.0, 4.0, rows)}
    table["price"] = 40.0 + 5.0 * np.sin(table["area"]) - table["age"] + generator.normal(size=rows)
    table |= columns
    lines = [",".join(table), *(",".join(str(value) for value in row) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path) -> Path:
    """A healthy CSV."""
    return write_table(tmp_path / "houses.csv")
