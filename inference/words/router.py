"""The split-branch router: a score chooses between two values by the precisions e^s and e^-s it gives them."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from inference.building import Builder, model
from inference.distributions import Normal
from inference.errors import SpecError
from inference.structure import Known, Plate, Variable
from inference.types import Array

Plates = Plate | tuple[Plate, ...]


def route(
    m: Builder, name: str, score: Variable, left: Any, right: Any, *, plates: Plates, precision: Any = 10.0
) -> Variable:
    """A real variable that is ``left`` where the score is positive and ``right`` where it is negative (4.4).

    name ~ N(left, e^-s) and name ~ N(right, e^s') with s ~ N(score, 1/precision) and s' ~ N(-score, 1/precision): two
    normals on one variable. As precision grows it is sigmoid(2 score) left + sigmoid(-2 score) right. ``left`` and
    ``right`` are real variables or known. Makes ``name.left`` and ``name.right`` (s and s'), ``name.k_left`` and
    ``name.k_right`` (their exponentials).

    Example
    -------
    >>> rows = (m := Builder("one", {})).plate("row", 2)
    >>> h = m.softdot("h", np.ones(1), np.ones((2, 1)), 1.0, plates=rows)
    >>> route(m, "value", h, 1.0, 0.0, plates=rows)
    Variable('value', real, plates (row=2))
    """
    s_left = m.softdot(f"{name}.left", 1.0, score, precision)
    s_right = m.softdot(f"{name}.right", -1.0, score, precision)
    k_left, k_right = m.exp(f"{name}.k_left", s_left), m.exp(f"{name}.k_right", s_right)
    value = m.normal(name, mean=left, precision=k_left, plates=plates)
    m.normal(value, mean=right, precision=k_right, plates=plates)
    return value


def router(
    m: Builder,
    name: str,
    features: Any,
    gate: Any,
    left: Any,
    right: Any,
    *,
    plates: Plates,
    gate_precision: Any = 10.0,
    switch_precision: Any = 10.0,
    branch_precision: Any = 10.0,
) -> Variable:
    """One of two linear scores of the features, chosen by a third: ``gate'phi > 0`` selects ``left`` (4.4).

    ``gate``, ``left`` and ``right`` are known vectors (name their plates with ``m.data``) or real vector variables.
    Makes ``name.h``, ``name.z_left`` and ``name.z_right`` besides what :func:`route` makes, and returns ``name``.

    Example
    -------
    >>> rows = (m := Builder("one", {})).plate("row", 4)
    >>> router(m, "score", np.ones((4, 2)), *np.eye(3, 2), plates=rows)
    Variable('score', real, plates (row=4))
    """
    h = m.softdot(f"{name}.h", gate, features, gate_precision, plates=plates)
    z_left = m.softdot(f"{name}.z_left", left, features, branch_precision, plates=plates)
    z_right = m.softdot(f"{name}.z_right", right, features, branch_precision, plates=plates)
    return route(m, name, h, z_left, z_right, plates=plates, precision=switch_precision)


@model
def routed_experts(  # noqa: PLR0913  the data, the weights and every precision of the model
    m: Builder,
    phi: Any,
    yhat: Any,
    y: Any,
    *,
    gate: Any = None,
    left: Any = None,
    right: Any = None,
    weights_precision: Any = 1.0,
    gate_precision: Any = 10.0,
    switch_precision: Any = 10.0,
    branch_precision: Any = 10.0,
) -> None:
    """yhat_ij ~ N(y_j, e^-m_ij), m_ij a router of phi_j and expert i (message_passing 4.4).

    ``gate``, ``left`` and ``right`` are weights, (K, d), or (d,) where the experts share them; bind them, so that
    predictions know them too. Those that are None are latent, named ``gate``, ``left`` and ``right``, a priori
    N(0, 1/weights_precision), an expert each. Learning them is multimodal, because nothing tells the branches apart:
    pass ``restarts=`` and ``seed=``; the first start is the symmetric one, from which a gate never moves. And the two
    normals on m are no normalised density: deciding costs about abs(h)/2 nats a row and expert, and so do branches that
    differ where the gate is soft, so that the lowest free energy often belongs to a router that routes nothing. Judge
    learned routers by their predictions.

    Under ``MeanField()`` a branch follows the score it is chosen for: hundreds of sweeps where precisions are near 1.
    The plan without constraints solves scores and branches jointly.

    Example
    -------
    >>> from inference import infer, missing
    >>> xor = routed_experts.bind(**xor_weights())
    >>> r = infer(xor, data=dict(phi=[[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]], yhat=[[0.0, 1.0]] * 2, y=missing(2)))
    >>> r.predictions["y"].mean().round(3)
    array([0., 1.])
    """
    rows, experts = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    given = {"gate": gate, "left": left, "right": right}
    weights = {k: _weights(m, k, v, phi.shape[1], experts, weights_precision) for k, v in given.items()}
    score = router(
        m, "m", phi, **weights, plates=(rows, experts), gate_precision=gate_precision,
        switch_precision=switch_precision, branch_precision=branch_precision,
    )  # fmt: skip
    m.normal("yhat", mean=y, precision=m.exp("gamma", score), observed=yhat, plates=(rows, experts))


def _weights(m: Builder, name: str, given: Any, dim: int, experts: Plate, precision: Any) -> Variable | Known:
    if given is None:
        return m.mvnormal(name, mean=0.0, precision=precision, dim=dim, plates=experts)
    if given.shape not in ((dim,), (experts.size, dim)):
        raise SpecError(f"weights {name!r} have shape {given.shape}; they are ({dim},) or ({experts.size}, {dim})")
    return m.data(name, given, experts if given.ndim == 2 else ())


def router_limit(features: Array, gate: Array, left: Array, right: Array) -> Array:
    """The scores (N, K) of a router as all precisions grow: sigmoid(2h) left'phi + sigmoid(-2h) right'phi.

    Example
    -------
    >>> router_limit(np.array([[0.0, 1.0]]), gate=np.array([5.0, 0.0]), left=np.array([0.0, 3.0]), right=np.zeros(2))
    array([[1.5]])
    """
    h, a, b = (features @ np.atleast_2d(weights).T for weights in (gate, left, right))
    return expit(2.0 * h) * a + expit(-2.0 * h) * b


def combined(scores: Array, forecasts: Array) -> Normal:
    """y ~ N(sum_i e^m_i yhat_i / sum_i e^m_i, 1 / sum_i e^m_i): forecasts of experts of precisions e^m, y flat.

    Example
    -------
    >>> combined(np.zeros((1, 2)), np.array([[0.0, 1.0]]))[0]
    Normal(mean=0.5, var=0.5)
    """
    largest = scores.max(axis=-1)
    total = np.exp(scores - largest[..., None]).sum(axis=-1)
    return Normal((softmax(scores, axis=-1) * forecasts).sum(axis=-1), np.exp(-largest) / total)


def xor_weights() -> dict[str, Array]:
    """Two experts that forecast 0 and 1 compute XOR of (x1, x2, 1) with these weights (message_passing 4.4).

    Example
    -------
    >>> phi = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    >>> combined(router_limit(phi, **xor_weights()), np.tile([0.0, 1.0], (4, 1))).mean().round(3)
    array([0., 1., 1., 0.])
    """
    gate = np.array([14.0, 0.0, -7.0])
    left, right = np.array([0.0, 10.0, 0.0]), np.array([0.0, -10.0, 10.0])
    return {"gate": np.stack([gate, -gate]), "left": left, "right": right}
