"""Laws that need no tolerance of a method: order, names, units, pieces and gaps of the data change what they should."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import inference as P
from tests.support.expert_models import (
    bound,
    conjugate_regression,
    data_of,
    experts,
    latent_regression,
    mean_field,
    regression,
    settle,
    static,
)
from tests.support.gated_experts import Options, mean_of
from tests.support.simulated_experts import simulate

pytestmark = pytest.mark.unchecked

COV = np.array([[1.1, 0.3], [0.3, 0.9]])
MEAN = np.array([0.3, -0.2])
KNOWN_NOISE = regression.bind(mean=MEAN, cov=COV, tau=0.7)
LATENT = latent_regression.bind(mean=MEAN, cov=COV, tau=0.7, s=2.2)
PAIR = conjugate_regression.bind(mean=MEAN, precision=np.linalg.inv(COV), shape=2.3, rate=1.7)
REGRESSIONS = [pytest.param(m, c, id=n) for n, m, c in [
    ("known noise", KNOWN_NOISE, ["w"]), ("latent z", LATENT, ["w"]), ("unknown noise", PAIR, ["w", "tau"])
]]  # fmt: skip
few = settings(max_examples=5)  # each example is several whole runs
FACTORISATIONS = [pytest.param([], id="structured"), pytest.param([P.MeanField()], id="mean field")]


def rows(seed: int, count: int) -> dict[str, np.ndarray]:
    """Features and targets of a regression."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((count, 2)), "y": rng.standard_normal(count)}


def taken(data: dict[str, np.ndarray], index) -> dict[str, np.ndarray]:
    return {name: array[index] for name, array in data.items()}


def assert_same(one, other, rtol: float = 1e-9, names=None) -> None:
    """The same parameters of every marginal."""
    for name in names or other:
        theirs = other[name].arrays()
        for key, value in one[name].arrays().items():
            np.testing.assert_allclose(value, theirs[key], rtol=rtol, atol=rtol, err_msg=f"{name}.{key}")


# Pieces


@few
@given(seed=some.integers(0, 10**6), cuts=some.sets(some.integers(1, 8), max_size=4))
@pytest.mark.parametrize(("model", "carry"), REGRESSIONS)
def test_pieces_learn_what_the_whole_does(model, carry, seed, cuts):
    """Any cut: the free energies of the pieces add up too, by the chain rule (5.1, 5.3)."""
    data = rows(seed, 9)
    stream, whole = P.Stream(model, carry=carry), P.infer(model, data=data)
    steps = [stream.step(taken(data, part)) for part in np.split(np.arange(9), sorted(cuts))]
    assert_same(stream.posteriors, whole.posteriors, names=carry)
    np.testing.assert_allclose(sum(step.free_energy for step in steps), whole.free_energy[-1], rtol=1e-10)
    assert stream.n_steps == len(cuts) + 1


@few
@given(some.integers(0, 10**6))
def test_what_one_row_predicts_is_its_leave_one_out_of_the_rows_so_far(seed):
    """The stream's prediction ahead, and the cavity of the batch that has seen the row."""
    data = rows(seed, 6)
    stream = P.Stream(LATENT, carry=["w"])
    for n in range(6):
        step = stream.step(taken(data, slice(n, n + 1)))
        whole = P.infer(LATENT, data=taken(data, slice(0, n + 1)))
        w, x = whole.messages["w"].cavity(n), data["x"][n]
        np.testing.assert_allclose(step.predictive["y"].mean(), [x @ w.mean()], rtol=1e-9, atol=1e-10)
        noise = 1.0 / 0.7 + 1.0 / 2.2
        np.testing.assert_allclose(step.predictive["y"].var(), [x @ w.covariance @ x + noise], rtol=1e-10)


@pytest.mark.parametrize("model", [KNOWN_NOISE, LATENT], ids=["known noise", "latent z"])
def test_leaving_a_row_out_is_fitting_the_others(model):
    """``result.messages["w"].cavity(n)`` against a dense fit without row n."""
    data = rows(4, 7)
    noise = 1.0 / 0.7 + (1.0 / 2.2 if model is LATENT else 0.0)
    messages = P.infer(model, data=data).messages["w"]
    for n in range(7):
        x, y = (np.delete(data[name], n, axis=0) for name in ("x", "y"))
        cov = np.linalg.inv(np.linalg.inv(COV) + x.T @ x / noise)
        found = messages.cavity(n)
        np.testing.assert_allclose(found.covariance, cov, rtol=1e-10)
        np.testing.assert_allclose(found.mean(), cov @ (np.linalg.solve(COV, MEAN) + x.T @ y / noise), rtol=1e-10)
        np.testing.assert_array_equal(messages.cavity(n - 7).mean(), found.mean())
    with pytest.raises(P.SpecError, match="row 7 is outside plate 'row' of size 7"):
        messages.cavity(7)


def test_leaving_a_row_out_of_gated_experts():
    """Under mean field the row's messages to ``w`` are those of the other rows, at the marginals of all."""
    x = simulate(1, rows=8, experts=2, d=2).experts
    result = P.infer(bound(x, Options(gamma_factor=False)), data=data_of(x), constraints=[P.MeanField()], iterations=9)
    tau, z = mean_of(np.array([result.posteriors["tau"].shape, result.posteriors["tau"].rate])), result.posteriors["z"]
    keep = np.arange(8) != 3
    found = result.messages["w"].cavity(3)
    for k in range(2):
        precision = x.w_precision * np.eye(2) + tau[k] * x.phi[keep].T @ x.phi[keep]
        np.testing.assert_allclose(found[k].precision, precision, rtol=1e-10)
        linear = tau[k] * x.phi[keep].T @ z.mean()[keep, k]
        np.testing.assert_allclose(found[k].mean(), np.linalg.solve(precision, linear), rtol=1e-9)


# Order and names


@pytest.mark.parametrize("constraints", FACTORISATIONS)
@few
@given(order=some.permutations(range(9)))
def test_the_order_of_rows_does_not_matter(constraints, order):
    x = simulate(2, rows=9, experts=2, d=2).experts
    model = bound(x, Options())
    one = P.infer(model, data=data_of(x), constraints=constraints, iterations=6, rtol=0.0, atol=0.0)
    other = P.infer(
        model, data=taken(data_of(x), list(order)), constraints=constraints, iterations=6, rtol=0.0, atol=0.0
    )
    assert_same(other.posteriors, one.posteriors, names=["w", "tau", "beta"])
    np.testing.assert_allclose(other.free_energy, one.free_energy, rtol=1e-11)
    np.testing.assert_allclose(
        other.posteriors["z"].mean(), one.posteriors["z"].mean()[list(order)], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("constraints", FACTORISATIONS)
@few
@given(order=some.permutations(range(3)))
def test_the_names_of_experts_do_not_matter(constraints, order):
    x = simulate(2, rows=9, experts=3, d=2).experts
    order = list(order)
    one = P.infer(bound(x, Options()), data=data_of(x), constraints=constraints, iterations=6)
    x = replace(x, yhat=x.yhat[:, order])
    other = P.infer(bound(x, Options()), data=data_of(x), constraints=constraints, iterations=6)
    assert_same(
        other.posteriors,
        {v: q[order] for v, q in one.posteriors.items() if v in ("w", "tau", "beta")},
        1e-9,
        ["w", "tau", "beta"],
    )
    new = {"phi": x.phi[:4], "yhat": x.yhat[:4, np.argsort(order)]}
    ahead = one.predict(new), other.predict({**new, "yhat": x.yhat[:4]})
    np.testing.assert_allclose(ahead[1].mean(), ahead[0].mean(), rtol=1e-9)


def test_an_expert_heard_twice_counts_twice():
    """Message passing 6.9, in the static ensemble."""
    rng = np.random.default_rng(6)
    y, yhat, new = rng.standard_normal(8), rng.standard_normal((8, 2)), rng.standard_normal((3, 2))
    once, twice = (
        P.infer(static.bind(shape=1.5, rate=0.7), data={"y": y, "yhat": yhat[:, columns]})
        for columns in ([0, 1], [0, 0, 1])
    )
    weight = once.posteriors["gamma"].mean() * np.array([2.0, 1.0])
    found = twice.predict({"yhat": new[:, [0, 0, 1]]}, rows="obs")
    np.testing.assert_allclose(found.mean(), new @ weight / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(found.var(), 1.0 / weight.sum(), rtol=1e-12)


# Units


@pytest.mark.parametrize("constraints", FACTORISATIONS)
@pytest.mark.parametrize("k", [0.01, 30.0])
def test_the_unit_of_the_targets_is_in_the_bias_alone(constraints, k):
    """A flat prior on the bias and no rate prior: its weight moves by ``-2 log k``, F by ``N K log k`` (6.9)."""
    x = simulate(7, rows=30, experts=2, d=2).experts
    model = experts.bind(w_precision=np.array([1.0, 1e-10]), tau=np.array([4.0, 2.0]))
    data = data_of(x)
    one, energy = settle(model, data, constraints, tolerance=1e-11)
    other, scaled = settle(model, {**data, "y": k * x.y, "yhat": k * x.yhat}, constraints, tolerance=1e-11)
    shift = np.array([0.0, -2.0 * np.log(k)])
    np.testing.assert_allclose(other.posteriors["w"].mean(), one.posteriors["w"].mean() + shift, atol=1e-7)
    np.testing.assert_allclose(other.posteriors["w"].covariance, one.posteriors["w"].covariance, rtol=1e-6)
    np.testing.assert_allclose(other.posteriors["tau"].rate, one.posteriors["tau"].rate, rtol=1e-6)
    np.testing.assert_allclose(scaled - energy, 60.0 * np.log(k), atol=1e-6)


# Gaps


@few
@given(seed=some.integers(0, 10**6), lost=some.sets(some.integers(0, 8), max_size=9))
@pytest.mark.parametrize(("model", "carry"), REGRESSIONS)
def test_a_missing_row_is_no_row(model, carry, seed, lost):
    data = rows(seed, 9)
    keep = ~np.isin(np.arange(9), list(lost))
    short = P.infer(model, data=taken(data, keep))
    gappy = P.infer(model, data={**data, "y": np.where(keep, data["y"], np.nan)})
    assert_same(gappy.posteriors, short.posteriors, 1e-11, carry)
    np.testing.assert_allclose(gappy.free_energy, short.free_energy, rtol=1e-11, atol=1e-12)


def test_none_and_a_mask_are_nan():
    data = rows(3, 5)
    keep = np.array([True, False, True, True, False])
    nothing = [v if k else None for v, k in zip(data["y"], keep, strict=True)]
    energies = [
        P.infer(LATENT, data={**data, "y": y}).free_energy
        for y in (np.where(keep, data["y"], np.nan), nothing, np.ma.masked_array(data["y"], ~keep))
    ]
    np.testing.assert_array_equal(energies[1:], energies[:1] * 2)


@pytest.mark.parametrize("axis", ["y", "yhat"])
def test_a_missing_row_of_gated_experts_is_no_row(axis):
    """Exact where the open end is in the cluster of ``w``: at a known ``tau``, by the joint, without a rate prior."""
    x = simulate(9, rows=12, experts=2, d=2, tau=(np.inf, 3.0)).experts
    model, data, keep = bound(x, Options(gamma_factor=False)), data_of(x), np.arange(12) % 4 != 1
    gaps = {**data, axis: np.where(keep if axis == "y" else keep[:, None], data[axis], np.nan)}
    short, energy = settle(model, taken(data, keep), tolerance=1e-12)
    gappy, same = settle(model, gaps, tolerance=1e-12)
    assert_same(gappy.posteriors, short.posteriors, 1e-9, ["w"])
    np.testing.assert_allclose(gappy.posteriors["z"].mean()[keep], short.posteriors["z"].mean(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(same, energy, rtol=1e-10)


def test_missing_cells_are_missing_to_their_expert_alone():
    """Each expert as if it were by itself on the rows it has; so too in the static ensemble, in closed form."""
    x = simulate(9, rows=12, experts=2, d=2, tau=(np.inf, 3.0)).experts
    seen = np.random.default_rng(0).random(x.yhat.shape) < 0.6
    data = {**data_of(x), "yhat": np.where(seen, x.yhat, np.nan)}
    both, _ = settle(bound(x, Options(gamma_factor=False)), data, tolerance=1e-12)
    ensemble = P.infer(static.bind(shape=1.5, rate=0.7), data={"y": x.y, "yhat": data["yhat"]}).posteriors["gamma"]
    for k, rows_of in enumerate(seen.T):
        alone = replace(x, phi=x.phi[rows_of], yhat=x.yhat[rows_of, k : k + 1], y=x.y[rows_of])
        one, _ = settle(bound(alone, Options(gamma_factor=False)), data_of(alone), tolerance=1e-12)
        np.testing.assert_allclose(both.posteriors["w"].mean()[k], one.posteriors["w"].mean()[0], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(both.posteriors["w"].covariance[k], one.posteriors["w"].covariance[0], rtol=1e-9)
        squares = ((x.y - x.yhat[:, k])[rows_of] ** 2).sum()
        np.testing.assert_allclose(ensemble.shape[k], 1.5 + 0.5 * rows_of.sum(), rtol=1e-13)
        np.testing.assert_allclose(ensemble.rate[k], 0.7 + 0.5 * squares, rtol=1e-13)


# Ends of the range (6.10)


@pytest.mark.parametrize("model", [KNOWN_NOISE, LATENT, PAIR], ids=["known noise", "latent z", "unknown noise"])
def test_nothing_seen_is_the_prior(model):
    data = rows(1, 3)
    for empty in (taken(data, slice(0, 0)), {**data, "y": P.missing(3)}):
        result = P.infer(model, data=empty)
        joint = result.posteriors["w"].arrays()
        np.testing.assert_allclose(joint["mean"], MEAN, rtol=1e-12)
        np.testing.assert_allclose(result.free_energy[-1], 0.0, atol=1e-12)


def test_a_perfect_expert_at_known_tau_is_exact():
    """Every ``c`` is zero, so the joint is Gaussian: ``-F = log E e^(sum z / 2)``, less ``N/2 log 2 pi`` an expert."""
    x = simulate(3, rows=9, experts=2, d=2, tau=(np.inf, 3.0)).experts
    x = replace(x, yhat=np.repeat(x.y[:, None], 2, axis=1), w_mean=0.2, w_precision=0.5)
    pull = x.phi.sum(0)
    log_evidence = 0.5 * 0.2 * pull.sum() + 0.125 * (pull @ pull / 0.5 + 9.0 / 3.0) - 4.5 * np.log(2.0 * np.pi)
    _, energy = settle(bound(x, Options(gamma_factor=False)), data_of(x))
    np.testing.assert_allclose(energy, -2.0 * log_evidence, rtol=1e-12)


@pytest.mark.parametrize("o", [Options(), Options("gamma"), Options(jacobian=1, noisy=True)], ids=str)
def test_one_feature_and_one_expert(o):
    """Arrays of width one are not squeezed away."""
    x = simulate(5, rows=6, experts=1, d=1, kappa=(2.0, 0.5)).experts
    result = P.infer(bound(x, o), data=data_of(x), constraints=mean_field(o), iterations=4)
    assert result.posteriors["w"].mean().shape == (1, 1) and result.posteriors["z"].mean().shape == (6, 1)
    assert result.predict({"phi": x.phi[:2], "yhat": x.yhat[:2]}).mean().shape == (2,)
