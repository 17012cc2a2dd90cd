"""Cells of a study: what their fingerprint depends on, and the options of their methods."""

from dataclasses import fields, make_dataclass

import pytest

from corners.data.dataset import Dataset
from corners.data.loading import load
from corners.errors import SpecError
from corners.study import make_method, method_names
from corners.study.cells import fingerprint, spec_facts
from tests.architecture.sources import in_fresh_python
from tests.corners.study.studies import HEAD, ROWS, small_study, written


def prints(tmp_path, text=HEAD + ROWS, data=None, kind="random", position=0) -> str:
    cell = small_study(tmp_path, text).cells()[position]
    return fingerprint(cell, data or load(cell.dataset), kind)


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("max_steps = 4", "max_steps = 5") + ROWS,
        HEAD.replace("hidden = [3]", "hidden = [4]") + ROWS,
        HEAD.replace("seeds = 3", "seeds = 1") + ROWS,
        HEAD.replace("seeds = 3", "seeds = 3\nfirst_seed = 6") + ROWS,
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nmethod = "map"', 1),
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\noptions = { dtype = "float32" }', 1),
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nprotocol = { jitter = 0.1 }', 1),
        HEAD + "[dataset.linear]\nbackbone = 'identity'\n" + ROWS,
    ],
)
def test_what_determines_the_numbers_changes_the_fingerprint(tmp_path, text):
    assert prints(tmp_path, text) != prints(tmp_path)


def test_so_do_the_table_and_the_way_to_split(tmp_path):
    data = load("linear")
    other = Dataset(data.inputs, data.targets + 1e-9, data.name)
    assert len({prints(tmp_path), prints(tmp_path, data=other), prints(tmp_path, kind="predefined")}) == 3


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("Does it run?", "Is it fast?") + ROWS,
        HEAD.replace('title = "Small"', 'title = "Tiny"') + ROWS,
        HEAD + ROWS.replace('"scroll_none"', '"scroll_none"\nlabel = "None"\npublished = "Bethe"', 1),
        HEAD + ROWS.replace('"scroll_none"', '"plain"\nmethod = "scroll_none"', 1),
        HEAD.replace("max_steps = 4, patience = 4", "patience = 4, max_steps = 4") + ROWS,
        HEAD.replace(", max_steps = 4", "") + ROWS.replace('_none"', '_none"\nprotocol = { max_steps = 4 }', 1),
    ],
)
def test_what_does_not_leaves_it(tmp_path, text):
    assert prints(tmp_path, text) == prints(tmp_path)


def test_a_choice_that_nobody_has_made_leaves_earlier_results():
    """A later version may add a field; where it says nothing, cells of before are still what they were."""
    kind = ("Spec", [("rate", float)])
    before, after = make_dataclass(*kind), make_dataclass(kind[0], [*kind[1], ("tied", float | None, None)])
    assert spec_facts(before(1.0)) == spec_facts(after(1.0)) != spec_facts(after(1.0, 0.0))


def test_it_is_the_same_in_every_process(tmp_path):
    written(tmp_path)
    code = f"""
from corners.data.loading import load
from corners.study.cells import fingerprint
from corners.study.spec import read_study
print(fingerprint(read_study({str(tmp_path / "small")!r}).cells()[0], load("linear"), "random"))
"""
    done = in_fresh_python(code)
    assert done.stdout.strip() == prints(tmp_path), done.stderr


@pytest.mark.parametrize("name", method_names())
def test_every_method_reads_as_what_it_is(name):
    """An address in memory would make every result stale."""
    method = make_method(name)
    assert all(" at 0x" not in repr(getattr(method, each.name)) for each in fields(method))


def recipe_of(tmp_path, method: str, options: str):
    """The recipe of a row with options on the first table of the study."""
    text = f"{HEAD}[[rows]]\nname = 'own'\nmethod = '{method}'\noptions = {options}\n"
    return small_study(tmp_path, text).cells()[0].recipe(load("linear"))


def test_options_become_fields_of_the_method(tmp_path):
    assert recipe_of(tmp_path, "nuts", "{ draws = 600 }").method.draws == 600
    laplace = recipe_of(tmp_path, "laplace", "{ precision_grid = [1, 2.5] }").method
    assert laplace.precision_grid == (1.0, 2.5)
    vbll = [
        recipe_of(
            tmp_path, "vbll", f"{{ start = 'as_published', regularisation_weight = {given} }}"
        ).method.regularisation_weight
        for given in ("2", "[0.1, 1]", '"none"')
    ]
    assert vbll == [2.0, (0.1, 1.0), None]


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "nuts",
            "{ drows = 600 }",
            "row 'own', options: no option of nuts is called 'drows'. Did you mean 'draws'.*chains",
        ),
        ("nuts", "{ draws = 600.0 }", "row 'own', options, draws: got 600.0; allowed is a whole number"),
        ("nuts", "{ draws = true }", "draws: got True; allowed is a whole number"),
        ("nuts", "{ name = 'mine' }", "no option of nuts is called 'name'"),
        ("map", "{ backbone = 'mlp' }", "no option of map is called 'backbone'"),
        ("map", "{ dtype = 3 }", "dtype: got 3; allowed is a text"),
        ("map", "{ scale_targets = 1 }", "scale_targets: got 1; allowed is true or false"),
        ("map", "{ penalty_grid = 1.0 }", "penalty_grid: got 1.0; allowed is a list, each a number"),
        ("laplace", "{ structure = 'round' }", "row 'own', options structure: .*round"),
        ("sequential", "{ batch_size = 8 }", "row 'own', options batch_size: mini-batches are for"),
    ],
)
def test_options_that_a_method_does_not_take(tmp_path, method, options, message):
    with pytest.raises(SpecError, match=message):
        recipe_of(tmp_path, method, options)
