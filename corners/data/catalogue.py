"""Facts about the public tables this project knows by name: sizes, and where OpenML has a table of that name.

No data values: class counts and target means are there to recognise a table that is another one under the same name.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """One public table as its origin publishes it, before any column is encoded.

    Parameters
    ----------
    n, d : rows and input columns.
    openml_id : OpenML's number, None where no table there is known to be the same.
    openml_target, openml_drop : the response there, where it is not the default, and other responses to leave out.
    openml_classes : OpenML's name of each class, in the order of ``labels``.
    codes : positions (from 0) of whole-number columns that are unordered codes.
    constant : how many of the columns are constant; some copies leave these out.
    """

    name: str
    task: str
    n: int
    d: int
    openml_id: int | None = None
    openml_target: str | None = None
    openml_drop: tuple[str, ...] = ()
    target_mean: float | None = None
    labels: tuple[str, ...] | None = None
    openml_classes: tuple[str, ...] | None = None
    class_counts: tuple[int, ...] | None = None
    codes: tuple[int, ...] = ()
    constant: int = 0


def _regression() -> list[Table]:
    task = "regression"
    turbine = ("gt_turbine_decay_state_coefficient",)
    return [
        Table("boston", task, 506, 13, 531, target_mean=22.532806),
        Table("california", task, 20640, 8),
        Table("concrete", task, 1030, 8, 44959, target_mean=35.817961),
        Table("energy", task, 768, 8, 1472, "y1", ("y2",), target_mean=22.307201),
        Table("kin8nm", task, 8192, 8, 189, target_mean=0.714283),
        Table("naval", task, 11934, 16, 44969, openml_drop=turbine, target_mean=0.975, constant=2),
        Table("power", task, 9568, 4),
        Table("protein", task, 45730, 9),
        Table("wine_red", task, 1599, 11, 40691, target_mean=5.636023),
        Table("wine_white", task, 4898, 11),
        Table("yacht", task, 308, 6),
        Table("sick_minilm", task, 9840, 768),
    ]


def _two_classes(
    name: str, n: int, d: int, openml_id: int, classes: str, counts: tuple[int, int], labels: str = "", **more: Any
) -> Table:
    named = tuple((labels or classes).split())
    facts: dict[str, Any] = {"labels": named, "openml_classes": tuple(classes.split()), "class_counts": counts}
    return Table(name, "classification", n, d, openml_id, **facts, **more)


def _classification() -> list[Table]:
    iris = ("setosa", "versicolor", "virginica")
    return [
        _two_classes(
            "australian", 690, 14, 40981, "0 1", (383, 307), "refused approved", codes=(0, 3, 4, 5, 7, 8, 10, 11)
        ),
        _two_classes("banknote", 1372, 4, 1462, "1 2", (762, 610), "0 1"),
        _two_classes("blood_transfusion", 748, 4, 1464, "1 2", (570, 178), "no_donation donation"),
        _two_classes("breast_cancer", 569, 30, 1510, "2 1", (212, 357), "malignant benign"),
        _two_classes("credit_g", 1000, 20, 31, "bad good", (300, 700)),
        _two_classes("heart_statlog", 270, 13, 53, "absent present", (150, 120), codes=(1, 2, 5, 6, 8, 12)),
        _two_classes("ionosphere", 351, 34, 59, "b g", (126, 225), "bad good", constant=1),
        Table(
            "iris",
            "classification",
            150,
            4,
            61,
            labels=iris,
            openml_classes=tuple(f"Iris-{name}" for name in iris),
            class_counts=(50, 50, 50),
        ),
        _two_classes("magic", 19020, 10, 1120, "h g", (6688, 12332), "hadron gamma"),
        _two_classes("pima", 768, 8, 37, "tested_negative tested_positive", (500, 268), "neg pos"),
        _two_classes("sonar", 208, 60, 40, "Rock Mine", (97, 111), "rock mine"),
        _two_classes("spambase", 4601, 57, 44, "0 1", (2788, 1813), "nonspam spam"),
    ]


def _count() -> list[Table]:
    return [
        Table("abalone", "count", 4177, 8, 183, target_mean=9.933684),
        Table("bike_day", "count", 731, 11),
        Table("bike_hour", "count", 17379, 12),
        Table("bio_chemists", "count", 915, 5),
        Table("doctor_visits", "count", 5190, 11),
        Table("nmes1988", "count", 4406, 14),
        Table("quine", "count", 146, 4),
        Table("recreation_demand", "count", 659, 7),
    ]


CATALOGUE = {table.name: table for table in _regression() + _classification() + _count()}
