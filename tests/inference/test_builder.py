"""The language: what each call puts into the graph, and what it answers to what cannot be meant."""

import numpy as np
import pytest

import inference as P
from inference.builder import Builder
from inference.errors import DataError, SpecError
from inference.registry import LETTERS
from inference.structure import Known, Plate, Variable
from tests.support.letters import Scaled, letters

Y = np.arange(3.0)


def builder(**data):
    return Builder("test", data)


def test_every_letter_is_a_method():
    m = builder()
    assert set(LETTERS.names()) | {"plate", "data", "chain"} <= set(dir(m))
    with letters(Scaled):
        assert "scaled" in dir(m)
        made = m.scaled("y", m.mvnormal("x", 0.0, precision=1.0, dim=2), 1.0)
        assert made.event == (2,)
    with pytest.raises(SpecError, match="there is no letter 'scaled'"):
        m.scaled("z", 1.0, 1.0)


@pytest.mark.parametrize(
    ("letter", "said"),
    [
        ("nromal", r"no letter 'nromal' \(did you mean 'normal'\?\); the letters are .*softdot"),
        ("softDot", r"\(did you mean 'softdot'\?\)"),
        ("plates", r"\(did you mean 'plate'\?\)"),
        ("wishart", "no letter 'wishart'; the letters are"),
    ],
)
def test_a_letter_that_is_not_there_is_answered_with_the_closest(letter, said):
    with pytest.raises(SpecError, match=said):
        getattr(builder(), letter)


def test_protocols_of_python_are_no_letters():
    m = builder()
    assert not hasattr(m, "__deepcopy__") and not hasattr(m, "_repr_html_")


def test_a_plate_is_one_by_its_name():
    m = builder()
    assert m.plate("row", 3) is m.plate("row", 3) and m.plate("other", np.int64(2)).size == 2
    with pytest.raises(SpecError, match="plate 'row' has size 3, not 4; use another name"):
        m.plate("row", 4)
    with pytest.raises(SpecError, match="plate 'row' has size 3, not 5"):
        m.normal("x", 0.0, 1.0, plates=Plate("row", 5))
    with pytest.raises(SpecError, match=r"named twice in \['row', 'row'\]"):
        m.normal("x", 0.0, 1.0, plates=(m.plate("row", 3), m.plate("row", 3)))


def test_a_letter_returns_its_output_over_its_plates():
    m = builder()
    row, expert = m.plate("row", 3), m.plate("expert", 2)
    w = m.mvnormal("w", 0.0, precision=1.0, dim=4, plates=expert)
    z = m.softdot("z", w, np.ones((3, 4)), m.gamma("tau", 1.0, 1.0, plates=expert), plates=(row, expert))
    gamma = m.exp("gamma", z)
    assert (w.type, w.plates, w.event) == ("real", (expert,), (4,))
    assert (z.type, z.plates, z.event) == ("real", (row, expert), ())
    assert (gamma.type, gamma.plates) == ("positive", (row, expert))
    returned = m.normal("y", 0.0, gamma, observed=np.zeros((3, 2)))
    assert isinstance(returned, Known) and returned.label == "y"
    graph = m.graph()
    assert [f.name for f in graph.factors] == ["w", "tau", "z", "gamma", "y"]
    assert graph.plates == {"row": row, "expert": expert} and list(graph.variables) == ["w", "tau", "z", "gamma"]
    assert m.normal_gamma(("a", "b"), mean=0.0, precision=1.0, shape=1.0, rate=1.0)[1].type == "positive"


def test_one_more_factor_may_be_put_on_a_variable():
    m = builder()
    x = m.normal("x", 0.0, 1.0)
    assert m.normal(x, 1.0, 1.0) is x
    graph = m.graph()
    assert [f.name for f in graph.factors] == ["x", "x#2"] and len(graph.touching["x"]) == 2


def test_what_is_observed_keeps_the_name_of_its_datum():
    m = builder(y=Y, tau=2.0)
    row = m.plate("row", 3)
    mu = m.normal("mu", 0.0, 1.0)
    assert m.normal("seen", mu, 2.0, observed=Y, plates=row).label == "y"
    assert m.normal("shifted", mu, 2.0, observed=Y + 1.0, plates=row).label == "shifted"
    assert m.data("named", Y, row).label == "y" and m.data("named", Y * 2.0, row).label == "named"


def test_data_are_named_with_their_plates():
    m = builder()
    row, expert = m.plate("row", 3), m.plate("expert", 2)
    spread = m.data("spread", [1.0, 2.0], plates=expert)
    assert (spread.plates, spread.event) == ((expert,), ())
    assert m.data("phi", np.ones((3, 4)), plates=row).event == (4,)
    m.normal("y", 0.0, spread, observed=np.zeros((3, 2)), plates=(row, expert))
    with pytest.raises(SpecError, match=r"data 'phi' has shape \(2, 4\), which does not begin with \(row=3\)"):
        m.data("phi", np.ones((2, 4)), plates=row)
    with pytest.raises(DataError, match=r"data 'phi' is infinite at \(0,\)"):
        m.data("phi", [np.inf, 0.0, 0.0], plates=row)


def test_an_array_of_inner_plates_is_refused_whatever_the_sizes_are():
    m = builder()
    row, expert = m.plate("row", 5), m.plate("expert", 3)
    with pytest.raises(SpecError, match=r"m\.data\('y\.precision', values, plates=expert\)"):
        m.normal("y", 0.0, np.ones(3), observed=np.zeros((5, 3)), plates=(row, expert))


def test_group_effects_are_gathered_onto_the_rows():
    m = builder(y=Y, group=np.array([0.0, 1.0, 1.0]))
    row = m.plate("row", 3)
    effect = m.normal("effect", 0.0, 1.0, plates=m.plate("group", 2))
    m.normal("y", effect[np.array([0.0, 1.0, 1.0])], 1.0, observed=Y, plates=row)
    held = m.graph().factors[-1].ports["mean"]
    assert isinstance(held, Variable) and held.plates == (row,) and held.root is effect
    m.normal("again", effect.at("group", [0, 1, 1], onto=row), 1.0, observed=Y)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (
            lambda m, x, _g: m.normal("y", 0.0, x),
            "port precision takes a positive variable, but 'x' is real; put m.exp",
        ),
        (lambda m, _x, _g: m.normal("x", 0.0, 1.0), "there are two variables 'x'; every name is used once"),
        (lambda m, _x, _g: m.chain("x", start=P.Normal(0.0, 1.0), step=dict, length=1), "there are two variables 'x'"),
        (lambda m, _x, _g: m.normal("a b", 0.0, 1.0), "'a b' is no name; leave out spaces"),
        (lambda m, _x, _g: m.normal("q(a)", 0.0, 1.0), r"'q\(a\)' is no name"),
        (lambda m, _x, _g: m.normal("", 0.0, 1.0), "'' is no name"),
        (lambda m, _x, _g: m.normal("y", P.Normal(0.0, 1.0), 1.0), r"got Normal\(mean=0, var=1\); make it a variable"),
        (lambda m, _x, _g: m.normal("y", "x", 1.0), "got 'x'; pass the variable that the letter returned"),
        (lambda m, _x, _g: m.normal("y", 0.0, 1.0, observed="abc"), "port y takes a variable or numbers, got 'abc'"),
        (lambda m, _x, _g: m.normal("y", 0.0, np.inf), "'y.precision' is infinite"),
        (lambda m, _x, _g: m.normal("y", 0.0, np.nan), "port precision: 'y.precision' is NaN"),
        (lambda m, _x, _g: m.normal("y", 0.0, -1.0), "'y.precision' is -1; a positive value is above 0"),
        (lambda m, _x, _g: m.normal("y", np.nan, 1.0), "'y.mean' has missing values and 'y' is latent"),
        (
            lambda m, _x, _g: m.normal("y", 0.0, 1.0, observed=Y),
            r"plate axes \(3,\) does not begin with the plates \(no pl",
        ),
        (
            lambda m, _x, _g: m.normal("y", 0.0, 1.0, observed=Y, plates=m.plate("r", 4)),
            r"plates \(r=4\); give it that sh",
        ),
        (lambda m, x, _g: m.normal(x, 0.0, 1.0, observed=1.0), "is given a variable and observed values"),
        (lambda m, x, _g: m.normal("y", 0.0, 1.0, observed=x), "observed= takes data, got Variable"),
        (lambda m, x, g: m.normal("y", x, 1.0, plates=()) and m.normal("y2", x, g, mena=1), "does not take 'mena'"),
        (lambda m, x, _g: m.normal(x, x, 1.0), r"holds \['x'\] at two ports"),
        (lambda m, _x, _g: m.exp("h", 1.0), r"z is known, so gamma = e\^z is known too"),
        (lambda m, x, _g: m.exp("h", x, observed=1.0), "is a deterministic link and is not observed"),
        (
            lambda m, x, _g: (m.exp("h", x), m.exp(m._variables["h"], m.normal("x2", 0.0, 1.0))),
            "'h' is e.z of another z",
        ),
        (
            lambda m, _x, _g: m.exp("h", m.mvnormal("v", 0.0, precision=1.0, dim=2)),
            "port z takes a scalar, but 'v' is a vec",
        ),
        (lambda m, _x, _g: m.normal("y", Variable("s", "real", ()), 1.0), "'s', real, plates .* is not of this model"),
        (
            lambda m, _x, _g: m.normal("y", Builder("o", {}).normal("x", 0.0, 1.0), 1.0),
            "'x', real.* is not of this model",
        ),
        (lambda m, _x, _g: m.normal_gamma("w", mean=0.0, precision=1.0, shape=1.0, rate=1.0), r"makes 2 variables"),
        (
            lambda m, _x, _g: m.prior("w", P.Normal(np.zeros(3), 1.0)),
            r"prior of batch shape \(3,\), which does not fit",
        ),
        (lambda m, x, _g: m.mvnormal(x, 0.0, precision=1.0, dim=2), r"makes an event of shape \(2,\); the variable"),
        (
            lambda m, _x, _g: m.mvnormal("v", 0.0, precision=1.0, dim=2, observed=np.zeros(3)),
            r"observed values have \(3,\)",
        ),
    ],
)
def test_what_cannot_be_meant_is_answered(write, said):
    m = builder()
    x, g = m.normal("x", 0.0, 1.0), m.gamma("g", 1.0, 1.0)
    with pytest.raises((SpecError, DataError), match=said):
        write(m, x, g)


def test_weights_and_features_are_of_one_length():
    m = builder()
    w = m.mvnormal("w", 0.0, precision=1.0, dim=3)
    for width in (1, 4):
        with pytest.raises(SpecError, match=rf"w and phi of one length, not \(3,\) and \({width},\)"):
            m.softdot(f"z{width}", w, np.ones((5, width)), 1.0, plates=m.plate("row", 5))


def test_a_chain_is_its_start_and_one_factor_for_all_steps():
    m = builder()
    series, q = m.plate("series", 2), m.gamma("q", 1.0, 1.0)
    x = m.chain("x", start=P.Normal(0.0, 1.0), step=lambda a: {"mean": a, "precision": q}, length=4, plates=series)
    assert x.plates == (series, Plate("x.time", 4)) and x.chain == Plate("x.time", 4)
    start, step = m.graph().factors[-2:]
    assert start.name == "x.start" and start.plates == (series,)
    assert step.name == "x.step" and step.node.letter == "normal" and step.sizes == (2, 3)
    vector = m.chain("v", start=P.MvNormal(np.zeros(2), np.eye(2)), step=lambda a: {"mean": a, "cov": 1.0}, length=3)
    assert vector.event == (2,) and m.graph().factors[-1].node.letter == "mvnormal"
    m.chain("s", start=P.Normal(0.0, 1.0), step=lambda a: {"w": a, "phi": 0.9, "tau": 1.0}, length=m.plate("t", 3))
    assert m.graph().factors[-1].node.letter == "softdot"


def test_a_chain_of_one_place_is_its_start():
    m = builder()
    x = m.chain("x", start=P.Normal(0.0, 1.0), step=lambda _a: pytest.fail("there is no step"), length=1)
    assert x.shape == (1,) and [f.name for f in m.graph().factors] == ["x.start"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"length": 0}, "chain 'x' has length 0; it needs at least its start"),
        ({"start": P.Gamma(1.0, 1.0)}, "starts at a Gaussian, P.Normal or P.MvNormal, not at Gamma"),
        ({"start": P.Normal(np.zeros(3), 1.0)}, r"'x.start' has a prior of batch shape \(3,\)"),
        (
            {"step": lambda a: a},
            r"returns the arguments of its letter by name, as in dict\(mean=a, precision=q\); got Var",
        ),
        ({"step": lambda a: {"mean": a}}, "normal lacks precision"),
        ({"step": lambda a: {"mean": a, "precision": 1.0, "letter": "nomral"}}, "no letter 'nomral'"),
    ],
)
def test_a_chain_that_cannot_be_says_why(given, said):
    arguments = {"start": P.Normal(0.0, 1.0), "step": lambda a: {"mean": a, "precision": 1.0}, "length": 3} | given
    with pytest.raises(SpecError, match=said):
        builder().chain("x", **arguments)
