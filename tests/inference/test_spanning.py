"""The plates of a factor: given, or those of what it holds; and which plate an index runs over."""

import numpy as np
import pytest

from inference.errors import SpecError
from inference.spanning import span
from inference.structure import Known, Plate, Variable

ROW, COLUMN, EXPERT, SCHOOL = Plate("row", 3), Plate("column", 3), Plate("expert", 2), Plate("school", 2)
W, Z = Variable("w", "real", (EXPERT,)), Variable("z", "real", (ROW, EXPERT))
EFFECT, SPREAD = Variable("effect", "real", (SCHOOL,)), Variable("spread", "positive", (EXPERT,))


def test_without_plates_it_is_repeated_over_those_of_what_it_holds():
    assert span("f", {"a": W, "b": 1.0}, "y", None)[2] == (EXPERT,)
    assert span("f", {"a": Known("x", np.zeros(3), (ROW,)), "b": W}, "y", None)[2] == (ROW, EXPERT)
    assert span("f", {"a": 1.0}, Z, None)[2] == (ROW, EXPERT)
    assert span("f", {"a": np.zeros(3)}, "y", None)[2] == ()


def test_plates_that_are_given_are_taken_in_their_order():
    assert span("f", {"a": W}, "y", (EXPERT, ROW))[2] == (EXPERT, ROW)
    assert span("f", {}, "y", ROW)[2] == (ROW,)


def test_a_plate_of_what_it_holds_may_not_be_left_out():
    with pytest.raises(SpecError, match=r"f is over plates \(row=3\), but what it holds has also \(expert=2\)"):
        span("f", {"a": W}, "y", ROW)
    with pytest.raises(SpecError, match=r"over plates \(no plates\), but what it holds has also \(row=3, expert=2\)"):
        span("f", {"a": Z}, "y", ())


def test_an_index_runs_over_the_plate_of_its_length():
    inputs, output, plates = span("f", {"a": EFFECT[[0, 1, 1]], "b": W}, "y", (ROW, EXPERT))
    assert inputs["a"].plates == (ROW,) and inputs["b"] is W and output == "y" and plates == (ROW, EXPERT)
    assert span("f", {}, EFFECT[[0, 1, 1]], ROW)[1].plates == (ROW,)


def test_without_plates_an_index_makes_one():
    assert span("f", {"a": EFFECT[[0, 1, 1]]}, "y", None)[2] == (Plate("school[3]", 3),)


def test_two_indices_of_one_length_along_one_plate_run_together():
    other = Variable("other", "real", (SCHOOL,))
    assert span("f", {"a": EFFECT[[0, 1, 1]], "b": other[[1, 0, 0]]}, "y", None)[2] == (Plate("school[3]", 3),)


def test_an_index_that_fits_two_plates_is_asked_about():
    with pytest.raises(SpecError, match=r"fits the plates \(row=3, column=3\); say which: effect\.at\('school', index"):
        span("f", {"a": EFFECT[[0, 1, 1]]}, "y", (ROW, COLUMN))
    named = EFFECT.at("school", [0, 1, 1], onto=COLUMN)
    assert span("f", {"a": named}, "y", (ROW, COLUMN))[0]["a"].plates == (COLUMN,)


def test_an_index_that_fits_no_plate_is_refused():
    with pytest.raises(SpecError, match=r"what it holds has also \(school\[4\]=4\)"):
        span("f", {"a": EFFECT[[0, 1, 1, 0]]}, "y", ROW)


def test_indices_into_two_plates_are_not_multiplied_out_by_accident():
    views = {"a": EFFECT[[0, 1, 1]], "b": SPREAD[[0, 1, 1]]}
    with pytest.raises(SpecError, match="indices into effect and spread run over one plate; pass plates="):
        span("f", views, "y", None)
    assert span("f", views, "y", ROW)[2] == (ROW,)


def test_a_single_place_has_no_plate_to_name():
    assert span("f", {"a": EFFECT[0]}, "y", ROW)[0]["a"].plates == ()
