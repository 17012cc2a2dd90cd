"""OpenML through scikit-learn's client: from its cache on disk where it is, else over the network.

A table there may be another one under a known name, so what comes is compared with the catalogue: rows, columns, class
counts, mean of the target. The values are not compared one by one.
"""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from corners.data.catalogue import CATALOGUE, Table
from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import DataError, UnknownNameError
from corners.registry import unknown_name_message

TIMEOUT_SECONDS = 30.0
REMEDY = "check the network, or set CORNERS_DATA to a folder that holds the table"


@SOURCES.register("openml")
@dataclass(frozen=True)
class OpenMLSource(Source):
    """The catalogue's tables that OpenML is known to have.

    ``data_home`` is where scikit-learn keeps downloads; None is its own choice ($SCIKIT_LEARN_DATA, else at home).

    Example
    -------
    >>> [entry.n for entry in OpenMLSource().entries() if entry.name == "boston"]
    [506]
    """

    order: ClassVar[int] = 90
    data_home: str | None = None

    @classmethod
    def default(cls) -> "OpenMLSource":
        """With scikit-learn's own cache folder."""
        return cls()

    @classmethod
    def example(cls) -> "OpenMLSource":
        """With scikit-learn's own cache folder; nothing is fetched until a table is loaded."""
        return cls()

    def entries(self) -> tuple[Entry, ...]:
        """Those with a known id; nothing is asked of the network."""
        note = "network, unless cached"
        return tuple(
            Entry(t.name, "openml", t.task, t.n, t.d, note) for t in CATALOGUE.values() if t.openml_id is not None
        )

    def load(self, name: str, *, categorical: str = "one_hot") -> Dataset:
        """The table, cached for the next time; ``categorical`` as in the folder source.

        Raises
        ------
        DataError : no id is known, the network or the server fails, or it is not the table of the catalogue.
        UnknownNameError : lists the names with a known id.
        """
        if name not in CATALOGUE:
            raise UnknownNameError(unknown_name_message("OpenML table", name, [entry.name for entry in self.entries()]))
        table = CATALOGUE[name]
        if table.openml_id is None:
            raise DataError(
                f"OpenML has no table that is known to be {name!r}; set CORNERS_DATA to a folder that holds it"
            )
        bunch = _fetch(table, self.data_home)
        frame, target = _numeric_codes(bunch.frame, table, bunch.target_names)
        columns = [str(c) for c in frame.columns if c != target]
        _refuse_shape(table, len(frame), len(columns))
        loaded = Dataset.from_dataframe(
            frame,
            target=target,
            name=name,
            task=table.task,
            categorical=categorical,
            codes=[columns[k] for k in table.codes] if len(columns) == table.d else [],
            source=f"OpenML {table.openml_id}, version {bunch.details['version']}, md5 {bunch.details['md5_checksum']}",
        )
        _refuse_targets(table, loaded)
        return _with_labels(loaded, table)


def _fetch(table: Table, data_home: str | None) -> Any:
    """The table with the client's failures turned into one sentence."""
    from urllib.error import HTTPError

    from sklearn.datasets import fetch_openml

    try:
        with _bounded_wait(), warnings.catch_warnings():
            for retry in ("A network error occurred", "Invalid cache, redownloading"):
                warnings.filterwarnings("ignore", message=retry)  # the retry works, or ends in our error
            return fetch_openml(
                data_id=table.openml_id, data_home=data_home, as_frame=True, parser="liac-arff", n_retries=1
            )
    except OSError as error:  # URLError, HTTPError, timeouts, a full disk
        if isinstance(error, HTTPError):
            error.close()
        raise DataError(
            f"{table.name!r} could not be fetched from OpenML (id {table.openml_id}): {error}; {REMEDY}"
        ) from error
    except (ValueError, KeyError) as error:  # unknown id (412), md5, malformed answers
        raise DataError(
            f"OpenML's answer for {table.name!r} (id {table.openml_id}) cannot be used: {error}; {REMEDY}"
        ) from error


@contextmanager
def _bounded_wait() -> Iterator[None]:
    """The client sets no timeout of its own and would wait for minutes behind a firewall that drops packets."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS if before is None else before)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _numeric_codes(frame: Any, table: Table, default_targets: list[str]) -> tuple[Any, str]:
    """Without other responses; nominal columns of numbers as numbers; the name of the response."""
    import pandas as pd

    by_lower = {str(c).lower(): str(c) for c in frame.columns}
    wanted = table.openml_target or next(iter(default_targets), "target")
    target = by_lower.get(wanted.lower())
    if target is None:
        raise DataError(f"OpenML {table.openml_id} has no column {wanted!r}, the target of {table.name!r}")
    other = [by_lower[name] for name in table.openml_drop if name in by_lower]
    frame = frame.drop(columns=other)
    for column in frame.columns:
        if column == target and table.task == "classification":
            frame[column] = frame[column].astype(object)
        elif isinstance(frame[column].dtype, pd.CategoricalDtype):
            numbers: Any = pd.to_numeric(frame[column].astype(object), errors="coerce")
            frame[column] = frame[column] if numbers.isna().any() else numbers
    return frame, target


def _refuse_shape(table: Table, n: int, d: int) -> None:
    if n != table.n or d not in (table.d, table.d - table.constant):
        raise DataError(
            f"OpenML {table.openml_id} holds {n} rows and {d} input columns, but {table.name!r} has {table.n} and "
            f"{table.d}: another table of the same name; set CORNERS_DATA to a folder that holds the right one"
        )


def _refuse_targets(table: Table, loaded: Dataset) -> None:
    """Another response under the same name would be seen in its mean, classes of another order in their counts."""
    if table.openml_classes is not None and table.class_counts is not None:
        given = dict(zip(loaded.labels or (), np.bincount(loaded.targets.astype(int)).tolist(), strict=True))
        expected = dict(zip(table.openml_classes, table.class_counts, strict=True))
    else:
        given, expected = {"mean": float(loaded.targets.mean())}, {"mean": table.target_mean}
        if table.target_mean is None or abs(given["mean"] - table.target_mean) < 1e-3 * abs(table.target_mean):
            return
    if given != expected:
        raise DataError(
            f"the targets of OpenML {table.openml_id} are not those of {table.name!r}: {given}, expected {expected}"
        )


def _with_labels(loaded: Dataset, table: Table) -> Dataset:
    """Class codes in the catalogue's order, under its labels."""
    if table.openml_classes is None or loaded.labels is None:
        return loaded
    code = np.array([table.openml_classes.index(label) for label in loaded.labels])
    about = {"description": loaded.description, "source": loaded.source, "task": loaded.task, "labels": table.labels}
    targets = code[loaded.targets.astype(int)]
    return Dataset(loaded.inputs, targets, loaded.name, loaded.feature_names, loaded.target_name, **about)
