"""Gaussian chains against the dense joint, the golden local level, and the laws that batches and filters obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.errors import ImproperMarginal, SpecError
from inference.gaussians.chain import filter_forward, filter_scalar, smooth, smooth_scalar
from tests.support.dense_chain import dense_chain, random_chain
from tests.support.golden import golden

LEVEL = golden("mp_linear_gaussian")["local_level"]
seeds = st.integers(0, 2**32 - 1)


def close(actual, desired, tolerance=1e-10):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


def as_scalars(chain):
    """Arguments of ``smooth`` for d = 1 as those of ``smooth_scalar``."""
    names = {"matrix": "coefficient"}
    events = {"linear": 1, "start_linear": 1, "offset": 1}
    return {
        names.get(key, key): each.reshape(each.shape[: each.ndim - events.get(key, 2)]) for key, each in chain.items()
    }


def local_level():
    """The golden series as messages, and the log of what the messages leave out of their likelihoods."""
    inputs = LEVEL["inputs"]
    y = np.array([np.nan if each is None else each for each in inputs["y"]])
    seen, r = np.isfinite(y), inputs["r"]
    messages = {"linear": np.where(seen, np.nan_to_num(y) / r, 0.0), "precision": np.where(seen, 1.0 / r, 0.0)}
    constants = stats.norm.logpdf(y[seen], 0.0, np.sqrt(r)).sum()
    start = {"start_linear": inputs["m0"] / inputs["P0"], "start_precision": 1.0 / inputs["P0"]}
    return {**messages, **start, "coefficient": 1.0, "offset": 0.0, "noise_precision": 1.0 / inputs["q"]}, constants


def as_vectors(chain):
    names = {"coefficient": "matrix"}
    events = {"linear": 1, "start_linear": 1, "offset": 1}
    return {names.get(key, key): np.asarray(each)[(..., *[None] * events.get(key, 2))] for key, each in chain.items()}


def test_golden_local_level_as_scalars():
    chain, constants = local_level()
    result, expected = smooth_scalar(**chain), LEVEL["expected"]
    close(result.mean, expected["smooth_mean"])
    close(result.var, expected["smooth_var"])
    close(result.cross, expected["lag1_cov"])
    close(result.log_normaliser + constants, expected["log_evidence"])
    missing = LEVEL["inputs"]["y"].index(None)
    close(result.mean[missing], expected["missing_pred_mean"])
    close(result.var[missing] + LEVEL["inputs"]["r"], expected["missing_pred_var"])


def test_golden_local_level_as_vectors():
    chain, constants = local_level()
    result, expected = smooth(**as_vectors(chain)), LEVEL["expected"]
    close(result.mean[:, 0], expected["smooth_mean"])
    close(result.covariance[:, 0, 0], expected["smooth_var"])
    close(result.cross[:, 0, 0], expected["lag1_cov"])
    close(result.log_normaliser + constants, expected["log_evidence"])


@given(seeds, st.integers(1, 9), st.integers(1, 4))
def test_the_dense_joint(seed, length, d):
    chain = random_chain(np.random.default_rng(seed), length, d)
    result, dense = smooth(**chain), dense_chain(**chain)
    times = np.arange(length)
    close(result.mean, dense.mean)
    close(result.covariance, dense.blocks[times, times])
    close(result.cross, dense.blocks[times[:-1], times[1:]])
    close(result.log_normaliser, dense.log_normaliser)
    close(result.entropy(), dense.entropy)


@given(seeds, st.integers(2, 6), st.integers(1, 3))
def test_conditional_entropies_are_those_of_the_pairs(seed, length, d):
    chain = random_chain(np.random.default_rng(seed), length, d)
    result, dense = smooth(**chain), dense_chain(**chain)
    for t in range(length - 1):
        pair = np.block(
            [[dense.blocks[t, t], dense.blocks[t, t + 1]], [dense.blocks[t + 1, t], dense.blocks[t + 1, t + 1]]]
        )
        of_pair = stats.multivariate_normal(cov=pair).entropy()
        close(result.conditional_entropy[t], of_pair - stats.multivariate_normal(cov=pair[d:, d:]).entropy())
    close(result.conditional_entropy[-1], stats.multivariate_normal(cov=dense.blocks[-1, -1]).entropy())


@given(seeds, st.integers(1, 6), st.integers(1, 3))
def test_the_filter_is_the_smoother_of_every_beginning(seed, length, d):
    chain = random_chain(np.random.default_rng(seed), length, d)
    filtered = filter_forward(**chain)
    total = np.cumsum(filtered.log_normaliser)
    for end in range(1, length + 1):
        cut = {"linear": end, "precision": end, "matrix": end - 1, "offset": end - 1, "noise_precision": end - 1}
        start = {key: each[: cut[key]] if key in cut else each for key, each in chain.items()}
        dense = dense_chain(**start)
        close(filtered.mean[end - 1], dense.mean[-1])
        close(filtered.covariance[end - 1], dense.blocks[-1, -1])
        close(total[end - 1], dense.log_normaliser)
        blind = {**start, "linear": start["linear"].copy(), "precision": start["precision"].copy()}
        blind["linear"][-1], blind["precision"][-1] = 0.0, 0.0
        dense = dense_chain(**blind)
        close(filtered.predictive_mean[end - 1], dense.mean[-1])
        close(filtered.predictive_covariance[end - 1], dense.blocks[-1, -1])


@given(seeds, st.integers(1, 12), st.sampled_from([(), (1,), (3,), (2, 3)]))
def test_scalars_are_vectors_of_one(seed, length, batch):
    chain = random_chain(np.random.default_rng(seed), length, 1, batch=batch)
    vector, scalar = smooth(**chain), smooth_scalar(**as_scalars(chain))
    assert scalar.mean.shape == (*batch, length)
    assert scalar.cross.shape == (*batch, length - 1)
    close(scalar.mean, vector.mean[..., 0])
    close(scalar.var, vector.covariance[..., 0, 0])
    close(scalar.cross, vector.cross[..., 0, 0])
    close(scalar.conditional_entropy, vector.conditional_entropy)
    close(scalar.log_normaliser, vector.log_normaliser)
    close(scalar.entropy(), vector.entropy())
    vector, scalar = filter_forward(**chain), filter_scalar(**as_scalars(chain))
    for name in ("mean", "predictive_mean"):
        close(getattr(scalar, name), getattr(vector, name)[..., 0])
    close(scalar.var, vector.covariance[..., 0, 0])
    close(scalar.predictive_var, vector.predictive_covariance[..., 0, 0])
    close(scalar.log_normaliser, vector.log_normaliser)


@pytest.mark.parametrize("batch", [(1,), (4,), (2, 3)])
def test_a_batch_is_its_series_one_by_one(batch):
    chain = random_chain(np.random.default_rng(0), 6, 2, batch=batch)
    together = smooth(**chain)
    assert together.mean.shape == (*batch, 6, 2)
    assert together.cross.shape == (*batch, 5, 2, 2)
    assert together.log_normaliser.shape == batch
    for index in np.ndindex(batch):
        alone = smooth(**{key: each[index] for key, each in chain.items()})
        for name in ("mean", "covariance", "cross", "conditional_entropy", "log_normaliser"):
            close(getattr(together, name)[index], getattr(alone, name), 1e-13)


def test_bare_transitions_serve_all_times_and_series():
    chain = random_chain(np.random.default_rng(1), 5, 2, batch=(3,))
    for key in ("matrix", "offset", "noise_precision"):
        chain[key] = chain[key][0, 0]
    for key in ("start_linear", "start_precision"):
        chain[key] = chain[key][0]
    together = smooth(**chain)
    for series in range(3):
        one = {**chain, "linear": chain["linear"][series], "precision": chain["precision"][series]}
        close(together.mean[series], dense_chain(**one).mean)


def test_transitions_may_vary_over_series_alone():
    chain = random_chain(np.random.default_rng(2), 5, 2, batch=(3,))
    for key in ("matrix", "offset", "noise_precision"):
        chain[key] = chain[key][:, :1]
    together = smooth(**chain)
    for series in range(3):
        one = {key: each[series] for key, each in chain.items()}
        close(together.log_normaliser[series], dense_chain(**one).log_normaliser)


def test_without_messages_the_chain_is_its_prior():
    chain = random_chain(np.random.default_rng(3), 7, 3, gaps=1.1)
    result = smooth(**chain)
    assert (chain["precision"] == 0.0).all()
    close(result.log_normaliser, 0.0, 1e-13)
    close(result.mean[1], chain["matrix"][0] @ result.mean[0] + chain["offset"][0])


def test_nearly_noiseless_steps_and_vague_starts_keep_their_digits():
    """Vague readings of what is nearly a constant: every state has the start's precision plus that of all readings."""
    length, readings = 50, 1e-8
    result = smooth_scalar(
        np.full(length, readings * 3.0), np.full(length, readings), start_linear=0.0, start_precision=1e-12,
        coefficient=1.0, offset=0.0, noise_precision=1e20,
    )  # fmt: skip
    total = 1e-12 + length * readings
    np.testing.assert_allclose(result.var, 1.0 / total, rtol=1e-9)
    np.testing.assert_allclose(result.mean, 3.0 * length * readings / total, rtol=1e-9)
    one = np.ones((1, 1))
    vector = smooth(
        np.full((length, 1), readings * 3.0), readings * one, start_linear=np.zeros(1), start_precision=1e-12 * one,
        matrix=one, offset=np.zeros(1), noise_precision=1e20 * one,
    )  # fmt: skip
    np.testing.assert_allclose(vector.covariance[:, 0, 0], result.var, rtol=1e-12)


def test_singular_transitions_are_allowed():
    chain = random_chain(np.random.default_rng(4), 5, 3)
    chain["matrix"] = np.diag([1.0, 0.0, 0.0])
    result, dense = smooth(**chain), dense_chain(**chain)
    close(result.mean, dense.mean)
    close(result.entropy(), dense.entropy)


def test_a_long_series():
    """Stationary far from both ends: the filtered variance solves its quadratic, and so does the smoothed one."""
    length, a, q, r = 10_000, 0.9, 0.5, 2.0
    result = smooth_scalar(
        np.zeros(length), np.full(length, 1.0 / r), start_linear=0.0, start_precision=1.0,
        coefficient=a, offset=0.0, noise_precision=1.0 / q,
    )  # fmt: skip
    forward = np.roots([1.0, r * (1.0 - a**2) - q, -q * r]).max()  # predictive variance P = a^2 P r / (P + r) + q
    filtered = forward * r / (forward + r)
    gain = filtered * a / forward
    smoothed = filtered * (1.0 - gain * a) / (1.0 - gain**2)
    np.testing.assert_allclose(result.var[length // 2], smoothed, rtol=1e-12)
    np.testing.assert_allclose(result.cross[length // 2], gain * smoothed, rtol=1e-12)


def test_what_is_not_positive_definite_is_named():
    chain = random_chain(np.random.default_rng(5), 4, 2)
    for name in ("start_precision", "noise_precision"):
        with pytest.raises(ImproperMarginal, match=f"{name} is not positive definite"):
            smooth(**{**chain, name: 0.0 * chain[name]})
    with pytest.raises(ImproperMarginal, match="precision of the marginal at time 0 is not positive definite"):
        smooth(**{**chain, "precision": -100.0 * np.eye(2)})
    scalar = as_scalars(random_chain(np.random.default_rng(5), 4, 1))
    for name in ("start_precision", "noise_precision"):
        with pytest.raises(ImproperMarginal, match=f"{name} is 0; it must be positive"):
            smooth_scalar(**{**scalar, name: 0.0})


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("weight", [-1.0, -2.0])
def test_scalar_messages_that_outweigh_the_chain_are_refused(batch, weight):
    chain = {"start_linear": 0.0, "start_precision": 1.0, "coefficient": 1.0, "offset": 0.0, "noise_precision": 1.0}
    with pytest.raises(ImproperMarginal, match="a message of negative precision outweighs"):
        smooth_scalar(np.zeros((*batch, 2)), np.array([weight, 0.0]), **chain)
    mild = smooth_scalar(np.zeros((*batch, 2)), np.array([-0.5, 0.0]), **chain)
    np.testing.assert_allclose(mild.var[..., 0], 2.0, rtol=1e-15)


def test_shapes_that_do_not_fit_are_named():
    chain = random_chain(np.random.default_rng(6), 4, 2)
    with pytest.raises(SpecError, match=r"matrix \(or coefficient\) has shape \(4, 2, 2\); .* \(..., 3, 2, 2\)"):
        smooth(**{**chain, "matrix": np.zeros((4, 2, 2))})
    with pytest.raises(SpecError, match="use the scalar functions"):
        smooth(**{**chain, "linear": np.zeros(4)})
    with pytest.raises(SpecError, match="T must be at least 1"):
        smooth(**{**chain, "linear": np.zeros((0, 2))})
    with pytest.raises(SpecError, match="precision holds NaN or infinity; a missing observation is a flat message"):
        smooth(**{**chain, "precision": np.full((4, 2, 2), np.nan)})
    with pytest.raises(SpecError, match=r"leading \(batch\) axes do not broadcast: linear \(2, 4, 2\)"):
        smooth(**{**chain, "linear": np.zeros((2, 4, 2)), "start_linear": np.zeros((3, 2))})
    with pytest.raises(SpecError, match="linear is a single number"):
        smooth_scalar(**{**as_scalars(random_chain(np.random.default_rng(6), 4, 1)), "linear": np.zeros(())})
