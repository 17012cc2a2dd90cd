"""Bad CSV files and places through the command: status 2, one sentence that says where, nothing trained."""

import numpy as np
import pytest

from tests.corners.cli.conftest import command, table, write_table  # noqa: F401  fixtures


def column(value, row: int = 4):
    """Thirty numbers, one of them replaced."""
    values = [f"{k / 7.0:.3f}" for k in range(30)]
    values[row] = value
    return values


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age": column("nan")}, "age"),
        ({"age": column("inf")}, "age"),
        ({"age": column("")}, "age"),
        ({"price": column("")}, "price"),
        ({"price": column("cheap")}, "price"),
    ],
)
def test_a_bad_field_is_named_with_its_column(command, tmp_path, columns, message):  # noqa: F811
    path = write_table(tmp_path / "houses.csv", **columns)
    ran = command("compare", str(path), "--target", "price", "--methods", "sequential", "--seeds", "1")
    assert ran.code == 2 and ran.out == ""
    assert message in ran.err and "row" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "content", ["", "\n", "area,price\n", "area,price\n1,2\n", "area,price\n1,2,3\n4,5,6\n", "\x00\x01\x02"]
)
def test_a_file_that_is_no_table_is_refused(command, tmp_path, content):  # noqa: F811
    path = tmp_path / "houses.csv"
    path.write_text(content)
    ran = command("compare", str(path), "--target", "price", "--methods", "sequential", "--seeds", "1")
    assert ran.code == 2 and ran.out == "" and ran.err.splitlines()[-1].startswith("corners: ")


def test_a_folder_instead_of_a_file(command, tmp_path):  # noqa: F811
    (tmp_path / "houses.csv").mkdir()
    ran = command("compare", "houses.csv", "--target", "price", "--seeds", "1")
    assert ran.code == 2 and "houses.csv" in ran.err and ran.err.count("\n") == 1


def test_a_data_folder_that_does_not_exist(command):  # noqa: F811
    ran = command("compare", "yacht", "--seeds", "1", CORNERS_DATA="/nowhere/at/all")
    assert ran.code == 2 and "/nowhere/at/all" in ran.err and ran.err.count("\n") == 1
    listed = command("list", "datasets", CORNERS_DATA="/nowhere/at/all")
    assert listed.code in (0, 2) and "Traceback" not in listed.err
    assert "diabetes" in listed.out or "/nowhere/at/all" in listed.err


def test_a_constant_column_in_a_file(command, tmp_path):  # noqa: F811
    path = write_table(tmp_path / "houses.csv", age=np.ones(30))
    fast = ("--methods", "sequential", "--hidden", "3", "--max-steps", "3", "--seeds", "1", "--json")
    records = command("compare", str(path), "--target", "price", *fast).json()
    assert records[0]["mean"] is not None


def test_a_report_folder_that_cannot_be_written(command, table):  # noqa: F811
    ran = command("compare", str(table), "--target", "price", "--report", "/proc/report")
    assert ran.code == 2 and "/proc" in ran.err and "choose another folder" in ran.err
