"""Streams: yesterday's posterior as today's prior, and the prediction before the piece is learned from."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import inference as P
from tests.support.golden import golden


@P.model
def regression(m, x, y, *, m0, V0, tau):
    w = m.mvnormal("w", mean=m0, cov=V0, dim=x.shape[1])
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def conjugate_regression(m, x, y, *, m0, L0, a, b):
    w, tau = m.normal_gamma(("w", "tau"), mean=m0, precision=L0, shape=a, rate=b)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def unknown_noise(m, x, y):
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=x.shape[1])
    tau = m.gamma("tau", 2.0, 1.0)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


def rows(x, y, size=1):
    return [{"x": x[k : k + size], "y": y[k : k + size]} for k in range(0, len(y), size)]


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((12, 3))
    return x, x @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(12)


def bound(dim=3, tau=4.0):
    return regression.bind(m0=np.zeros(dim), V0=np.eye(dim), tau=tau)


def test_one_row_at_a_time_gives_the_golden_predictives_and_evidence():
    case = golden("mp_linear_gaussian")["linear_regression"]
    given, expected = case["inputs"], case["expected"]
    model = regression.bind(m0=np.array(given["m0"]), V0=np.array(given["V0"]), tau=given["tau"])
    stream = P.Stream(model, carry=["w"])
    steps = [stream.step(row) for row in rows(np.array(given["X"]), np.array(given["y"]))]
    means = [step.predictive["y"].mean()[0] for step in steps]
    variances = [step.predictive["y"].var()[0] for step in steps]
    np.testing.assert_allclose(means, expected["seq_pred_mean"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(variances, expected["seq_pred_var"], rtol=1e-10)
    np.testing.assert_allclose(sum(s.logscore for s in steps), expected["log_evidence"], rtol=1e-10)
    np.testing.assert_allclose(-sum(s.free_energy for s in steps), expected["log_evidence"], rtol=1e-10)
    np.testing.assert_allclose(stream.posteriors["w"].mean(), expected["mean"], rtol=1e-10)


def test_normal_gamma_pairs_are_carried_together():
    case = golden("mp_normal_gamma_regression")
    given, expected = case["inputs"], case["expected"]
    model = conjugate_regression.bind(
        m0=np.array(given["m0"]), L0=np.array(given["Lambda0"]), a=given["a0"], b=given["b0"]
    )
    stream = P.Stream(model, carry=["w", "tau"])
    steps = [stream.step(row) for row in rows(np.array(given["X"]), np.array(given["y"]))]
    np.testing.assert_allclose([s.logscore for s in steps], expected["seq_logpdf"], rtol=1e-10)
    assert all(isinstance(s.predictive["y"], P.StudentT) for s in steps)


@pytest.mark.parametrize("size", [1, 4, 12])
def test_the_posterior_does_not_depend_on_the_size_of_the_pieces(problem, size):
    x, y = problem
    stream = P.Stream(bound(), carry=["w"])
    for piece in rows(x, y, size):
        stream.step(piece)
    batch = P.infer(bound(), data={"x": x, "y": y}).posteriors["w"]
    np.testing.assert_allclose(stream.posteriors["w"].mean(), batch.mean(), rtol=1e-11)
    np.testing.assert_allclose(stream.posteriors["w"].covariance, batch.covariance, rtol=1e-11)


def test_the_evidence_of_a_piece_is_that_of_its_joint_predictive(problem):
    """The log score adds cells up one by one; the free energy knows that they are correlated."""
    x, y = problem
    stream = P.Stream(bound(), carry=["w"])
    stream.step({"x": x[:5], "y": y[:5]})
    step = stream.step({"x": x[5:], "y": y[5:]})
    before = P.infer(bound(), data={"x": x[:5], "y": y[:5]}).posteriors["w"]
    joint = multivariate_normal(x[5:] @ before.mean(), x[5:] @ before.covariance @ x[5:].T + np.eye(7) / 4.0)
    np.testing.assert_allclose(-step.free_energy, joint.logpdf(y[5:]), rtol=1e-10)
    apart = P.Normal(x[5:] @ before.mean(), np.diag(x[5:] @ before.covariance @ x[5:].T) + 0.25).logpdf(y[5:]).sum()
    np.testing.assert_allclose(step.logscore, apart, rtol=1e-10)


def test_a_missing_row_is_predicted_but_teaches_nothing(problem):
    x, y = problem
    stream = P.Stream(bound(), carry=["w"])
    stream.step({"x": x[:4], "y": y[:4]})
    before = stream.posteriors["w"].mean()
    step = stream.step({"x": x[4:5], "y": P.missing(1)})
    np.testing.assert_allclose(stream.posteriors["w"].mean(), before, rtol=1e-12)
    assert step.logscore == 0.0
    np.testing.assert_allclose(step.predictive["y"].mean(), x[4:5] @ before, rtol=1e-11)


def test_forgetting_mixes_natural_parameters_with_the_first_prior(problem):
    x, y = problem
    stream = P.Stream(bound(), carry=["w"], forget=0.8)
    step = stream.step({"x": x, "y": y})
    sharp = step.posteriors["w"]
    np.testing.assert_allclose(
        stream.posteriors["w"].precision, 0.8 * sharp.precision + 0.2 * np.eye(3), rtol=1e-10, atol=1e-12
    )


def test_mean_field_streams_learn_the_noise(problem):
    x, y = problem
    stream = P.Stream(unknown_noise, carry=["w", "tau"], iterations=50)
    for piece in rows(x, y, 6):
        assert stream.step(piece).converged
    assert stream.n_steps == 2
    assert stream.posteriors["tau"].shape == pytest.approx(2.0 + 6.0)
    assert len(stream.history()) == 2
    assert len(stream.history(1)) == 1
    assert stream.history(0) == []


def test_a_stream_is_saved_and_continued_bit_for_bit(problem, tmp_path):
    x, y = problem
    first = P.Stream(unknown_noise, carry=["w", "tau"])
    first.step({"x": x[:6], "y": y[:6]})
    first.save(tmp_path / "stream.npz")
    second = P.Stream(unknown_noise, carry=["w", "tau"]).restore(tmp_path / "stream.npz")
    one, other = (s.step({"x": x[6:], "y": y[6:]}) for s in (first, second))
    assert one.logscore == other.logscore
    assert np.array_equal(one.posteriors["w"].mean(), other.posteriors["w"].mean())
    assert second.n_steps == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"carry": []}, "carry names no variable"),
        ({"carry": ["w"], "forget": 0.0}, "in (0, 1]"),
        ({"carry": ["w"], "forget": 1.5}, "1.5"),
    ],
)
def test_impossible_streams_are_refused(arguments, says):
    with pytest.raises(P.SpecError) as error:
        P.Stream(bound(), **arguments)
    assert says in str(error.value)


def test_errors_leave_the_stream_as_it_was(problem):
    x, y = problem
    stream = P.Stream(bound(), carry=["w"])
    stream.step({"x": x[:3], "y": y[:3]})
    before = stream.posteriors["w"]
    with pytest.raises(P.DataError):
        stream.step({"x": np.full((2, 3), np.nan), "y": y[:2]})
    assert stream.posteriors["w"] is before
    assert stream.n_steps == 1
    with pytest.raises(P.SpecError, match="carry names"):
        P.Stream(bound(), carry=["weights"]).step({"x": x, "y": y})


def test_a_file_of_another_stream_is_refused(problem, tmp_path):
    x, y = problem
    stream = P.Stream(unknown_noise, carry=["w", "tau"])
    stream.step({"x": x, "y": y})
    stream.save(tmp_path / "stream.npz")
    with pytest.raises(P.SpecError, match="this stream carries"):
        P.Stream(unknown_noise, carry=["w"]).restore(tmp_path / "stream.npz")
