"""Tables in a folder with a MANIFEST.json, each checked by its sha256; $CORNERS_DATA names the folder.

``MANIFEST.json`` holds ``{"format": 1, "files": [...]}``; each entry has name, file, task, n, d, target and sha256.
Files are CSV with the target named there, or sentence embeddings in one ``.npz``.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from corners.data._targets import FOLDS
from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import DataError, UnknownNameError
from corners.registry import unknown_name_message

VARIABLE = "CORNERS_DATA"
TABLES = ("regression", "classification", "count")
EMBEDDINGS = "embedding-regression"


@SOURCES.register("folder")
@dataclass(frozen=True)
class FolderSource(Source):
    """The tables of one folder; time series and raw text in it are not offered.

    Example
    -------
    >>> FolderSource(Path("nowhere")).entries()
    Traceback (most recent call last):
    corners.errors.DataError: there is no data folder 'nowhere'; give an existing one, or correct or unset CORNERS_DATA
    """

    order: ClassVar[int] = 10
    path: Path

    @classmethod
    def default(cls) -> "FolderSource | None":
        """The folder that $CORNERS_DATA names, None where it is not set."""
        return cls(Path(os.environ[VARIABLE])) if os.environ.get(VARIABLE) else None

    @classmethod
    def example(cls) -> "FolderSource":
        """A folder that need not exist."""
        return cls(Path("data"))

    def entries(self) -> tuple[Entry, ...]:
        """The tables that the manifest lists."""
        return tuple(
            Entry(f["name"], "folder", "regression" if f["task"] == EMBEDDINGS else f["task"], f["n"], f["d"])
            for f in self._files()
            if f["task"] in (*TABLES, EMBEDDINGS)
        )

    def holds(self, name: str) -> bool:
        """Whether the manifest lists the name, be it a table or not."""
        return any(f["name"] == name for f in self._files())

    def load(self, name: str, *, categorical: str = "one_hot") -> Dataset:
        """The table after its sha256 was compared with the manifest's.

        ``categorical``: "one_hot" encodes text and the unordered codes that the manifest lists, "text" leaves codes as
        numbers, "refuse" refuses both.

        Raises
        ------
        DataError : no such folder or file, another sha256, a time series.  UnknownNameError : lists the names there.
        """
        listed = {f["name"]: f for f in self._files()}
        offered = [entry.name for entry in self.entries()]
        if name not in listed:
            raise UnknownNameError(unknown_name_message(f"table in {str(self.path)!r}", name, offered))
        if name not in offered:
            kind = f"{name!r} is of kind {listed[name]['task']!r}, not a table of inputs and targets"
            raise DataError(f"{kind}; tables: {', '.join(offered)}")
        meta = listed[name]
        file = self._checked_file(meta)
        return _embeddings(file, meta) if meta["task"] == EMBEDDINGS else _table(file, meta, categorical)

    def _files(self) -> list[dict[str, Any]]:
        if not self.path.is_dir():
            raise DataError(
                f"there is no data folder {str(self.path)!r}; give an existing one, or correct or unset {VARIABLE}"
            )
        manifest = self.path / "MANIFEST.json"
        if not manifest.is_file():
            raise DataError(f"the data folder {str(self.path)!r} has no MANIFEST.json, which must list its tables")
        try:
            content = json.loads(manifest.read_text(encoding="utf-8"))
            files = [
                f
                for f in content["files"]
                if f["name"] and f["file"] and f["task"] and f["n"] and f["d"] and f["sha256"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{str(manifest)!r} is no manifest of tables: {type(error).__name__} {error}") from error
        if content.get("format") != 1:
            raise DataError(f"{str(manifest)!r} has format {content.get('format')!r}; only format 1 is known")
        return files

    def _checked_file(self, meta: dict[str, Any]) -> Path:
        file = self.path / meta["file"]
        if not file.is_file():
            raise DataError(f"{meta['name']!r} is listed, but its file {str(file)!r} is missing; copy it there again")
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != meta["sha256"]:
            raise DataError(
                f"{str(file)!r} is not the file of the manifest: its sha256 is {found[:16]}..., expected "
                f"{meta['sha256'][:16]}...; copy it from the origin again, or correct the manifest if you meant to"
            )
        return file


def _table(file: Path, meta: dict[str, Any], categorical: str) -> Dataset:
    text = meta.get("string_columns") or []
    codes = [column for column in meta.get("categorical") or [] if column not in text]
    loaded = Dataset.from_csv(
        file,
        target=meta["target"],
        name=meta["name"],
        task=meta["task"],
        categorical=categorical,
        codes=codes,
        description=meta.get("source", ""),
        source=_origin(meta),
    )
    names = {"feature_names": loaded.feature_names, "target_name": meta.get("original_target") or meta["target"]}
    about = {"description": loaded.description, "source": loaded.source, "labels": meta.get("labels") or loaded.labels}
    return Dataset(loaded.inputs, loaded.targets, loaded.name, **names, task=loaded.task, **about)


def _embeddings(file: Path, meta: dict[str, Any]) -> Dataset:
    """Pairs of sentences as ``(|u - v|, u v)`` of their embeddings, with the split that they are published with."""
    with np.load(file, allow_pickle=False) as z:
        u, v = (z["emb"].astype(np.float32)[z[index]] for index in ("idx_a", "idx_b"))
        targets, folds = z["target"], [FOLDS[k] for k in z["split"]]
    half = u.shape[1]
    names = [f"{kind}{k}" for kind in ("abs_difference", "product") for k in range(half)]
    about = {"folds": folds, "description": meta.get("source", ""), "source": _origin(meta)}
    return Dataset(
        np.hstack([np.abs(u - v), u * v]), targets, meta["name"], names, meta.get("original_target"), **about
    )


def _origin(meta: dict[str, Any]) -> str:
    return f"folder: {meta['file']}, sha256 {meta['sha256']}"
