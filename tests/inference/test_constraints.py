"""What may be said of the marginals, how it is read, and which contradictions are refused."""

import numpy as np
import pytest

import inference as P
from inference.constraints import Reading, images_of, parse, read_constraints
from inference.errors import SpecError


@P.model
def two_links(m, y):
    """a and b joined by z; two exp links; a chain."""
    row = m.plate("row", len(y))
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=2)
    tau = m.gamma("tau", 1.0, 1.0)
    z = m.softdot("z", w, np.ones((len(y), 2)), tau, plates=row)
    gamma = m.exp("gamma", z)
    m.normal("y", mean=0.0, precision=gamma, observed=y, plates=row)


GRAPH = two_links.build({"y": np.zeros(3)})
NORMAL = P.MvNormal(np.zeros(2), np.eye(2))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], Reading()),
        ((), Reading()),
        (P.MeanField(), Reading(all_apart=True)),
        ([P.MeanField("w", "tau")], Reading(apart=frozenset({"w", "tau"}))),
        ([P.MeanField("w"), P.MeanField("tau")], Reading(apart=frozenset({"w", "tau"}))),
        ([P.MeanField(), P.MeanField("w")], Reading(apart=frozenset({"w"}), all_apart=True)),
        (P.Structured(("w", "z")), Reading(clusters=(frozenset({"w", "z"}),))),
        ([P.Structured(["w", "z"], ("tau",))], Reading(frozenset({"tau"}), (frozenset({"w", "z"}),))),
        ("q(w,z)q(tau)", Reading(frozenset({"tau"}), (frozenset({"w", "z"}),))),
        (["q(w, z, gamma)", "q(tau)"], Reading(frozenset({"tau"}), (frozenset({"w", "z", "gamma"}),))),
        (" q( w ) q(z) ", Reading(apart=frozenset({"w", "z"}))),
        (P.BeliefPropagation(), Reading(tree_demanded=True)),
        ([P.Form("w", "diagonal"), P.Form("z", "gamma")], Reading(forms={"w": "diagonal", "z": "gamma"})),
        ([P.Form("w", "diagonal"), P.Form("w", "diagonal")], Reading(forms={"w": "diagonal"})),
        ([P.Fixed("w", NORMAL)], Reading(fixed={"w": NORMAL})),
        ([P.Form("w", "point_mass"), P.MeanField()], Reading(forms={"w": "point_mass"}, all_apart=True)),
    ],
)
def test_constraints_are_put_together(given, expected):
    found = read_constraints(given, GRAPH)
    for name in ("apart", "clusters", "forms", "fixed", "all_apart", "tree_demanded"):
        assert getattr(found, name) == getattr(expected, name), name


def test_a_fixed_marginal_may_have_the_form_it_is_given():
    diagonal, point = P.MvNormal(np.zeros(2), diag=np.ones(2)), P.PointMass(np.zeros(2), event_ndim=1)
    read_constraints([P.Form("w", "diagonal"), P.Fixed("w", diagonal)], GRAPH)
    read_constraints([P.Form("w", "point_mass"), P.Fixed("w", point)], GRAPH)
    read_constraints([P.Form("z", "gaussian"), P.Fixed("z", P.Normal(0.0, 1.0))], GRAPH)
    with pytest.raises(SpecError, match=r"fix 'w' at MvNormal.* which has not the form 'diagonal'"):
        read_constraints([P.Form("w", "diagonal"), P.Fixed("w", NORMAL)], GRAPH)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            P.MeanField("taux"),
            r"name 'taux' \(did you mean 'tau'\?\), which are no latent variables of 'two_links'; those",
        ),
        (P.MeanField("y"), "name 'y', which are no latent variables"),
        (P.Structured(("w", "zz")), "name 'zz'"),
        ("q(w,Z)", r"name 'Z' \(did you mean 'z'\?\)"),
        (P.Form("wz", "diagonal"), "name 'wz'"),
        (P.Fixed("q", NORMAL), "name 'q'"),
        ([P.MeanField("w"), P.Structured(("w", "z"))], r"put \['w'\] in two places at once"),
        (P.Structured(("w", "z"), ("w", "tau")), r"put \['w'\] in two places at once"),
        (P.Structured(("w", "w")), r"put \['w'\] in two places at once"),
        ("q(w)q(w,z)", r"put \['w'\] in two places at once"),
        ("q(tau)q(tau)", r"put \['tau'\] in two places at once"),
        ([P.Structured(("w", "z")), P.Fixed("w", NORMAL)], r"put \['w'\] in two places at once"),
        ([P.MeanField(), P.Structured(("w", "z"))], r"MeanField\(\) keeps all variables apart; leave it out"),
        ([P.MeanField(), P.BeliefPropagation()], r"MeanField\(\) keeps all variables apart"),
        ([P.Form("w", "diagonal"), P.Form("w", "point_mass")], "give 'w' both 'diagonal' and 'point_mass'"),
        ([P.Fixed("w", NORMAL), P.Fixed("w", P.MvNormal(np.ones(2), np.eye(2)))], "give 'w' both MvNormal"),
        (P.Form("gamma", "gamma"), r"'gamma' is e\^z and has no marginal of its own; Form and Fixed take 'z'"),
        (P.Fixed("gamma", P.Gamma(1.0, 1.0)), r"'gamma' is e\^z and has no marginal of its own"),
        (P.Structured(("w", "gamma")), r"'gamma' is e\^z; its cluster holds 'z' too"),
        ("q(w;z)", "name 'w;z', which are no latent variables"),
        ("q(w,z", "does not read as a factorisation"),
        ("w, z", "does not read as a factorisation"),
        ("q()", "does not read as a factorisation"),
        ("q(w,)", "does not read as a factorisation"),
        ("", "does not read as a factorisation"),
    ],
)
def test_contradictions_and_unknown_names_are_refused(given, said):
    with pytest.raises(SpecError, match=said):
        read_constraints(given, GRAPH)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: P.Structured("w", "z"), r"takes tuples of names, as in Structured\(\(.w., .z.\)\)"),
        (P.Structured, "takes tuples of names"),
        (lambda: P.Structured(()), "takes tuples of names"),
        (lambda: P.Form("w", "diag"), r"is one of .*, not 'diag' \(did you mean 'diagonal'\?\)"),
        (lambda: P.Form("w", "full"), "a form is one of diagonal, gaussian, gamma, dual, point_mass, not 'full'"),
    ],
)
def test_a_constraint_that_means_nothing_is_refused_where_it_is_written(make, said):
    with pytest.raises(SpecError, match=said):
        make()


def test_names_may_be_any_that_a_variable_may_have():
    assert parse("q(γ_1, left.z)q(x#2)").clusters == (("γ_1", "left.z"), ("x#2",))


def test_an_image_is_known_by_its_z():
    assert images_of(GRAPH) == {"gamma": "z"}
