"""Plans: their blocks and order, how they are written and explained, and what they warn of."""

import warnings

import numpy as np
import pytest

import inference as P
from inference.blocks.conjugate import Conjugate
from inference.blocks.dense import DenseCluster
from inference.blocks.fixed import Fixed
from inference.blocks.gaussian_tree import TreeCluster
from inference.blocks.links import LinkBlock
from inference.blocks.normal_gamma import NormalGammaPair
from inference.schedule import make_plan
from tests.inference.test_partition import DATA, conjugate, experts, sample, two_effects


def plan(model, constraints=(), order=None, **more):
    return make_plan(model.build({n: DATA[n] for n in model.arguments if n in DATA} | more), constraints, order)


@pytest.mark.parametrize(
    ("model", "constraints", "factorisation", "kinds"),
    [
        (experts, [], "q(w, z, gamma)q(tau)", [TreeCluster, Conjugate]),
        (experts, P.MeanField(), "q(z, gamma)q(w)q(tau)", [LinkBlock, Conjugate, Conjugate]),
        (conjugate, [], "q(w, tau)q(z)", [NormalGammaPair, Conjugate]),
        (sample, [], "q(mu)q(tau)", [Conjugate, Conjugate]),
        (sample, P.Fixed("tau", P.Gamma(1.0, 1.0)), "q(mu)q(tau)", [Conjugate, Fixed]),
        (two_effects, [], "q(x, z)", [DenseCluster]),
    ],
)
def test_blocks_are_links_then_gaussians_then_precisions(model, constraints, factorisation, kinds):
    found = plan(model, constraints)
    assert found.factorisation == factorisation and [type(b) for b in found.blocks] == kinds


@pytest.mark.parametrize(
    ("order", "factorisation"),
    [
        (["tau"], "q(tau)q(z, gamma)q(w)"),
        (["w", "tau"], "q(w)q(tau)q(z, gamma)"),
        (["gamma", "w"], "q(z, gamma)q(w)q(tau)"),
        ([], "q(z, gamma)q(w)q(tau)"),
    ],
)
def test_an_order_goes_first(order, factorisation):
    assert plan(experts, P.MeanField(), order).factorisation == factorisation


def test_an_order_names_variables():
    with pytest.raises(
        P.SpecError, match=r"order names 'taux' \(did you mean 'tau'\?\); the variables are w, tau, z, gamma"
    ):
        plan(experts, (), ["taux"])


def test_the_order_changes_the_way_and_not_the_end():
    data = {"y": np.array([1.0, 2.0, 0.5, 1.5])}
    ends = [P.infer(sample, data=data, order=o, rtol=0.0, atol=1e-13, iterations=200) for o in (["mu"], ["tau"])]
    np.testing.assert_allclose(ends[0].free_energy[-1], ends[1].free_energy[-1], rtol=1e-11)
    assert ends[0].free_energy[0] != ends[1].free_energy[0]


def test_a_plan_says_how_each_block_is_solved():
    said = repr(plan(experts)).splitlines()
    assert said[0] == "Plan q(w, z, gamma)q(tau)"
    joint = "joint Gaussian of 10 dimensions, one pass up and down its tree, with sites at its exp links"
    assert said[1] == f"  q(w, z, gamma): {joint}"
    assert said[2] == "  q(tau): product of its messages"
    assert said[3].startswith("  w, z are joined by default")
    text = repr(plan(experts, [P.MeanField(), P.Form("z", "gamma"), P.Form("w", "diagonal")]))
    assert "q(z, gamma): exp link, gamma marginal, every edge solved exactly" in text
    assert "q(w): product of its messages, as diagonal" in text
    assert "q(x, z): joint Gaussian of 6 dimensions, dense" in repr(plan(two_effects))
    assert "q(tau): fixed" in repr(plan(sample, P.Fixed("tau", P.Gamma(1.0, 1.0))))
    assert "q(w, tau): normal-gamma pair" in repr(plan(conjugate))


def test_a_result_carries_its_plan():
    result = P.infer(sample, data={"y": DATA["y"]})
    assert repr(result.plan).startswith("Plan q(mu)q(tau)\n") and "posterior q(mu)q(tau)" in str(result)


@pytest.mark.parametrize(
    ("model", "constraints", "variable", "lines"),
    [
        (
            sample,
            (),
            "tau",
            [
                "q(tau)",
                "  tau (gamma) -> tau: mean-field message toward port x",
                "  y (normal) -> tau: mean-field message toward port precision",
            ],
        ),
        (sample, P.Fixed("tau", P.Gamma(1.0, 1.0)), "tau", ["q(tau)", "  q(tau) is fixed; no message is used"]),
        (
            experts,
            (),
            "gamma",
            [
                "q(w, z, gamma)",
                "  z (softdot): z is integrated out into w (port z to w); back down its conditional given w",
                "  w (mvnormal) -> w: mean-field message toward port x",
                "  yhat (normal) -> gamma: mean-field message toward port precision, a part of (s, c)",
                "  gamma (exp) -> z: Gaussian site, solved exactly against the cavity of z (2.5)",
            ],
        ),
    ],
)
def test_a_plan_explains_every_message(model, constraints, variable, lines):
    assert plan(model, constraints).explain(variable).splitlines() == lines


@pytest.mark.parametrize("model", [experts, conjugate, sample, two_effects])
@pytest.mark.parametrize("constraints", [(), P.MeanField()])
def test_every_factor_of_a_block_is_explained(model, constraints):
    found = plan(model, constraints)
    text = found.explain()
    for block in found.blocks:
        assert block.name in text.splitlines()
        for v in block.variables:
            for factor in found.program.graph.touching[v]:
                assert any(line.strip().startswith(f"{factor.name} (") for line in found.explain(v).splitlines()), (
                    factor
                )


def test_an_unknown_variable_has_no_explanation():
    with pytest.raises(
        P.SpecError, match=r"no block holds 'taw' \(did you mean 'tau'\?\); the plan is q\(mu\)q\(tau\)"
    ):
        plan(sample).explain("taw")


@pytest.mark.parametrize(
    ("model", "constraints", "said"),
    [
        (
            experts,
            P.Form("tau", "diagonal"),
            r"q\(tau\) cannot have the form 'diagonal' here; forms with a rule: gamma, poi",
        ),
        (
            experts,
            P.Form("z", "diagonal"),
            r"q\(z\) cannot have the form 'diagonal' here; forms with a rule: gaussian, gamma, d",
        ),
        (
            experts,
            P.Form("w", "dual"),
            r"q\(w\) cannot have the form 'dual' here; forms with a rule: gaussian, diagonal, point",
        ),
        (sample, P.Form("mu", "diagonal"), "forms with a rule: gaussian, point_mass"),
        (experts, [P.Structured(("w", "z")), P.Form("w", "diagonal")], r"needs it by itself: MeanField\('w'\)"),
        (experts, [P.Structured(("w", "z")), P.Form("z", "gamma")], r"needs it by itself: MeanField\('z'\)"),
        (
            conjugate,
            P.Form("w", "diagonal"),
            r"q\(w, tau\) is one normal-gamma marginal; \['w'\] cannot be fixed or given a",
        ),
        (conjugate, P.Fixed("tau", P.Gamma(1.0, 1.0)), r"one normal-gamma marginal; \['tau'\] cannot be fixed"),
    ],
)
def test_a_form_without_a_rule_names_those_that_have_one(model, constraints, said):
    with pytest.raises(P.NoRule, match=said):
        plan(model, constraints)


@pytest.mark.parametrize(
    ("variable", "form"), [("mu", "gaussian"), ("tau", "gamma"), ("mu", "point_mass"), ("tau", "point_mass")]
)
def test_a_marginals_own_family_is_a_form_of_it(variable, form):
    block = next(b for b in plan(sample, P.Form(variable, form)).blocks if variable in b.variables)
    assert isinstance(block, Conjugate) and block.form == ("point_mass" if form == "point_mass" else "exact")


def test_a_form_of_a_chain_is_refused():
    @P.model
    def walk(m, y):
        x = m.chain("x", start=P.Normal(0.0, 1.0), step=lambda a: {"mean": a, "precision": 1.0}, length=len(y))
        m.normal("y", mean=x, precision=1.0, observed=y)

    assert plan(walk, P.Form("x", "gaussian")).factorisation == "q(x)"
    with pytest.raises(P.NoRule, match=r"q\(x\) cannot have the form 'point_mass'"):
        plan(walk, P.Form("x", "point_mass"))


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(w.category, w.filename) for w in caught]


def test_the_dual_projection_warns_once_however_many_links_there_are():
    @P.model
    def two(m, y):
        row = m.plate("row", len(y))
        for k in (1, 2):
            z = m.normal(f"z{k}", 0.0, 1.0, plates=row)
            m.normal(f"y{k}", 0.0, m.exp(f"g{k}", z), observed=y)

    dual = [P.Form("z1", "dual"), P.Form("z2", "dual")]
    graph = two.build({"y": np.ones(2)})
    assert [kind for kind, _ in warned(lambda: make_plan(graph, dual))] == [P.DualProjection]
    assert warned(lambda: make_plan(graph, dual, quiet=True)) == []
    assert (
        warned(lambda: P.infer(two, data={"y": np.ones(2)}, constraints=dual, iterations=2))[0][0] is P.DualProjection
    )
    with pytest.warns(
        P.DualProjection, match=r"q\(z1, z2\) uses the published dual projection.*free_energy_diagnostic"
    ):
        make_plan(graph, dual)


def test_a_prediction_does_not_warn_again():
    data = {"phi": np.ones((3, 2)), "yhat": np.zeros((3, 2)), "y": np.zeros(3)}
    with pytest.warns(P.DualProjection):
        result = P.infer(experts, data=data, constraints=[P.MeanField(), P.Form("z", "dual")], iterations=2)
    assert warned(lambda: result.predict({"phi": data["phi"], "yhat": data["yhat"]})) == []


def test_a_loop_that_is_too_large_warns_and_its_free_energy_stays_a_bound():
    data = {"y": np.zeros(1001)}
    with pytest.warns(P.LoopyBP, match=r"q\(x, z\) has loops and 2002 dimensions.*stays a bound"):
        split = P.infer(two_effects, data=data, callbacks=[P.AssertMonotone()])
    tied = P.infer(two_effects, data={"y": np.zeros(7)})
    assert split.plan.factorisation == "q(x)q(z)"
    assert split.free_energy[-1] > 1001 / 7 * tied.free_energy[-1], "rows are independent: evidence is per row"


def test_a_graph_without_latent_variables_has_no_block():
    @P.model
    def known(m, y):
        m.normal("y", mean=0.0, precision=4.0, observed=y, plates=m.plate("row", len(y)))

    result = P.infer(known, data={"y": [1.0, np.nan, 2.0]})
    expected = 2 * 0.5 * np.log(2 * np.pi / 4.0) + 0.5 * 4.0 * (1.0 + 4.0)
    assert result.plan.factorisation == "" and result.posteriors == {} and result.converged
    np.testing.assert_allclose(result.free_energy[-1], expected, rtol=1e-14)


def test_structured_links_start_from_mean_field():
    structured, apart = plan(experts), plan(experts, P.MeanField())
    assert structured.start is not None and apart.start is None
    assert [b.name for b in structured.start.blocks] == [b.name for b in apart.blocks]
    assert plan(two_effects).start is None
