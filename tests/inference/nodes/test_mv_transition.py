"""mvnormal: how its scale is given, and its rules against dense algebra."""

import numpy as np
import pytest

from inference.distributions import MvNormal
from inference.errors import NoRule, SpecError
from inference.nodes.mv_transition import MvTransition
from inference.structure import Variable
from inference.terms import full
from tests.support.inboxes import inbox

Q = np.array([[0.9, 0.2], [0.2, 0.5]])
A = np.array([[0.8, -0.3, 0.4], [0.2, 0.9, -0.5]])
b = np.array([0.3, -0.5])
NODE = MvTransition(precision=np.linalg.inv(Q), matrix=A, offset=b)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"mean": 0.0, "cov": 4.0, "dim": 2}, 0.25 * np.eye(2)),
        ({"mean": np.zeros(2), "cov": [1.0, 4.0]}, np.diag([1.0, 0.25])),
        ({"mean": np.zeros(2), "cov": Q}, np.linalg.inv(Q)),
        ({"mean": 0.0, "precision": Q}, Q),
        ({"mean": 0.0, "precision": 2.0, "matrix": A[:, :2]}, 2.0 * np.eye(2)),
        ({"mean": Variable("u", "real", (), (2,)), "precision": 3.0}, 3.0 * np.eye(2)),
    ],
)
def test_every_way_to_give_the_scale(given, wanted):
    call = MvTransition.arguments(**given)
    np.testing.assert_allclose(call["precision"], wanted, rtol=1e-13, atol=1e-15)
    assert "cov" not in call and "dim" not in call


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean": 0.0, "cov": 1.0}, "pass dim="),
        ({"mean": 0.0, "cov": 1.0, "precision": 1.0, "dim": 2}, "cov= or precision=, one of them"),
        ({"mean": 0.0, "dim": 2}, "cov= or precision=, one of them"),
        ({"mean": np.zeros(3), "cov": Q}, "disagree on how long x is"),
        ({"cov": Q}, "takes mean="),
        ({"mean": 0.0, "cov": [[1.0, 2.0], [2.0, 1.0]]}, "covariance of an mvnormal is not positive definite"),
        ({"mean": 0.0, "cov": [[1.0, 0.5], [0.0, 1.0]]}, "a symmetric matrix"),
    ],
)
def test_scales_that_are_none(given, said):
    with pytest.raises(SpecError, match=said):
        MvTransition.arguments(**given)


def test_a_precision_that_is_not_positive_definite_or_not_known():
    with pytest.raises(SpecError, match="precision of an mvnormal is not positive definite"):
        MvTransition(precision=np.diag([1.0, 0.0]))
    with pytest.raises(NoRule, match="use normal, softdot or normal_gamma"):
        MvTransition.arguments(mean=np.zeros(2), precision=Variable("t", "positive", ()))


def test_rules_against_dense_algebra():
    mean, x = MvNormal([0.1, 0.7, -0.4], cov=np.diag([0.5, 0.3, 0.9])), np.array([1.2, 0.4])
    q = inbox(NODE, x=x, mean=mean)
    linear, precision = (full(c) for c in NODE.message("mean", q))
    np.testing.assert_allclose(linear, A.T @ np.linalg.inv(Q) @ (x - b), rtol=1e-13)
    np.testing.assert_allclose(precision, A.T @ np.linalg.inv(Q) @ A, rtol=1e-13)
    forward = NODE.forward("x", q)
    np.testing.assert_allclose(forward.mean(), A @ mean.mean() + b, rtol=1e-13)
    np.testing.assert_allclose(forward.covariance, Q + A @ mean.covariance @ A.T, rtol=1e-12)


def test_rules_it_does_not_have():
    q = inbox(NODE, x=np.zeros(2), mean=np.zeros(3))
    with pytest.raises(NoRule, match="mvnormal has no rule toward mean"):
        NODE.forward("mean", q)
    with pytest.raises(NoRule, match="Gaussian cluster"):
        NODE.linear(frozenset({"x"}), q)
