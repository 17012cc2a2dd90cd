"""A model to look at: nodes, edges, types, degrees and clusters, and the text a person reads."""

import time

import numpy as np
import pytest

import inference as P
from inference.introspection import EdgeView, NodeView
from tests.inference.test_partition import DATA, conjugate, experts, product, sample, two_effects


def view(model, constraints=(), **more):
    return P.graph(model, {n: DATA[n] for n in model.arguments if n in DATA} | more, constraints)


def test_nodes_edges_types_and_plates():
    seen = view(experts)
    assert seen.name == "experts" and seen.plates == {"row": 3, "expert": 2}
    assert [n.name for n in seen.nodes] == ["w", "tau", "z", "gamma", "yhat"]
    z = seen.nodes[2]
    assert isinstance(z, NodeView) and (z.letter, z.kind, z.plates) == ("softdot", "stochastic", ("row", "expert"))
    assert z.ports == {"z": "z", "w": "w", "phi": "[phi]", "tau": "tau"} and z.outputs == ("z",)
    assert seen.nodes[3].kind == "deterministic" and seen.nodes[1].constants == {"shape": "1"}
    assert [e for e in seen.edges if e.node == "z"] == [
        EdgeView("z", "z", "z", "real"),
        EdgeView("z", "w", "w", "real"),
        EdgeView("z", "phi", "[phi]", "real"),
        EdgeView("z", "tau", "tau", "positive"),
    ]
    assert seen.types == {"w": "real", "tau": "positive", "z": "real", "gamma": "positive"}
    phi, w = seen.variables["[phi]"], seen.variables["w"]
    assert phi.known and (phi.plates, phi.event) == (("row",), (2,)) and not w.known and w.event == (2,)


@pytest.mark.parametrize(
    ("model", "constraints", "clusters"),
    [
        (experts, (), (("w", "z", "gamma"), ("tau",))),
        (experts, P.MeanField(), (("z", "gamma"), ("w",), ("tau",))),
        (conjugate, (), (("w", "tau"), ("z",))),
        (two_effects, (), (("x", "z"),)),
        (sample, "q(mu)q(tau)", (("mu",), ("tau",))),
    ],
)
def test_the_clusters_are_those_of_the_plan(model, constraints, clusters):
    assert view(model, constraints).clusters == clusters


def test_degrees_are_counted_for_one_element():
    assert view(experts).degrees == {"w": (4, 4), "tau": (4, 4), "z": (2, 2), "gamma": (2, 2)}
    holes = view(experts, y=np.array([0.0, np.nan, 0.0]), yhat=np.array([[0.0, np.nan], [0.0, 0.0], [0.0, 0.0]]))
    assert holes.degrees["gamma"] == (1, 2) and holes.degrees["w"] == (4, 4)
    assert holes.variables["[yhat]"].missing == 1 and holes.variables["[y]"].missing == 1


def test_a_group_without_rows_has_its_prior_alone():
    @P.model
    def groups(m, y, group):
        effect = m.normal("effect", 0.0, 1.0, plates=m.plate("group", 3))
        m.normal("y", effect[group], 1.0, observed=y, plates=m.plate("row", len(y)))

    seen = P.graph(groups, {"y": np.zeros(4), "group": np.array([0, 0, 2, 0])})
    assert seen.degrees == {"effect": (1, 4)}
    assert [e.variable for e in seen.edges if e.indexed] == ["effect"]
    assert "[y] ~ normal(mean=effect[.], precision=1)" in str(seen)


def test_the_text_reads_like_the_model():
    text = str(view(experts, y=np.array([0.0, np.nan, 0.0]), yhat=np.array([[0.0, np.nan], [0.0, 0.0], [0.0, 0.0]])))
    assert text.splitlines() == [
        "experts: 5 factors, 4 latent variables; plates row=3, expert=2",
        "  for expert:",
        "    w ~ mvnormal(mean=0, precision=2x2 array)   real of 2, degree 4",
        "    tau ~ gamma(rate=1, shape=1)                positive, degree 4",
        "  for row, expert:",
        "    z ~ softdot(w, phi=[phi], tau)              real, degree 2",
        "    gamma = exp(z)                              positive, degree 1..2",
        "    [yhat] ~ normal(mean=[y], precision=gamma)  1 missing",
        "clusters: q(w, z, gamma)q(tau)",
    ]


def test_one_more_factor_on_a_variable_is_a_line_without_remark():
    lines = str(view(two_effects)).splitlines()
    assert [line.split("  ")[-1] for line in lines if "normal(mean=x" in line] == [
        "real, degree 3",
        "z ~ normal(mean=x, precision=1)",
    ]


@pytest.mark.parametrize("model", [experts, conjugate, product, sample, two_effects])
def test_every_letter_can_be_shown(model):
    seen = view(model)
    text = str(seen)
    assert all(f"{n.letter}(" in text for n in seen.nodes) and all(len(line) < 120 for line in text.splitlines())


def test_chains_and_priors_are_shown():
    @P.model
    def walk(m, y):
        x = m.chain("x", start=P.Normal(0.0, 1.0), step=lambda a: {"mean": a, "precision": 2.0}, length=len(y))
        m.normal("y", mean=x, precision=1.0, observed=y)

    text = str(P.graph(walk, {"y": np.zeros(4)}))
    assert "x[.] ~ prior(distribution=Normal(mean=0, var=1))" in text
    assert "for x.time[1:]:" in text and "x[.] ~ normal(mean=x[.], precision=2)" in text


def test_a_model_may_be_bound_and_a_built_graph_may_be_shown():
    bound = sample.bind(y=DATA["y"])
    assert P.graph(bound) == view(sample)
    result = P.infer(sample, data={"y": DATA["y"]})
    assert str(P.graph(result.graph)) == str(view(sample))


def test_a_model_without_latent_variables():
    @P.model
    def known(m, y):
        m.normal("y", 0.0, 1.0, observed=y)

    assert str(P.graph(known, {"y": 1.0})).splitlines() == [
        "known: 1 factor, 0 latent variables",
        "  [y] ~ normal(mean=0, precision=1)".replace("[y]", "1"),
        "clusters: none, nothing is latent",
    ]


def test_a_large_plate_is_one_line():
    """A million edges are looked at without a list of them."""
    rows = 500_000
    began = time.perf_counter()
    seen = view(sample, y=np.zeros(rows))
    text, dot = str(seen), seen.to_dot()
    assert time.perf_counter() - began < 5.0
    assert len(text) < 400 and len(dot) < 2500 and seen.degrees["mu"] == (rows + 1, rows + 1)
    assert seen.n_edges == 3 + 2 + 3 * rows


def test_unknown_data_and_constraints_are_refused_as_inference_does():
    with pytest.raises(P.DataError, match="lacks 'y'"):
        P.graph(sample)
    with pytest.raises(P.SpecError, match="did you mean 'tau'"):
        view(sample, P.MeanField("taw"))
