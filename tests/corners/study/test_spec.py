"""Study files: what they mean, and that every mistake is refused by its key, with what is allowed."""

import pickle
import re

import pytest

from corners.data.loading import load
from corners.errors import CornersError, DataError, SpecError
from corners.protocols import get_protocol
from corners.study.spec import read_study
from tests.corners.study.studies import HEAD, ROWS, small_study, written

FULL = """
name = "small"
title = "A title"
question = "A question?"
protocol = { base = "paper_v1", jitter = 1e-3, precision_shape = "none", penalty_grid = [1, 0.5] }
datasets = ["linear", "wine", "diabetes"]
seeds = 20
first_seed = 3
chunk = 8
[dataset.wine]
protocol = { batch_size = 512, jitter = 1e-4 }
backbone = "identity"
seeds = 5
chunk = 2
rows = ["dense", "dense_2l"]
published_name = "wine_q"
[[rows]]
name = "dense"
method = "scroll_dense"
label = "Dense"
published = "Bethe-FG"
[[rows]]
name = "dense_2l"
method = "scroll_dense"
hidden = [50, 40]
protocol = { jitter = 1e-5 }
seeds = { linear = 4, wine = 7 }
published_tables = { nll = "two_layers" }
[[rows]]
name = "map"
datasets = ["linear"]
seeds = 6
[[rows]]
name = "scroll_none"
[published]
nll = "regression_nll"
[[contrasts]]
title = "Two minus one"
quantity = "nll"
published = "two_minus_one"
pairs = [["dense_2l", "dense"]]
"""


@pytest.fixture
def full(tmp_path):
    return small_study(tmp_path, FULL)


def test_a_whole_file(full, tmp_path):
    assert (full.name, full.title, full.question) == ("small", "A title", "A question?")
    assert full.seeds == tuple(range(3, 23)) and full.chunk == 8 and full.hidden == (50,)
    assert [row.name for row in full.rows] == ["dense", "dense_2l", "map", "scroll_none"]
    assert full.row("dense").label == "Dense" and full.row("map").label == "map"
    assert full.row("dense_2l").published_tables == {"nll": "two_layers"} and full.published == {
        "nll": "regression_nll"
    }
    assert full.dataset("wine").published_name == "wine_q" and full.dataset("linear").published_name is None
    contrast = full.contrasts[0]
    assert (contrast.title, contrast.quantity, contrast.published) == ("Two minus one", "nll", "two_minus_one")
    assert contrast.pairs == (("dense_2l", "dense"),)
    assert full.folder == tmp_path / "small"


def test_the_folder_and_the_file_are_the_same_study(full, tmp_path):
    assert read_study(tmp_path / "small" / "study.toml") == full == read_study(str(tmp_path / "small"))


def test_rows_of_a_data_set(full):
    assert [row.name for row in full.rows_of("wine")] == ["dense", "dense_2l"]
    assert [row.name for row in full.rows_of("linear")] == ["dense", "dense_2l", "map", "scroll_none"]
    assert [row.name for row in full.rows_of("diabetes")] == ["dense", "dense_2l", "scroll_none"]


@pytest.mark.parametrize(
    ("dataset", "row", "count"),
    [
        ("linear", "scroll_none", 20),  # the study's
        ("linear", "map", 6),  # the row's
        ("wine", "dense", 5),  # the data set's
        ("linear", "dense_2l", 4),  # the row's for this data set
        ("wine", "dense_2l", 7),  # which has the last word
        ("diabetes", "dense_2l", 20),
    ],
)
def test_seeds(full, dataset, row, count):
    assert full.seeds_of(dataset, row) == tuple(range(3, 3 + count)) == full.seeds_of(dataset, full.row(row))


def test_of_two_numbers_of_seeds_the_smaller_one_counts(tmp_path):
    text = HEAD + "[dataset.linear]\nseeds = 9\n[dataset.sine]\nseeds = 2\n[[rows]]\nname = 'map'\nseeds = 4\n"
    study = small_study(tmp_path, text)
    assert [len(study.seeds_of(name, "map")) for name in study.datasets] == [4, 2]


def test_protocols_of_cells(full):
    study, wine, row = (
        full.protocol_of(*place) for place in (("linear", "dense"), ("wine", "dense"), ("wine", "dense_2l"))
    )
    assert study.jitter == 1e-3 and study.precision_shape is None and study.penalty_grid == (1.0, 0.5)
    assert study.learning_rate == get_protocol("paper_v1").learning_rate
    assert (wine.jitter, wine.batch_size) == (1e-4, 512)
    assert (row.jitter, row.batch_size) == (1e-5, 512)


def test_hidden_layers(full):
    assert full.hidden_of("linear", "dense") == (50,)
    assert full.hidden_of("linear", "dense_2l") == (50, 40)
    assert full.hidden_of("wine", "dense_2l") == ()


def test_cells_are_chunks_of_seeds_that_partition_them(full):
    cells = full.cells()
    own = [cell for cell in cells if (cell.dataset, cell.row) == ("linear", "scroll_none")]
    assert [cell.name for cell in own] == [f"linear--scroll_none--{ends}" for ends in ("3-10", "11-18", "19-22")]
    for dataset in full.datasets:
        for row in full.rows_of(dataset):
            found = [cell for cell in cells if (cell.dataset, cell.row) == (dataset, row.name)]
            assert tuple(seed for cell in found for seed in cell.seeds) == full.seeds_of(dataset, row)
            assert {len(cell.seeds) for cell in found[:-1]} <= {full.dataset(dataset).chunk or 8}
    assert len({cell.name for cell in cells}) == len(cells)


def test_where_the_results_go(tmp_path):
    assert small_study(tmp_path).runs == tmp_path / ".runs" / "small"
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "mine.toml").write_text(HEAD + ROWS, encoding="utf-8")
    assert read_study(other / "mine.toml").runs == other / ".runs"


def test_a_study_goes_to_other_processes(full):
    cell = full.cells()[0]
    assert cell.recipe(load(cell.dataset)).method.name == "scroll_dense"
    assert pickle.loads(pickle.dumps(cell)) == cell


ROW = "[[rows]]\nname = 'map'\n"
MISTAKES = {
    "colour = 1": r"no key is called 'colour'\. Known: name, title",
    "sedes = 3": r"no key is called 'sedes'\. Did you mean 'seeds'",
    "datasets = []": "at least one data set",
    "datasets = ['linera']": "datasets: no data set is called 'linera'. Did you mean 'linear'",
    "datasets = ['wine', 'wine_red']": "'wine_red' is there twice",
    "datasets = 'linear'": r"datasets: got 'linear'; allowed is a list, each a text",
    "name = 'A Study'": "name: small letters.*got 'A Study'",
    "seeds = 0": "seeds: must be at least 1; got 0",
    "seeds = true": "seeds: got True; allowed is a whole number",
    "first_seed = -1": "first_seed must be at least 0",
    "tolerance = 0.0": "tolerance is in nats and must be positive",
    "tolerance = 'near'": r"tolerance: got 'near'; allowed is a number",
    "chunk = 0": "chunk: must be at least 1",
    "hidden = [0]": r"hidden: positive numbers of units.*got \[0\]",
    "hidden = 50": "hidden: got 50; allowed is a list, each a whole number",
    "protocol = 'paper_v9'": "no protocol is called 'paper_v9'.*Known: .*default",
    "protocol = { base = 3 }": "protocol, base: got 3",
    "protocol = { pacience = 3 }": "protocol: no choice of a protocol is called 'pacience'. Did you mean 'patience'",
    "protocol = { patience = 2.5 }": "protocol, patience: got 2.5; allowed is a whole number",
    "protocol = { batch_size = 'all' }": "protocol, batch_size: got 'all'; allowed is \"none\" or a whole number",
    "protocol = { penalty_grid = ['a'] }": "penalty_grid: .*allowed is a list, each a number",
    "protocol = { dtype = 'half' }": "dtype must be 'float64' or 'float32'",
    "protocol = { name = 'mine' }": "no choice of a protocol is called 'name'",
    "protocol = { jitter = -1.0 }": "jitter must be at least 0",
    "published = { nll = 3 }": "published, nll: got 3; allowed is a text",
    "title = ": "is no TOML",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_of_the_study(tmp_path, line):
    key = line.partition(" ")[0]
    head = "".join(each + "\n" for each in HEAD.splitlines() if each.partition(" ")[0] != key)
    with pytest.raises(CornersError, match=MISTAKES[line]) as raised:
        small_study(tmp_path, f"{head}{line}\n{ROW}")
    assert str(raised.value).startswith(str(tmp_path / "small" / "study.toml"))


@pytest.mark.parametrize("key", ["name", "title", "question", "datasets", "seeds"])
def test_what_is_missing_is_named(tmp_path, key):
    head = "".join(each + "\n" for each in HEAD.splitlines() if each.partition(" ")[0] != key)
    with pytest.raises(SpecError, match=f"the key '{key}' is missing"):
        small_study(tmp_path, head + ROW)


BELOW = {
    "[[rows]]\nlabel = 'x'": "the key 'name' is missing",
    "[[rows]]\nname = 'bla'": "row 'bla', method: no method is called 'bla'.*scroll_dense",
    "[[rows]]\nname = 'a'\nmethod = 'scroll_ful'": "row 'a', method: .*Did you mean 'scroll_",
    "[[rows]]\nname = 'map'\noptoins = {}": "row 'map': no key of a row is called 'optoins'. Did you mean 'options'",
    "[[rows]]\nname = 'a--b'\nmethod = 'map'": "row 'a--b', name: small letters",
    "[[rows]]\nname = 'a/b'\nmethod = 'map'": "row 'a/b', name: small letters",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\ndatasets = ['wine']": "row 'a_1', datasets: no data set of the study",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\ndatasets = []": "row 'a_1' runs on no data set",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\nseeds = { wine = 2 }": "row 'a_1', seeds: no data set of the study",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\nseeds = { sine = 0 }": "row 'a_1', seeds, sine: must be at least 1",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\nhidden = [-1]": "row 'a_1', hidden",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\nprotocol = { jitter = 'x' }": "row 'a_1', protocol, jitter: got 'x'",
    "[[rows]]\nname = 'a_1'\nmethod = 'map'\nprotocol = { dtype = 'x' }": "protocol of row 'a_1' on 'linear': dtype",
    "[[rows]]\nname = 'map'": "rows: 'map' is there twice",
    "[dataset.wine]\nseeds = 2": "dataset: no data set of the study is called 'wine'",
    "[dataset.sine]\nbackbon = 'mlp'": "dataset.sine: no key of a data set.*Did you mean 'backbone'",
    "[dataset.sine]\nbackbone = 'cnn'": "dataset.sine: no backbone is called 'cnn'. Known: mlp, identity",
    "[dataset.sine]\nrows = ['mpa']": "dataset.sine, rows: no row is called 'mpa'. Did you mean 'map'",
    "[dataset.sine]\nrows = []": "data set 'sine' has no rows",
    "[dataset.sine]\nchunk = 0": "dataset.sine, chunk: must be at least 1",
    "[[contrasts]]\ntitle = 'x'\nquantity = 'nll'": "contrast 'x': the key 'pairs' is missing",
    "[[contrasts]]\ntitle = 'x'\nquantity = 'nll'\npairs = [['map', 'mpa']]": "pairs: no row is called 'mpa'",
    "[[contrasts]]\ntitle = 'x'\nquantity = 'nll'\npairs = [['map']]": "pairs: .*a list, each a list of 2, each a text",
}


@pytest.mark.parametrize("text", BELOW)
def test_mistakes_below(tmp_path, text):
    with pytest.raises(CornersError, match=re.compile(BELOW[text], re.DOTALL)):
        small_study(tmp_path, f"{HEAD}{ROW}{text}\n")


def test_no_such_study(tmp_path):
    with pytest.raises(DataError, match=r"give a study file, or a folder with study\.toml"):
        read_study(tmp_path / "nowhere")


def test_reading_is_light(tmp_path):
    """A report is rendered without training libraries."""
    from tests.architecture.sources import in_fresh_python

    written(tmp_path)
    code = f"""
from corners.study.spec import read_study
read_study({str(tmp_path / "small")!r}).cells()
heavy = {{"torch", "sklearn", "pymc", "dask", "distributed"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = in_fresh_python(code)
    assert done.returncode == 0, done.stderr


# Heads


HEADS = """
head = "student_t"
[dataset.sine]
head = "gaussian"
head_options = { noise_scale = 0.5 }
[[rows]]
name = "scroll_none"
[[rows]]
name = "heavy"
method = "scroll_diagonal"
head = "student_t"
head_options = { df = 7 }
"""


def likelihoods(study) -> dict:
    return {
        (cell.dataset, cell.row): cell.recipe(load(cell.dataset)).method.corner.likelihood
        for cell in study.cells()
        if cell.seeds[0] == 5
    }


def test_the_head_is_the_rows_then_the_data_sets_then_the_studys(tmp_path):
    made = likelihoods(small_study(tmp_path, HEAD + HEADS))
    assert {place: (each.name, getattr(each, "df", None)) for place, each in made.items()} == {
        ("linear", "scroll_none"): ("student_t", 4.0),
        ("sine", "scroll_none"): ("gaussian", None),
        ("linear", "heavy"): ("student_t", 7.0),
        ("sine", "heavy"): ("student_t", 7.0),
    }
    assert made["sine", "scroll_none"].noise_scale == 0.5


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("head = 'probitt'", r"row 'own', head: no head is called 'probitt'.*Did you mean 'probit'"),
        ("head = 3", "row 'own', head: got 3; allowed is a text"),
        ("method = 'map'\nhead = 'student_t'", "row 'own': map has a head of its own"),
        ("method = 'map'\nshared_precision = true", "row 'own': map has a head of its own"),
    ],
)
def test_heads_that_are_refused_when_the_file_is_read(tmp_path, added, message):
    method = "" if "method" in added else "method = 'scroll_none'\n"
    with pytest.raises(CornersError, match=message):
        small_study(tmp_path, f"{HEAD}[[rows]]\nname = 'own'\n{method}{added}\n")


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("head = 'probit'", r"row 'own' on 'linear': head 'probit' is not for regression; .*gaussian, student_t"),
        ("head = 'student_t'\nhead_options = { nu = 3 }", "row 'own' on 'linear': head_options: no option of head"),
        ("shared_precision = true", "row 'own' on 'linear': .*one here"),
    ],
)
def test_heads_that_are_refused_for_the_table(tmp_path, added, message):
    cell = small_study(tmp_path, f"{HEAD}[[rows]]\nname = 'own'\nmethod = 'scroll_none'\n{added}\n").cells()[0]
    with pytest.raises(SpecError, match=message):
        cell.recipe(load("linear"))


def test_a_row_of_another_task_names_the_methods_for_the_table(tmp_path):
    cell = small_study(tmp_path, HEAD.replace('"linear"', '"iris"') + "[[rows]]\nname = 'map'\n").cells()[0]
    with pytest.raises(SpecError, match=r"row 'map' on 'iris': 'map' is for regression tables.*softmax"):
        cell.recipe(load("iris"))
