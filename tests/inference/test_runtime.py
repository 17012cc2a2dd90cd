"""``infer``: its options, what it returns, and what it refuses by name."""

import numpy as np
import pytest

import inference as P
from tests.inference.test_partition import experts

RNG = np.random.default_rng(11)
Y = np.array([1.0, 2.0, 0.5, 1.5])
PHI, TARGETS = RNG.standard_normal((9, 2)), RNG.standard_normal(9)
EXPERTS = {"phi": PHI, "y": TARGETS, "yhat": TARGETS[:, None] + RNG.standard_normal((9, 3))}


@P.model
def sample(m, y, *, spread=1.0):
    """One mean and one precision."""
    mu, tau = m.normal("mu", mean=0.0, precision=0.1), m.gamma("tau", 1.0, spread)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


def infer(**options):
    return P.infer(sample, data={"y": Y}, **options)


def test_the_same_call_gives_the_same_numbers():
    first, again = (P.infer(experts, data=EXPERTS, iterations=5) for _ in range(2))
    np.testing.assert_array_equal(first.free_energy, again.free_energy)
    for name, q in first.posteriors.items():
        np.testing.assert_array_equal(q.mean(), again.posteriors[name].mean())


def test_the_data_are_left_alone():
    kept = {name: array.copy() for name, array in EXPERTS.items()}
    P.infer(experts, data=EXPERTS, iterations=3)
    for name, array in kept.items():
        np.testing.assert_array_equal(EXPERTS[name], array)


def test_one_constraint_needs_no_list():
    for given in (P.MeanField(), [P.MeanField()], (P.MeanField(),)):
        assert (
            P.infer(experts, data=EXPERTS, constraints=given, iterations=1).plan.factorisation
            == "q(z, gamma)q(w)q(tau)"
        )
    assert P.infer(experts, data=EXPERTS, constraints="q(w)q(z)", iterations=1).plan.factorisation[:11] == "q(z, gamma)"


def test_returned_variables_are_those_that_were_asked_for():
    assert set(infer().posteriors) == {"mu", "tau"} and set(infer(returnvars=["tau"]).posteriors) == {"tau"}
    with pytest.raises(P.SpecError, match=r"returnvars names .*'taw'.*; the variables are mu, tau"):
        infer(returnvars=["taw"])


def test_each_iteration_may_be_kept():
    result = infer(keep="each", iterations=4, rtol=0.0, atol=0.0)
    assert len(result.history) == 4 and infer().history == ()
    assert result.history[-1]["mu"].mean() == result.posteriors["mu"].mean()
    shorter = infer(iterations=2, rtol=0.0, atol=0.0)
    assert result.history[1]["mu"].mean() == shorter.posteriors["mu"].mean()


def test_a_start_may_be_given():
    from_here = infer(init={"tau": P.Gamma(1e6, 1e6 / 25.0)}, iterations=1)
    np.testing.assert_allclose(from_here.posteriors["mu"].var(), 1.0 / (0.1 + 4 * 25.0), rtol=1e-9)
    with pytest.raises(P.SpecError, match=r"init names 'taw' \(did you mean 'tau'"):
        infer(init={"taw": P.Gamma(1.0, 1.0)})


def test_restarts_keep_the_lowest_and_the_seed():
    one, many = P.infer(experts, data=EXPERTS), P.infer(experts, data=EXPERTS, restarts=3, seed=4)
    assert one.seed is None and many.seed == 4
    assert many.free_energy[-1] <= one.free_energy[-1] + 1e-6
    again = P.infer(experts, data=EXPERTS, restarts=3, seed=4)
    np.testing.assert_array_equal(many.free_energy, again.free_energy)
    unseeded = P.infer(experts, data=EXPERTS, restarts=2, iterations=2)
    repeated = P.infer(experts, data=EXPERTS, restarts=2, iterations=2, seed=unseeded.seed)
    assert unseeded.seed is not None and repeated.free_energy[-1] == unseeded.free_energy[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"iterations": 0}, "restarts and iterations are 1 or more, not 1 and 0"),
        ({"restarts": 0}, "restarts and iterations are 1 or more, not 0 and 50"),
        ({"order": ["taw"]}, "order names 'taw' .did you mean 'tau'"),
        ({"constraints": P.MeanField("taw")}, "did you mean 'tau'"),
        ({"damping": {"taw": 0.5}}, "damping names 'taw' .did you mean 'tau'"),
        ({"damping": 0.0}, r"damping is a step in \(0, 1\], 1 being the full one; got 0"),
        ({"damping": {"mu": 1.5}}, r"damping is a step in \(0, 1\], 1 being the full one; got 1.5"),
        ({"rtol": -1.0}, "rtol and atol are 0 or more"),
    ],
)
def test_options_that_mean_nothing_are_named(options, said):
    with pytest.raises(P.SpecError, match=said):
        infer(**options)


def test_data_that_cannot_be_used_are_named():
    with pytest.raises(P.DataError, match=r"does not take 'Y' \(did you mean 'y'"):
        P.infer(sample, data={"Y": Y})
    with pytest.raises(P.DataError, match="lacks 'y'"):
        P.infer(sample)
    assert P.infer(sample.bind(y=Y)).converged


def perfect(columns):
    return {"phi": PHI[:, :columns], "y": TARGETS, "yhat": np.column_stack([TARGETS, EXPERTS["yhat"][:, 0]])}


@pytest.mark.parametrize("constraints", [(), P.MeanField(), [P.MeanField(), P.Form("z", "gamma")]], ids=str)
@pytest.mark.parametrize("columns", [1, 2])
def test_a_perfect_expert_and_a_single_feature_are_finite(constraints, columns):
    """No error, no rate prior: nothing bounds gamma but its weights and the noise of its log, known here."""
    several = [*constraints] if isinstance(constraints, tuple | list) else [constraints]
    known = P.Fixed("tau", P.Gamma(8.0, 4.0))
    result = P.infer(experts, data=perfect(columns), constraints=[*several, known], iterations=20)
    assert np.isfinite(result.free_energy).all()
    assert all(np.isfinite(q.mean()).all() and np.isfinite(q.var()).all() for q in result.posteriors.values())
    assert np.all(result.posteriors["z"].mean()[:, 0].mean() > result.posteriors["z"].mean()[:, 1].mean())


@pytest.mark.parametrize("constraints", [(), P.MeanField(), [P.MeanField(), P.Form("z", "gamma")]], ids=str)
def test_a_perfect_expert_under_a_learned_noise_runs_away_by_name(constraints):
    """E e^(z/2) is infinite under a Gamma prior on tau: the evidence is, and the free energy has no lower bound."""
    with pytest.raises(P.InferenceError, match=r"q\(w, z, gamma\)|q\(z|precision|rate of a Gamma marginal"):
        P.infer(experts, data=perfect(2), constraints=constraints, iterations=2000, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=str)
def test_features_that_are_missing_are_named(constraints):
    phi = PHI.copy()
    phi[4, 1] = np.nan
    with pytest.raises(
        P.DataError, match=r"softdot 'z', port phi: 'phi' is NaN at \(4, 1\).*latent variable with a prior"
    ):
        P.infer(experts, data={**EXPERTS, "phi": phi}, constraints=constraints)


def test_an_error_on_the_way_may_be_returned():
    """Without a prior shape to spare, the mode of tau is at zero after the first sweep."""

    @P.model
    def at_the_edge(m, y):
        mu, tau = m.normal("mu", mean=0.0, precision=1.0), m.gamma("tau", 0.1, 1.0)
        m.normal("y", mean=mu, precision=tau, observed=y)

    form = P.Form("tau", "point_mass")
    with pytest.raises(P.ImproperMarginal, match=r"q\(tau\) has its mode at 0 \(shape 0.6\)"):
        P.infer(at_the_edge, data={"y": 1.0}, constraints=form)
    result = P.infer(at_the_edge, data={"y": 1.0}, constraints=form, on_error="return")
    assert isinstance(result.error, P.ImproperMarginal) and result.n_iter == 0 and not result.converged
    assert result.reason.startswith("stopped by ImproperMarginal") and set(result.posteriors) == {"mu", "tau"}


def test_a_damped_point_mass_is_refused_in_words():
    with pytest.raises(P.InferenceError, match="damping"):
        infer(constraints=P.Form("mu", "point_mass"), damping=0.5)
