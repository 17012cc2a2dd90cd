"""Graphviz text: read back by a strict reader, and every node, edge, plate and colour where it belongs."""

import numpy as np
import pytest

import inference as P
from inference.drawing import PALETTE
from tests.inference.test_partition import DATA, conjugate, experts, product, sample, two_effects
from tests.support.dot import read


def drawn(model, constraints=(), **more):
    seen = P.graph(model, {n: DATA[n] for n in model.arguments if n in DATA} | more, constraints)
    return seen, read(seen.to_dot())


@pytest.mark.parametrize("model", [experts, conjugate, product, sample, two_effects])
def test_every_factor_and_variable_is_drawn_once_and_every_edge(model):
    seen, graph = drawn(model)
    everything = graph.everything()
    assert set(everything) == set(seen.variables) | {f"factor {n.name}" for n in seen.nodes}
    assert graph.name == seen.name
    expected = [(f"factor {e.node}", e.variable, {"label": e.port}) for e in seen.edges]
    assert graph.edges == expected and all(not box.edges for box in graph.boxes)


def test_factors_are_square_variables_round_and_known_ones_grey():
    seen, graph = drawn(experts)
    for name, attributes in graph.everything().items():
        assert attributes["shape"] == ("box" if name.startswith("factor ") else "ellipse")
        if not name.startswith("factor "):
            assert (attributes["fillcolor"] == "#d9d9d9") == seen.variables[name].known
            assert attributes["style"] == "filled"
    assert graph.everything()["factor z"]["label"] == "softdot"


def test_structured_clusters_have_a_colour_of_their_own():
    _, joint = drawn(experts)
    colours = {name: a.get("fillcolor") for name, a in joint.everything().items()}
    assert colours["w"] == colours["z"] == colours["gamma"] == PALETTE[0] and colours["tau"] == "white"
    _, apart = drawn(experts, P.MeanField())
    colours = {name: a.get("fillcolor") for name, a in apart.everything().items()}
    assert colours["z"] == colours["gamma"] == PALETTE[0] and colours["w"] == colours["tau"] == "white"


def test_plates_are_boxes_inside_each_other():
    _, graph = drawn(experts)
    expert, both, row = (graph.box(f"cluster {name}") for name in ("expert", "expert,row", "row"))
    assert expert in graph.boxes and row in graph.boxes and both in expert.boxes + row.boxes
    assert expert.attributes["label"] == "expert = 2" and row.attributes["label"] == "row = 3"
    assert {"w", "tau", "factor w", "factor tau"} == set(expert.vertices)
    assert {"z", "gamma", "[yhat]", "factor z", "factor gamma", "factor yhat"} == set(both.vertices)
    assert {"[phi]", "[y]"} == set(row.vertices)
    inner = "row = 3" if both in expert.boxes else "expert = 2"
    assert both.attributes["label"] == inner
    assert {"[w.mean]", "[tau.rate]"} == set(graph.vertices)


def test_names_are_quoted():
    @P.model
    def odd(m, y):
        mu = m.normal("m\\u-1[é]", 0.0, 1.0)
        m.normal("y", mu, 1.0, observed=y, plates=m.plate('a "quoted" {plate}', len(y)))

    seen = P.graph(odd, {"y": np.zeros(2)})
    graph = read(seen.to_dot())
    assert "m\\u-1[é]" in graph.vertices
    assert graph.boxes[0].attributes["label"] == 'a "quoted" {plate} = 2'


@pytest.mark.parametrize(
    "broken",
    [
        'graph "a" { "x" }',
        'graph "a" { "x"; ',
        'digraph "a" { }',
        'graph "a" { "x" -> "y"; }',
        'graph "a" { "x; }',
        "{}",
    ],
)
def test_the_reader_is_strict(broken):
    with pytest.raises(AssertionError):
        read(broken)
