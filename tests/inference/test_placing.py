"""Known values: what counts as numbers, what they are called, which plates they have, and what a port refuses."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from inference.distributions import Normal
from inference.errors import DataError, SpecError
from inference.placing import Labels, as_array, check_values, place, plates_of, sizes_said
from inference.structure import Known, Plate, Variable

NAN = np.nan
ROW, EXPERT, FOLD = Plate("row", 5), Plate("expert", 3), Plate("fold", 3)


class Arraylike:
    """What has ``__array__``, as frames and tensors do."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2], dtype=dtype)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3.0),
        ([1, 2], [1.0, 2.0]),
        ([1, None], [1.0, NAN]),
        ((1.5, np.nan), [1.5, NAN]),
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array([1, 2], dtype=np.int8), [1.0, 2.0]),
        (np.array([1, 2], dtype=np.float32), [1.0, 2.0]),
        (
            np.array([Fraction(1, 2), Decimal("0.25"), np.int64(3), True, None], dtype=object),
            [0.5, 0.25, 3.0, 1.0, NAN],
        ),
        (np.ma.array([1.0, 2.0], mask=[False, True]), [1.0, NAN]),
        (np.ma.array([1, 2], mask=[False, True]), [1.0, NAN]),
        (np.ma.array([1.0, np.inf], mask=[False, True]), [1.0, NAN]),
        (np.ma.array([1.0, 2.0]), [1.0, 2.0]),
        (np.ma.masked, NAN),
        (pd.Series([1, 2]), [1.0, 2.0]),
        (pd.Series([1, pd.NA], dtype="Int64"), [1.0, NAN]),
        (pd.Series([1.5, pd.NA], dtype="Float64"), [1.5, NAN]),
        (pd.Series([True, pd.NA], dtype="boolean"), [1.0, NAN]),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}), [[1.0, 3.0], [2.0, 4.0]]),
        (Arraylike(), [1.0, 2.0]),
        ([], []),
    ],
)
def test_numbers_become_float64_with_nan_where_they_are_missing(given, expected):
    array = as_array(given, "y")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.asarray(expected, dtype=np.float64))


def test_float64_is_taken_as_it_is():
    values = np.arange(3.0)
    assert as_array(values, "y") is values


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a", "b"], "'y' holds <U1 values"),
        (["1", "2"], "'y' holds <U1 values"),
        (np.array([1, "2"], dtype=object), r"'y' holds '2' \(str\) at \(1,\)"),
        (pd.Series(["a"]), "'y' holds 'a'|'y' holds .*str"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), r"'y' holds 'x' \(str\) at \(0, 1\)"),
        ([1 + 2j], "'y' holds complex128 values"),
        (np.array(["2020-01-01"], dtype="M8[D]"), r"'y' holds datetime64\[D\] values"),
        ([[1, 2], [3]], "'y' makes no array"),
        ([1.0, np.inf], r"'y' is infinite at \(1,\)"),
        ([[1.0], [-np.inf]], r"'y' is infinite at \(1, 0\)"),
        (np.inf, "'y' is infinite; numbers must be finite"),
        ([{}, {}], r"'y' holds {} \(dict\) at \(0,\)"),
    ],
)
def test_what_is_no_finite_number_is_named_with_its_place(given, said):
    with pytest.raises(DataError, match=said):
        as_array(given, "y")


def test_plates_are_plates_once_each():
    assert plates_of(ROW) == (ROW,) and plates_of([ROW, EXPERT]) == (ROW, EXPERT) and plates_of(()) == ()
    assert sizes_said((ROW, EXPERT)) == "row=5, expert=3" and sizes_said(()) == "no plates"
    for wrong in ("row", 3, ("row",), [ROW, 3]):
        with pytest.raises(SpecError, match=r"made by m\.plate\(name, size\); got"):
            plates_of(wrong)
    with pytest.raises(SpecError, match=r"named twice in \['row', 'row'\]"):
        plates_of((ROW, ROW))


def test_an_array_is_called_as_the_datum_it_is():
    y, other = np.zeros(3), np.zeros(3)
    labels = Labels({"y": y, "tau": 0.3, "other": other})
    assert labels.of(y, "yhat.mean") == "y" and labels.of(y, "z") == "y"
    assert labels.of(other, "z") == "other"
    assert labels.of(0.3, "z.tau") in ("tau", "z.tau")


def test_an_array_that_is_no_datum_is_called_after_its_first_place():
    labels, made, again = Labels({}), np.zeros(3), np.zeros(3)
    assert labels.of(made, "y") == "y" and labels.of(made, "elsewhere") == "y"
    assert labels.of(again, "y") == "y#2", "two arrays never share a name: missing values are predicted by name"


def test_a_datum_keeps_its_name_from_what_was_made_of_it():
    y = np.zeros(3)
    first = Labels({"y": y})
    assert first.of(y, "x") == "y" and first.of(y + 1.0, "y") == "y#2"
    late = Labels({"y": y})
    assert late.of(y + 1.0, "y") == "y"
    with pytest.raises(SpecError, match=r"datum 'y' is used after other values .* m\.data\(name, values"):
        late.of(y, "x")


@pytest.mark.parametrize(
    ("shape", "event_ndim", "plates", "found", "event"),
    [
        ((), 0, (ROW, EXPERT), (), ()),
        ((5,), 0, (ROW, EXPERT), (ROW,), ()),
        ((5, 3), 0, (ROW, EXPERT), (ROW, EXPERT), ()),
        ((5, 2), 1, (ROW, EXPERT), (ROW,), (2,)),
        ((2,), 1, (ROW, EXPERT), (), (2,)),
        ((5, 3, 2), 1, (ROW, EXPERT), (ROW, EXPERT), (2,)),
        ((3,), 0, (EXPERT, FOLD), (EXPERT,), ()),
    ],
)
def test_leading_axes_are_the_leading_plates(shape, event_ndim, plates, found, event):
    held = place("letter 'f', port p", "x", np.zeros(shape), "real", event_ndim, plates)
    assert held.plates == found and held.event == event and held.label == "x"


@pytest.mark.parametrize(
    ("shape", "plates", "said"),
    [
        ((4,), (ROW,), r"plate axes \(4,\) does not begin with the plates \(row=5\); give it that shape"),
        ((4,), (), r"the plates \(no plates\); give it that shape, or pass plates="),
        ((3,), (ROW, EXPERT), r"say which they are: m\.data\('x', values, plates=expert\)"),
        ((3, 5), (ROW, EXPERT), r"plate axes \(3, 5\) does not begin with the plates \(row=5, expert=3\)"),
        ((3,), (ROW, EXPERT, FOLD), r"plates=expert\) or m\.data\('x', values, plates=fold\)"),
        ((3, 3), (ROW, EXPERT, FOLD), r"plates=\(expert, fold\)\)"),
        ((5, 1), (ROW,), r"plate axes \(5, 1\) does not begin with"),
    ],
)
def test_other_shapes_are_refused_with_what_to_write(shape, plates, said):
    with pytest.raises(SpecError, match=said):
        place("letter 'f', port p", "x", np.zeros(shape), "real", 0, plates)


def test_what_an_axis_means_does_not_depend_on_sizes_that_agree():
    """Three rows and three experts: an array of experts is refused at any other size, so it is not taken for rows."""
    square = (Plate("row", 3), EXPERT)
    assert place("f", "x", np.zeros(3), "real", 0, square).plates == (square[0],)
    named = Known("x", np.zeros(3), (EXPERT,))
    assert place("f", "x", named, "real", 0, square).plates == (EXPERT,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Normal(0.0, 1.0), r"got Normal\(mean=0, var=1\); make it a variable, m\.prior"),
        ("mu", "got 'mu'; pass the variable that the letter returned"),
        ([Variable("a", "real", ()), Variable("b", "real", ())], "one variable goes to one port"),
        (ROW, "pass a variable, a number or an array"),
        (np.sin, "pass a variable, a number or an array"),
        (None, "got None; pass a variable"),
    ],
)
def test_what_is_no_array_is_answered_with_what_to_write(value, said):
    with pytest.raises(SpecError, match=said):
        place("letter 'f', port p", "x", value, "real", 0, ())


def test_a_vector_port_takes_no_number():
    with pytest.raises(SpecError, match=r"takes vectors, got an array of shape \(\)"):
        place("letter 'f', port p", "x", 1.0, "real", 1, ())


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ([1.0, 0.0], "positive", r"'x' is 0 at \(1,\); a positive value is above 0"),
        ([-2.0, 1.0], "positive", r"'x' is -2 at \(0,\)"),
        (-2.0, "positive", "'x' is -2; a positive value"),
        ([0.5, 1.0], "probability", r"'x' is 1 at \(1,\); a probability value is between 0 and 1"),
        ([0.0, 0.5], "binary", r"'x' is 0.5 at \(1,\); a binary value is 0 or 1"),
        ([1.0, NAN], "real", r"'x' is NaN at \(1,\), and a value may not be missing here; drop or impute"),
    ],
)
def test_values_that_a_port_refuses_are_named_with_their_place(values, kind, said):
    array = np.asarray(values)
    with pytest.raises(DataError, match=said):
        check_values("f", Known("x", array, (Plate("row", 2),) * array.ndim, (), kind), may_miss=False)


@pytest.mark.parametrize(("values", "kind"), [([1.0, NAN], "positive"), ([0.0, NAN, 1.0], "binary"), ([], "positive")])
def test_values_that_may_be_missing_pass(values, kind):
    array = np.asarray(values)
    check_values("f", Known("x", array, (Plate("row", len(array)),), (), kind), may_miss=True)
