import json

import pytest

from corners.data.catalogue import CATALOGUE

FACTS = [pytest.param(table, id=table.name) for table in CATALOGUE.values()]


@pytest.mark.parametrize("table", FACTS)
def test_facts_agree_with_each_other(table):
    assert table.task in ("regression", "classification", "count")
    assert all(0 <= k < table.d for k in table.codes)
    if table.task == "classification":
        assert table.labels is not None
        assert table.openml_classes is not None
        assert table.class_counts is not None
        assert len(table.labels) == len(table.openml_classes) == len(table.class_counts)
        assert sum(table.class_counts) == table.n
    elif table.openml_id is not None:
        assert table.target_mean is not None


@pytest.mark.needs_tables
def test_facts_are_those_of_the_manifest(data_folder):
    listed = {f["name"]: f for f in json.loads((data_folder / "MANIFEST.json").read_text())["files"]}
    tables = {name for name, f in listed.items() if f["task"] not in ("forecasting", "text-regression")}
    assert set(CATALOGUE) == tables
    for name, table in CATALOGUE.items():
        f = listed[name]
        assert (table.n, table.d, table.openml_id) == (f["n"], f["d"], f["openml_id"]), name
        assert f["task"] in (table.task, "embedding-" + table.task)
        assert table.constant == len(f.get("constant_columns") or [])
        codes = [c for c in f.get("categorical") or [] if c not in f["string_columns"]]
        if table.openml_id is not None:
            assert [f["features"][k] for k in table.codes] == codes
        if table.target_mean is not None:
            assert table.target_mean == pytest.approx(f["target_mean"], abs=1e-6)
        if table.class_counts is not None:
            assert list(table.class_counts) == f["class_counts"]
