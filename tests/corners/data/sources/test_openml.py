import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import _openml

from corners.data import load
from corners.data.sources.openml import OpenMLSource
from corners.errors import DataError, UnknownNameError
from tests.corners.data.sources.openml_server import Served, numbers, serving, with_mean

REMEDY = "check the network, or set CORNERS_DATA to a folder that holds the table"


@pytest.fixture
def point_client(monkeypatch, tmp_path):
    """Makes scikit-learn's client ask a port of this machine, with an empty cache and without pauses."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_openml, "time", SimpleNamespace(sleep=lambda _: None))

    def point(port):
        for name, path in (
            ("_DATA_INFO", "{}"),
            ("_DATA_FEATURES", "features/{}"),
            ("_DATA_QUALITIES", "qualities/{}"),
        ):
            monkeypatch.setattr(_openml, name, f"http://127.0.0.1:{port}/json/{path}")

    return point


def concrete(**changes):
    columns = numbers(1030, 8) | {"strength": with_mean(1030, 35.817961)}
    return Served(**({"data_id": 44959, "columns": columns, "targets": ["strength"]} | changes))


def sonar():
    kinds = ["Rock"] * 97 + ["Mine"] * 111
    return Served(40, numbers(208, 60) | {"Class": kinds}, ["Class"])


def test_a_table_is_fetched_once_and_then_comes_from_the_cache(point_client):
    table = concrete()
    with serving(table) as port:
        point_client(port)
        data = load("concrete", source="openml")
        asked = len(table.asked)
        assert asked == 4
        assert socket.getdefaulttimeout() is None
        again = load("concrete")
        assert len(table.asked) == asked
    columns = list(table.columns.values())
    np.testing.assert_array_equal(data.inputs, np.column_stack(columns[:-1]))
    np.testing.assert_array_equal(data.targets, columns[-1])
    assert data.source.startswith("OpenML 44959, version 1, md5 ")
    assert (data.name, data.target_name, data.task) == ("concrete", "strength", "regression")
    assert load("concrete").fingerprint == again.fingerprint == data.fingerprint


def test_classes_take_our_order_and_our_labels(point_client):
    with serving(sonar()) as port:
        point_client(port)
        data = load("sonar")
    assert data.labels == ("rock", "mine")
    assert data.targets.tolist() == [0.0] * 97 + [1.0] * 111


def test_nominal_numbers_are_numbers_and_another_response_is_left_out(point_client):
    n = 768
    columns = numbers(n, 6) | {
        "orientation": [str(2 + k % 4) for k in range(n)],
        "glazing": [str(k % 6) for k in range(n)],
    }
    columns |= {"Y1": with_mean(n, 22.307201), "Y2": with_mean(n, 24.6)}
    with serving(Served(1472, columns, ["Y1", "Y2"])) as port:
        point_client(port)
        data = load("energy")
    assert data.feature_names == ("v0", "v1", "v2", "v3", "v4", "v5", "orientation", "glazing")
    np.testing.assert_array_equal(data.inputs[:, 6], 2 + np.arange(n) % 4)
    assert data.targets.mean() == pytest.approx(22.307201, rel=1e-12)


def test_unordered_codes_are_encoded_as_in_the_folder(point_client):
    n = 270
    columns = numbers(n, 13)
    columns |= {"v2": [1.0 + k % 4 for k in range(n)], "v6": [float(k % 3) for k in range(n)]}
    columns |= {"v12": [(3.0, 6.0, 7.0)[k % 3] for k in range(n)]} | {
        f"v{j}": [float(k % 2) for k in range(n)] for j in (1, 5, 8)
    }
    with serving(Served(53, columns | {"class": ["absent"] * 150 + ["present"] * 120}, ["class"])) as port:
        point_client(port)
        data = load("heart")
        assert load("heart", categorical="text").d == 13
    assert data.d == 13 - 3 + 4 + 3 + 3
    assert [name for name in data.feature_names if name.startswith("v12=")] == ["v12=3", "v12=6", "v12=7"]


def test_another_table_under_the_same_id_is_refused(point_client):
    short = {name: values[:100] for name, values in concrete().columns.items()}
    with serving(concrete(columns=short)) as port:
        point_client(port)
        with pytest.raises(
            DataError, match=r"100 rows and 8 input columns, but 'concrete' has 1030 and 8: another table"
        ):
            load("concrete")


def test_another_response_is_refused(point_client):
    with serving(concrete(columns=numbers(1030, 8) | {"strength": with_mean(1030, 35.5)})) as port:
        point_client(port)
        with pytest.raises(DataError, match=r"targets of OpenML 44959 are not those of 'concrete': .*35.5.*35.817961"):
            load("concrete")


def test_other_classes_are_refused(point_client):
    table = sonar()
    table.columns["Class"][0] = "Mine"
    with serving(table) as port:
        point_client(port)
        with pytest.raises(DataError, match=r"not those of 'sonar': .*'Rock': 96.*expected .*'Rock': 97"):
            load("sonar")


def test_a_table_without_its_target_is_refused(point_client):
    columns = numbers(768, 8) | {"load": with_mean(768, 22.307201)}
    with serving(Served(1472, columns, ["load"])) as port:
        point_client(port)
        with pytest.raises(DataError, match="OpenML 1472 has no column 'y1', the target of 'energy'"):
            load("energy")


@pytest.mark.parametrize("status", [404, 500])
def test_an_error_of_the_server_is_one_sentence_with_a_remedy(point_client, status):
    with serving(concrete(status=status)) as port:
        point_client(port)
        said = rf"'concrete' could not be fetched from OpenML \(id 44959\): .*{status}.*; {REMEDY}$"
        with pytest.raises(DataError, match=said):
            load("concrete")


def test_an_id_that_openml_does_not_know_is_said(point_client):
    with serving(concrete(status=412)) as port:
        point_client(port)
        with pytest.raises(
            DataError, match=r"OpenML's answer for 'concrete' \(id 44959\) cannot be used: .*44959 not found.*; check"
        ):
            load("concrete")


def test_a_download_that_is_not_what_was_announced_is_refused(point_client):
    with serving(concrete(md5="0" * 32)) as port:
        point_client(port)
        with pytest.raises(DataError, match=r"cannot be used: .*md5 checksum .* does not match"):
            load("concrete")


def test_no_network_is_one_sentence_with_a_remedy(point_client):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        point_client(unused.getsockname()[1])
        said = rf"'boston' could not be fetched from OpenML \(id 531\): .*refused.*; {REMEDY}$"
        with pytest.raises(DataError, match=said):
            load("boston")


def test_a_server_that_never_answers_is_given_up(point_client, monkeypatch):
    monkeypatch.setattr("corners.data.sources.openml.TIMEOUT_SECONDS", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        point_client(silent.getsockname()[1])
        hang_up = threading.Timer(20.0, lambda: silent.shutdown(socket.SHUT_RDWR))  # a failure, not a hang
        hang_up.start()
        with pytest.raises(DataError, match=r"'boston' could not be fetched .*timed out"):
            load("boston")
        hang_up.cancel()
        hang_up.join()
    assert socket.getdefaulttimeout() is None


def test_tables_without_an_id_and_unknown_ones():
    with pytest.raises(DataError, match="OpenML has no table that is known to be 'yacht'; set CORNERS_DATA"):
        OpenMLSource().load("yacht")
    with pytest.raises(UnknownNameError, match=r"no OpenML table is called 'bostn'. Did you mean 'boston'"):
        OpenMLSource().load("bostn")


def test_a_cache_folder_can_be_given(point_client, tmp_path):
    with serving(concrete()) as port:
        point_client(port)
        OpenMLSource(str(tmp_path / "own")).load("concrete")
    assert (tmp_path / "own" / "openml").is_dir()
    assert not (tmp_path / "cache").exists()
