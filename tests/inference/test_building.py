"""Models: their arguments, what is bound, and the graph they write on given data."""

import numpy as np
import pandas as pd
import pytest

import inference as P
from inference.building import Builder, Model, missing, model
from inference.errors import DataError, SpecError
from inference.structure import Known

Y = np.array([1.0, 2.0, 3.0])


@model
def level(m, y, *, spread=1.0):
    """One mean."""
    mu = m.normal("mu", mean=0.0, precision=1.0)
    m.normal("y", mean=mu, precision=spread, observed=y, plates=m.plate("row", len(y)))
    return mu


def test_a_model_knows_its_arguments():
    assert level.arguments == ("y", "spread") and level.required == ("y",)
    assert level.name == level.__name__ == "level" and level.__doc__ == "One mean."
    assert repr(level) == "Model(level: y, spread)"


def test_bound_arguments_are_fixed():
    bound = level.bind(spread=4.0)
    assert bound.bound == {"spread": 4.0} and level.bound == {}, "binding makes another model"
    precision = bound.build({"y": Y}).factors[1].ports["precision"]
    assert isinstance(precision, Known) and precision.values == 4.0
    assert level.bind(y=Y).required == () and len(level.bind(y=Y).build().factors) == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: level.build({}), "model 'level' lacks 'y'; its data are y, spread"),
        (level.build, "model 'level' lacks 'y'"),
        (lambda: level.build({"y": Y, "spreed": 1.0}), r"does not take 'spreed' \(did you mean 'spread'\?\); its data"),
        (lambda: level.build({"Y": Y}), r"does not take 'Y' \(did you mean 'y'\?\) and lacks 'y'"),
        (lambda: level.bind(spreed=1.0), "does not take 'spreed'"),
        (lambda: level.build({"y": ["a", "b", "c"]}), "data 'y' holds <U1 values"),
        (lambda: level.build({"y": [1.0, np.inf]}), r"data 'y' is infinite at \(1,\)"),
        (lambda: level.build({"y": [[1.0], [1.0, 2.0]]}), "data 'y' makes no array"),
        (lambda: level.build({"y": Y, "spread": 0.0}), "port precision: 'spread' is 0; a positive value is above 0"),
        (lambda: level.build({"y": Y, "spread": np.nan}), "port precision: 'spread' is NaN"),
        (lambda: level.build({"y": Y, "spread": [1.0, -1.0, 1.0]}), r"'spread' is -1 at \(1,\)"),
    ],
)
def test_data_that_cannot_be_used_are_named(call, said):
    with pytest.raises(DataError, match=said):
        call()


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, None],
        (1.0, 2.0, np.nan),
        np.array([1.0, 2.0, np.nan], dtype=np.float32),
        np.ma.array([1.0, 2.0, 9.0], mask=[False, False, True]),
        pd.Series([1.0, 2.0, None]),
        pd.Series([1, 2, pd.NA], dtype="Int64"),
        pd.DataFrame({"y": [1, 2, None]})["y"],
    ],
    ids=lambda given: type(given).__name__,
)
def test_data_come_in_many_kinds(given):
    y = level.build({"y": given}).factors[1].ports["y"]
    assert isinstance(y, Known) and y.label == "y"
    np.testing.assert_array_equal(y.values, [1.0, 2.0, np.nan])


def test_a_frame_is_a_matrix():
    @model
    def regression(m, x, y):
        w = m.mvnormal("w", mean=0.0, precision=1.0, dim=x.shape[1])
        m.softdot("y", w, x, 1.0, observed=y, plates=m.plate("row", len(y)))

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1]})
    from_frame = P.infer(regression, data={"x": frame, "y": pd.Series([1.0, 2.0])})
    from_arrays = P.infer(regression, data={"x": frame.to_numpy(np.float64), "y": [1.0, 2.0]})
    np.testing.assert_array_equal(from_frame.posteriors["w"].mean(), from_arrays.posteriors["w"].mean())


def test_what_is_no_data_reaches_the_function_as_it_is():
    seen = {}

    @model
    def options(m, y, kind, prior, make, flag, count, nothing):
        seen.update(kind=kind, prior=prior, make=make, flag=flag, count=count, nothing=nothing)
        m.prior("x", prior)

    prior = P.Normal(0.0, 1.0)
    given = {"kind": "short", "prior": prior, "make": len, "flag": True, "count": 3, "nothing": None}
    options.build({"y": [1], **given})
    assert seen == given and seen["prior"] is prior


def test_a_model_writes_something():
    with pytest.raises(SpecError, match=r"model 'nothing' writes no factor; call letters of its first argument"):
        model(nothing).build()
    with pytest.raises(SpecError, match="'plates_alone' writes no factor"):
        model(plates_alone).build()


def nothing(m):
    pass


def plates_alone(m):
    m.plate("row", 3)


def test_models_are_sub_models():
    @model
    def two(m, a, b):
        mu = level(m, y=a)
        m.normal("b", mean=mu, precision=1.0, observed=b)

    assert [f.name for f in two.build({"a": Y, "b": 2.0}).factors] == ["mu", "y", "b"]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda m: level(m, y=Y, spreed=2.0), DataError, "'spreed' .did you mean 'spread'"),
        (level, DataError, "lacks 'y'"),
        (
            lambda _m: level(y=Y),
            SpecError,
            r"inside another model, level\(m, \.\.\.\); to run it: infer\(level, data=dict\(y",
        ),
    ],
)
def test_a_sub_model_that_is_called_wrongly_says_how(call, error, said):
    with pytest.raises(error, match=said):
        call(Builder("outer", {}))


@pytest.mark.parametrize("function", [lambda: None, lambda _m, *_rest: None, lambda _m, **_rest: None])
def test_a_model_function_takes_a_builder_and_named_data(function):
    with pytest.raises(SpecError, match="a model is a function of a builder and named data"):
        model(function)


def test_missing_is_nan():
    assert np.isnan(missing(2, 3)).all() and missing(2, 3).shape == (2, 3)


def test_a_model_is_built_anew_on_other_data():
    assert isinstance(level, Model)
    assert [level.build({"y": np.zeros(n)}).plates["row"].size for n in (0, 1, 5)] == [0, 1, 5]
