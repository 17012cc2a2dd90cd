"""Laws of every data source, found through the registry: a new one is tested without a line here."""

import inspect
import pickle

import pytest

from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import CornersError, DataError, UnknownNameError


@pytest.fixture(params=SOURCES.names())
def source_class(request):
    return SOURCES.get(request.param)


def entries(source):
    try:
        return source.entries()
    except DataError:  # the example of the folder source has no folder
        return ()


def test_the_four_sources_are_found_in_the_order_of_the_search():
    assert {"folder", "embedded", "synthetic", "openml"} <= set(SOURCES.names())
    by_order = sorted(SOURCES.names(), key=lambda name: SOURCES.get(name).order)
    assert by_order[0] == "folder"
    assert by_order[-1] == "openml"


def test_a_source_is_a_small_value_with_a_summary(source_class):
    source = source_class.example()
    assert isinstance(source, Source)
    assert pickle.loads(pickle.dumps(source)) == source
    assert source_class.__doc__
    default = source_class.default()
    assert default is None or isinstance(default, source_class)


def test_entries_are_well_formed_and_unique(source_class):
    found = entries(source_class.example())
    assert all(isinstance(entry, Entry) for entry in found)
    assert len({entry.name for entry in found}) == len(found)
    assert all(entry.n > 0 and entry.d > 0 for entry in found)
    assert all(entry.task in ("regression", "classification", "count") for entry in found)


def test_options_are_keywords_with_defaults(source_class):
    parameters = list(inspect.signature(source_class.example().load).parameters.values())
    assert parameters[0].name == "name"
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters[1:])


def test_an_unknown_name_is_refused_in_words(source_class):
    with pytest.raises(CornersError) as refusal:
        source_class.example().load("no_such_table")
    if entries(source_class.example()):
        assert isinstance(refusal.value, UnknownNameError)
        assert all(entry.name in str(refusal.value) for entry in entries(source_class.example()))


@pytest.mark.parametrize("name", ["embedded", "synthetic"])
def test_what_is_listed_is_what_is_loaded(name):
    source = SOURCES.get(name).example()
    for entry in source.entries():
        data = source.load(entry.name)
        assert (data.name, data.task, data.n, data.d) == (entry.name, entry.task, entry.n, entry.d)
        assert data.source
