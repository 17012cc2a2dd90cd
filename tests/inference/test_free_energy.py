"""The Bethe free energy against collapsed formulas, at any state; its counts against a list of ground factors."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import inference as P
from inference import free_energy as bethe
from inference.nodes.exp_link import ExpLink
from inference.structure import Variable
from tests.support.engine_states import (
    beliefs_of,
    every_block,
    expected_tau,
    last,
    random_start,
    structured_beliefs_of,
)
from tests.support.expert_models import bound, data_of, experts, hierarchy, local_level, mean_field
from tests.support.gated_experts import Options, blocks, free_energy
from tests.support.gated_experts_structured import structured_energy
from tests.support.simulated_experts import simulate

pytestmark = pytest.mark.unchecked

SIXTEEN = [
    Options(link, jacobian, cov, noisy)
    for link, jacobian, cov, noisy in itertools.product(("gauss", "gamma"), (0, 1), ("full", "diag"), (False, True))
]
WITH_AND_WITHOUT = [replace(o, gamma_factor=rate) for o in SIXTEEN for rate in (True, False)]
STRUCTURED = [Options(jacobian=j, gamma_factor=rate) for j in (0, 1) for rate in (True, False)]


def named(o: Options) -> str:
    flags = [o.link_marginal, f"J{o.jacobian}", o.cov] + ["noisy"] * o.noisy + ["no rate"] * (not o.gamma_factor)
    return "-".join(flags)


def problem(rows: int = 12):
    """Priors that are all different from their defaults."""
    x = simulate(3, rows=rows, experts=2, d=3, kappa=(2.0, 0.5)).experts
    return replace(x, w_mean=0.3, w_precision=0.6, alpha=1.4, beta=(1.5, 2.5))


# Mean field


@pytest.mark.parametrize("start", ["prior", "random"])
@pytest.mark.parametrize("o", WITH_AND_WITHOUT, ids=named)
def test_it_is_the_collapsed_formula_after_every_block(o, start):
    x = problem()
    init = random_start(x, o.noisy, np.random.default_rng(8)) if start == "random" else {}
    model = bound(x, o)
    init = {name: q for name, q in init.items() if name in model.build(data_of(x)).variables}
    seen = list(every_block(model, data_of(x), mean_field(o), 2, init))
    assert len(seen) == 2 * len(blocks(o))
    for moment in seen:
        by_hand = free_energy(x, o, beliefs_of(x, moment.state))
        np.testing.assert_allclose(bethe.total(moment.program, moment.state), by_hand, rtol=1e-12, err_msg=moment.block)


@pytest.mark.parametrize("o", SIXTEEN, ids=named)
def test_no_block_raises_it(o):
    """Message passing 3: every block is the exact minimiser of F over its marginals."""
    x = problem(25)
    result = P.infer(
        bound(x, o), data=data_of(x), constraints=mean_field(o), iterations=30, rtol=0.0, atol=0.0,
        free_energy="blocks", callbacks=[P.AssertMonotone()],
    )  # fmt: skip
    energies = np.array([energy for _, energy in result.free_energy_blocks])
    assert len(energies) == 30 * len(blocks(o)) and energies[-1] < energies[0]
    np.testing.assert_array_equal(energies[len(blocks(o)) - 1 :: len(blocks(o))], result.free_energy)
    assert (np.diff(energies) <= 1e-9 * (1.0 + np.abs(energies[:-1]))).all()


def test_a_rise_is_caught():
    """A callback that lied would pass every model above."""
    watch = P.AssertMonotone()
    watch(P.Event("after_update", 0, 9, "z", free_energy=1.0))
    with pytest.raises(AssertionError, match=r"rose from 1 to 1\.1"):
        watch(P.Event("after_update", 0, 9, "w", free_energy=1.1))


# Structured


@pytest.mark.parametrize("start", ["prior", "random"])
@pytest.mark.parametrize("o", STRUCTURED, ids=named)
def test_structured_it_is_the_collapsed_formula_after_every_block(o, start):
    """The joint was made at the ``E tau`` of its own update, which a later ``q(tau)`` leaves behind."""
    x = problem()
    model = bound(x, o)
    init = random_start(x, False, np.random.default_rng(8)) if start == "random" else {}
    init = {name: q for name, q in init.items() if name in model.build(data_of(x)).variables}
    before, t = None, np.ones(2)
    for moment in every_block(model, data_of(x), [P.Structured(("w", "z"))], 4, init):
        if moment.block == "q(w, z, gamma)":
            t = expected_tau(x, before or moment.state)
        before = moment.state
        by_hand = structured_energy(x, o, structured_beliefs_of(x, moment.state, t))
        np.testing.assert_allclose(bethe.total(moment.program, moment.state), by_hand, rtol=1e-11, err_msg=moment.block)


@pytest.mark.parametrize("o", STRUCTURED, ids=named)
def test_structured_no_block_raises_it(o):
    x = problem(25)
    result = P.infer(
        bound(x, o), data=data_of(x), constraints=[P.Structured(("w", "z"))], iterations=30, rtol=0.0, atol=0.0,
        free_energy="blocks", callbacks=[P.AssertMonotone()],
    )  # fmt: skip
    energies = np.array([energy for _, energy in result.free_energy_blocks])
    assert (np.diff(energies) <= 1e-9 * (1.0 + np.abs(energies[:-1]))).all()


@pytest.mark.parametrize("o", [STRUCTURED[1], STRUCTURED[2]], ids=named)
def test_a_joint_is_tighter_than_independent_weights(o):
    x = problem(25)
    loose = P.infer(bound(x, o), data=data_of(x), constraints=[P.MeanField()], iterations=300, rtol=1e-6)
    tight = P.infer(bound(x, o), data=data_of(x), iterations=20)
    assert loose.converged and tight.free_energy[-1] < loose.free_energy[-1] - 0.01


# How it is put together

PLANS = [
    pytest.param(mean_field(Options(noisy=noisy)), Options(noisy=noisy), id=f"mean field, noisy {noisy}")
    for noisy in (False, True)
] + [pytest.param([], Options(jacobian=1), id="structured")]


def gappy(o: Options):
    """A model with missing forecasts (and targets, where these are the output) and its program after one sweep."""
    x = problem()
    data = {name: array.copy() for name, array in data_of(x).items()}
    if o.noisy:
        data["y"][[2, 7]] = np.nan
    else:
        data["yhat"][1, 0] = data["yhat"][4] = np.nan
    return bound(x, o), data


@pytest.mark.parametrize(("constraints", "o"), PLANS)
def test_its_terms_add_up(constraints, o):
    moment = last(*gappy(o), constraints, 2)
    parts = bethe.terms(moment.program, moment.state)
    np.testing.assert_allclose(sum(parts.values()), bethe.total(moment.program, moment.state), rtol=1e-13)
    assert {f"energy {factor.name}" for factor in moment.program.graph.factors} <= set(parts)


@pytest.mark.parametrize(("constraints", "o"), PLANS)
def test_what_changes_with_a_variable_is_in_its_local_part(constraints, o):
    """The part of one variable moves by as much as the whole."""
    moment = last(*gappy(o), constraints, 1)
    program, old = moment.program, moment.state
    new = old.updated(marginals={"tau": P.Gamma([2.0, 0.7], [0.4, 1.9])})
    local, whole = (
        part(program, new, *rest) - part(program, old, *rest)
        for part, rest in ((bethe.local, (["tau"],)), (bethe.total, ()))
    )
    np.testing.assert_allclose(local, whole, rtol=1e-10)


def element(held: Variable, plates: dict[str, int]) -> tuple[int, ...]:
    """The place of the ground variable that a port holds at one place of the factor's plates."""
    place = [plates.get(p.name, 0) for p in held.root.plates]
    if held.gather is not None:
        axis = held.root.plates.index(held.gather.source)
        index = np.atleast_1d(held.gather.index)
        place[axis] = int(index[plates[held.gather.target.name]] if held.gather.target else index[0])
    return tuple(place)


def ground_counts(program) -> dict[str, np.ndarray]:
    """``(degree - 1)`` less one for every cluster that takes the entropy off, one ground factor after another."""
    counts = {v: np.full(tuple(p.size for p in x.plates), -1.0) for v, x in program.graph.variables.items()}
    for factor in program.graph.factors:
        for place in np.ndindex(*factor.sizes):
            plates = dict(zip([p.name for p in factor.plates], place, strict=True))
            known = [held for held in factor.ports.values() if not isinstance(held, Variable)]
            values = [held.values[tuple(plates[p.name] for p in held.plates)] for held in known]
            if any(np.isnan(value).any() for value in values):
                continue
            for port, held in factor.ports.items():
                if not isinstance(held, Variable):
                    continue
                eliminated = program.children.get(factor.name) == port
                of_a_cluster = port == "z" if isinstance(factor.node, ExpLink) else not eliminated
                counts[held.name][element(held, plates)] += 1.0 - of_a_cluster
    return counts


GROUPS = np.array([0, 2, 1, 1, 0, 2, 2])
SMALL = [
    *[pytest.param(*gappy(p.values[1]), p.values[0], id=p.id) for p in PLANS],
    pytest.param(
        local_level.bind(start_mean=0.0, start_var=1.0, q=1.0, r=1.0),
        {"y": np.array([0.1, np.nan, 0.4, -0.3])}, [], id="chain",
    ),
    pytest.param(hierarchy.bind(between=2.0, within=3.0), {"y": np.arange(7.0), "group": GROUPS}, [], id="gather"),
    pytest.param(
        hierarchy.bind(between=2.0, within=3.0, row=1.5), {"y": np.arange(7.0), "group": GROUPS}, [], id="deeper"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("model", "data", "constraints"), SMALL)
def test_entropies_are_counted_as_in_the_ground_graph(model, data, constraints):
    program = last(model, data, constraints).program
    expected = ground_counts(program)
    assert expected.keys() == program.counts.keys()
    for name, counts in expected.items():
        np.testing.assert_array_equal(program.counts[name], counts, err_msg=name)


def test_a_plate_is_as_many_copies():
    """Two experts on one plate, and the same two written out one after another."""
    x = problem()

    @P.model
    def apart(m, phi, first, second, y):
        rows = m.plate("obs", len(y))
        for name, yhat in (("1", first), ("2", second)):
            w = m.mvnormal(f"w{name}", mean=x.w_mean, precision=x.w_precision, dim=3)
            z = m.softdot(f"z{name}", w, phi, m.gamma(f"tau{name}", *x.tau), plates=rows)
            gamma = m.exp(f"gamma{name}", z)
            m.gamma(gamma, x.alpha, m.gamma(f"beta{name}", *x.beta))
            m.normal(f"yhat{name}", mean=y, precision=gamma, observed=yhat, plates=rows)

    data = {"phi": x.phi, "first": x.yhat[:, 0], "second": x.yhat[:, 1], "y": x.y}
    for constraints in ([], [P.MeanField()]):
        options = {"constraints": constraints, "iterations": 5}
        together = P.infer(bound(x, Options()), data=data_of(x), **options)
        written_out = P.infer(apart, data=data, **options)
        np.testing.assert_allclose(written_out.free_energy, together.free_energy, rtol=1e-12)


def test_without_rows_it_is_nothing():
    """Posteriors are priors."""
    data = {"phi": np.zeros((0, 2)), "yhat": np.zeros((0, 3)), "y": np.zeros(0)}
    for constraints in ([], [P.MeanField()]):
        result = P.infer(experts, data=data, constraints=constraints)
        np.testing.assert_allclose(result.free_energy[-1], 0.0, atol=1e-12)
        np.testing.assert_allclose(result.posteriors["w"].covariance, np.tile(100.0 * np.eye(2), (3, 1, 1)))
