"""The real tables that scikit-learn ships: there on every machine, without a download."""

import re
from dataclasses import dataclass
from typing import ClassVar

from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import UnknownNameError
from corners.registry import unknown_name_message

TABLES = {
    "breast_cancer": ("load_breast_cancer", "classification", 569, 30),
    "diabetes": ("load_diabetes", "regression", 442, 10),
    "digits": ("load_digits", "classification", 1797, 64),
    "iris": ("load_iris", "classification", 150, 4),
    "wine_cultivar": ("load_wine", "classification", 178, 13),
}


@SOURCES.register("embedded")
@dataclass(frozen=True)
class EmbeddedSource(Source):
    """diabetes (original units), breast_cancer, iris, wine_cultivar (scikit-learn's ``load_wine``), digits.

    Example
    -------
    >>> EmbeddedSource().load("diabetes")
    Dataset('diabetes', regression, n=442, d=10, target='disease progression after one year')
    """

    order: ClassVar[int] = 20

    @classmethod
    def default(cls) -> "EmbeddedSource":
        """Always there."""
        return cls()

    @classmethod
    def example(cls) -> "EmbeddedSource":
        """Always there."""
        return cls()

    def entries(self) -> tuple[Entry, ...]:
        """A list of our own, so that scikit-learn is imported only to load."""
        return tuple(Entry(name, "embedded", task, n, d) for name, (_, task, n, d) in TABLES.items())

    def load(self, name: str) -> Dataset:
        """The table as scikit-learn ships it; UnknownNameError lists the names."""
        if name not in TABLES:
            raise UnknownNameError(unknown_name_message("embedded table", name, list(TABLES)))
        import sklearn
        from sklearn import datasets

        function, task, _, _ = TABLES[name]
        options = {"scaled": False} if name == "diabetes" else {}
        bunch = getattr(datasets, function)(**options)
        classes = task == "classification"
        return Dataset(
            bunch.data,
            bunch.target,
            name,
            [_plain(feature) for feature in bunch.feature_names],
            "class" if classes else "disease progression after one year",
            task=task,
            labels=[str(label) for label in bunch.target_names] if classes else None,
            source=f"scikit-learn {sklearn.__version__}, sklearn.datasets.{function}",
        )


def _plain(name: str) -> str:
    """``sepal length (cm)`` as ``sepal_length``: the names that the folder's copies have."""
    return re.sub(r"\s*\(.*\)", "", name).replace(" ", "_")
