"""A study file as a :class:`corners.study.spec.StudySpec`; a mistake is refused by key, with what is allowed."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from corners.data.aliases import canonical_name
from corners.engine.cells import CELLS
from corners.errors import DataError, SpecError, UnknownNameError
from corners.protocols import Protocol, get_protocol, with_options
from corners.registry import unknown_name_message
from corners.study.choices import checked_choices, settable
from corners.study.heads import Head
from corners.study.methods import method_names
from corners.study.spec import BACKBONES, FILE_NAME, TOLERANCE, ContrastSpec, DatasetSpec, RowSpec, StudySpec

SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
TEXTS = tuple[str, ...]
NUMBERS = tuple[int, ...]
TABLES = tuple[dict, ...]
HEAD_KEYS: dict[str, Any] = {"head": str, "head_options": dict}
STUDY_KEYS: dict[str, Any] = {
    **dict.fromkeys(("name", "title", "question"), str),
    "notes": TEXTS,
    "protocol": str | dict,
    **HEAD_KEYS,
    "datasets": TEXTS,
    **dict.fromkeys(("seeds", "first_seed", "chunk"), int),
    "hidden": NUMBERS,
    "rows": TABLES,
    "dataset": dict,
    "published": dict,
    "tolerance": float,
    "contrasts": TABLES,
}
ROW_KEYS: dict[str, Any] = {
    **dict.fromkeys(("name", "method", "label", "published"), str),
    **dict.fromkeys(("options", "protocol", "published_tables"), dict),
    **HEAD_KEYS,
    "shared_precision": bool,
    "hidden": NUMBERS,
    "datasets": TEXTS,
    "seeds": int | dict,
}
DATASET_KEYS: dict[str, Any] = {
    "protocol": dict,
    **HEAD_KEYS,
    "backbone": str,
    "seeds": int,
    "chunk": int,
    "rows": TEXTS,
    "published_name": str,
}
CONTRAST_KEYS: dict[str, Any] = {
    **dict.fromkeys(("title", "quantity", "published"), str),
    "pairs": tuple[tuple[str, str], ...],
}
FIRST_SEED, CHUNK = 5, 20


def parsed_study(path: Path) -> StudySpec:
    """The study of a file or folder; every message begins with the file's name."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"no study at {path} ({reason}); give a study file, or a folder with {FILE_NAME}") from error
    try:
        return _study(tomllib.loads(text), file.resolve().parent)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{file} is no TOML: {error}") from error
    except UnknownNameError as error:
        raise UnknownNameError(f"{file}: {error}") from error
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from error


def _study(content: dict[str, Any], folder: Path) -> StudySpec:
    given = checked_choices("study", "key", content, STUDY_KEYS)
    _require("study", given, ("name", "title", "question", "datasets", "seeds", "rows"))
    _snake_case("name", given["name"])
    datasets = _datasets(given["datasets"])
    rows = tuple(_row(table, datasets) for table in given["rows"])
    _unique("rows", [row.name for row in rows])
    names = [row.name for row in rows]
    first, count = given.get("first_seed", FIRST_SEED), _positive("seeds", given["seeds"])
    if first < 0:
        raise SpecError(f"first_seed must be at least 0; got {first}")
    study = StudySpec(
        name=given["name"],
        title=given["title"],
        question=given["question"],
        notes=given.get("notes", ()),
        protocol=_protocol(given.get("protocol", "default")),
        datasets=datasets,
        seeds=tuple(range(first, first + count)),
        chunk=_positive("chunk", given.get("chunk", CHUNK)),
        hidden=_hidden("hidden", given.get("hidden", (50,))),
        rows=rows,
        dataset_specs=_dataset_specs(given.get("dataset", {}), datasets, names),
        published=_texts("published", given.get("published", {})),
        contrasts=tuple(_contrast(table, names) for table in given.get("contrasts", ())),
        folder=folder,
        head=_head("study", given),
        tolerance=_tolerance(given.get("tolerance", TOLERANCE)),
    )
    _refuse_idle(study)
    return study


def _tolerance(value: float) -> float:
    if not 0.0 < value < float("inf"):
        raise SpecError(f"tolerance is in nats and must be positive and finite; got {value}")
    return value


def _refuse_idle(study: StudySpec) -> None:
    """Every row runs somewhere, every data set has rows, and every combination of choices makes a protocol."""
    for dataset in study.datasets:
        if not study.rows_of(dataset):
            raise SpecError(f"data set {dataset!r} has no rows; take it out of datasets")
        for row in study.rows_of(dataset):
            try:
                study.protocol_of(dataset, row.name)
            except SpecError as error:
                raise SpecError(f"protocol of row {row.name!r} on {dataset!r}: {error}") from error
    running = {row.name for dataset in study.datasets for row in study.rows_of(dataset)}
    for row in study.rows:
        if row.name not in running:
            raise SpecError(f"row {row.name!r} runs on no data set; see datasets of the row and rows of the data sets")


def _protocol(given: str | dict[str, Any]) -> Protocol:
    if isinstance(given, str):
        return get_protocol(given)
    changes = dict(given)
    base = changes.pop("base", "default")
    if not isinstance(base, str):
        raise SpecError(f"protocol, base: got {base!r}; allowed is the name of a protocol")
    return with_options(get_protocol(base), **_choices("protocol", changes))


def _choices(where: str, given: dict[str, Any]) -> dict[str, Any]:
    return checked_choices(where, "choice of a protocol", given, settable(Protocol))


def _datasets(names: tuple[str, ...]) -> tuple[str, ...]:
    """Known names, one a table."""
    from corners.data.catalogue import CATALOGUE
    from corners.data.loading import available

    known = {entry.name for entry in available()} | set(CATALOGUE)
    if not names:
        raise SpecError("datasets names at least one data set; got []")
    for name in names:
        if name not in known and canonical_name(name) not in known:
            raise UnknownNameError(f"datasets: {unknown_name_message('data set', name, sorted(known))}")
    _unique("datasets", [name if name in known else canonical_name(name) for name in names])
    return names


def _row(table: dict[str, Any], datasets: tuple[str, ...]) -> RowSpec:
    where = f"row {table.get('name', '')!r}"
    given = checked_choices(where, "key of a row", table, ROW_KEYS)
    _require(where, given, ("name",))
    name = given["name"]
    _snake_case(f"{where}, name", name)
    method = given.get("method", name)
    if method not in method_names():
        raise UnknownNameError(f"{where}, method: {unknown_name_message('method', method, method_names())}")
    tables = given.get("published_tables")
    if method not in CELLS and {*HEAD_KEYS, "shared_precision"} & given.keys():
        raise SpecError(
            f"{where}: {method} has a head of its own; head, head_options and shared_precision are for cells"
        )
    return RowSpec(
        name=name,
        method=method,
        label=given.get("label", name),
        options=given.get("options", {}),
        protocol=_choices(f"{where}, protocol", given.get("protocol", {})),
        hidden=_hidden(f"{where}, hidden", given["hidden"]) if "hidden" in given else None,
        datasets=_known(f"{where}, datasets", "data set of the study", given.get("datasets"), datasets),
        seeds=_row_seeds(where, given.get("seeds"), datasets),
        published=given.get("published"),
        published_tables=None if tables is None else _texts(f"{where}, published_tables", tables),
        head=_head(where, given),
        shared_precision=given.get("shared_precision", False),
    )


def _head(where: str, given: Mapping[str, Any]) -> Head | None:
    """A head with its options; a level that names neither leaves both to the next one."""
    if not HEAD_KEYS.keys() & given.keys():
        return None
    try:
        named = Head.of(given.get("head"))
    except UnknownNameError as error:
        raise UnknownNameError(f"{where}, head: {error}") from error
    return replace(named, options=given.get("head_options", {}))


def _row_seeds(where: str, given: int | dict[str, Any] | None, datasets: tuple[str, ...]) -> dict[str, int] | None:
    """One number for all data sets, or a table of numbers by data set."""
    if given is None:
        return None
    if isinstance(given, int):
        return {"": _positive(f"{where}, seeds", given)}
    counts = checked_choices(f"{where}, seeds", "data set of the study", given, dict.fromkeys(datasets, int))
    return {name: _positive(f"{where}, seeds, {name}", count) for name, count in counts.items()}


def _dataset_specs(tables: Mapping[str, Any], datasets: tuple[str, ...], rows: Iterable[str]) -> dict[str, DatasetSpec]:
    checked = checked_choices("dataset", "data set of the study", tables, dict.fromkeys(datasets, dict))
    return {name: _dataset_spec(name, table, rows) for name, table in checked.items()}


def _dataset_spec(name: str, table: dict[str, Any], rows: Iterable[str]) -> DatasetSpec:
    where = f"dataset.{name}"
    given = checked_choices(where, "key of a data set", table, DATASET_KEYS)
    backbone = given.get("backbone", "mlp")
    if backbone not in BACKBONES:
        raise UnknownNameError(f"{where}: {unknown_name_message('backbone', backbone, list(BACKBONES))}")
    return DatasetSpec(
        name=name,
        protocol=_choices(f"{where}, protocol", given.get("protocol", {})),
        backbone=backbone,
        seeds=_positive(f"{where}, seeds", given["seeds"]) if "seeds" in given else None,
        chunk=_positive(f"{where}, chunk", given["chunk"]) if "chunk" in given else None,
        rows=_known(f"{where}, rows", "row", given.get("rows"), rows),
        published_name=given.get("published_name"),
        head=_head(where, given),
    )


def _contrast(table: dict[str, Any], rows: list[str]) -> ContrastSpec:
    where = f"contrast {table.get('title', '')!r}"
    given = checked_choices(where, "key of a contrast", table, CONTRAST_KEYS)
    _require(where, given, ("title", "quantity", "pairs"))
    for pair in given["pairs"]:
        _known(f"{where}, pairs", "row", pair, rows)
    return ContrastSpec(given["title"], given["quantity"], given["pairs"], given.get("published"))


def _texts(where: str, given: dict[str, Any]) -> dict[str, str]:
    return checked_choices(where, "key", given, dict.fromkeys(given, str))


def _hidden(where: str, widths: tuple[int, ...]) -> tuple[int, ...]:
    """Units of the hidden layers; none of them is a linear model."""
    if any(width < 1 for width in widths):
        raise SpecError(f"{where}: positive numbers of units, one a layer; [] is a linear model; got {list(widths)}")
    return widths


def _known(where: str, what: str, names: tuple[str, ...] | None, known: Iterable[str]) -> tuple[str, ...] | None:
    for name in names or ():
        if name not in known:
            raise UnknownNameError(f"{where}: {unknown_name_message(what, name, list(known))}")
    return names


def _require(where: str, given: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in given:
            raise SpecError(f"{where}: the key {key!r} is missing; needed are {', '.join(keys)}")


def _positive(where: str, value: int) -> int:
    if value < 1:
        raise SpecError(f"{where}: must be at least 1; got {value}")
    return value


def _snake_case(where: str, name: str) -> None:
    """Names become names of files and columns."""
    if not SNAKE_CASE.fullmatch(name):
        raise SpecError(f"{where}: small letters, digits and single underscores, a letter first; got {name!r}")


def _unique(where: str, names: list[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if not names:
        raise SpecError(f"{where}: at least one is needed")
    if twice:
        raise SpecError(f"{where}: {twice[0]!r} is there twice; every name is its own")
