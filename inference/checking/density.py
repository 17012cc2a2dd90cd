"""The density itself, and draws from it: it integrates to one over its outputs, and samples have its moments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from inference.checking.draws import length, random_points
from inference.checking.moments import REACH, PortMoments, port_moments
from inference.checking.quadrature import Axis
from inference.checking.report import CheckRow, Judge
from inference.distributions import Distribution, MvNormal, NormalGamma
from inference.errors import SpecError
from inference.nodes._base import Node
from inference.types import Values

DRAWS = 20_000
STANDARD_ERRORS = 5.0

Events = Mapping[str, tuple[int, ...]]


def check(node: Node, events: Events, always: Mapping[str, Values], judge: Judge, rng: Any) -> None:
    """Both, at one random point of the ports that are no outputs."""
    if set(node.outputs) & set(always) or sum(length(events[p]) for p in node.outputs) not in REACH:
        return
    types = node.port_types()
    inputs = {
        p: always[p][:1] if p in always else random_points(types[p], (1,), e, rng)
        for p, e in events.items()
        if p not in node.outputs
    }
    axes = [Axis({p: value}, np.ones(1)) for p, value in inputs.items()]
    outputs = {p: types[p] for p in node.outputs}
    given = ", ".join(f"{p} known" for p in inputs) or "its constants"

    def integral(coarse: bool) -> Values:
        return np.asarray(port_moments(node.log_density, outputs, events, axes, coarse).log_integral)

    judge.compare("log_density", f"integrates over {', '.join(outputs)}", given, lambda: np.zeros(()), integral)
    _check_sample(node, events, inputs, port_moments(node.log_density, outputs, events, axes), judge, rng)


def _check_sample(
    node: Node, events: Events, inputs: Mapping[str, Values], wanted: PortMoments, judge: Judge, rng: Any
) -> None:
    """First and second moments of draws, in standard errors."""
    given, ports = "the other ports", f"of {', '.join(node.outputs)}"
    try:
        drawn = node.sample(inputs, (DRAWS,), rng)
        values = np.concatenate([drawn[p].reshape(DRAWS, length(events[p])) for p in node.outputs], axis=1)
    except SpecError:
        judge.absent.append("sample")
        return
    except Exception as error:  # an author's sampler may raise anything; what it raised is the finding
        judge.fail("sample", ports, given, f"raised {type(error).__name__}: {error}")
        return
    deviation = values - wanted.mean
    products = deviation[:, :, None] * deviation[:, None, :] - wanted.covariance
    errors = np.concatenate([_in_standard_errors(deviation), _in_standard_errors(products.reshape(DRAWS, -1))])
    worst = float(np.nan_to_num(np.abs(errors).max(), nan=np.inf))
    stated = (
        f"mean {np.round(values.mean(axis=0), 4)} against {np.round(wanted.mean, 4)}, worst {worst:.1f} standard errors"
    )
    passed = worst <= STANDARD_ERRORS
    judge.rows.append(CheckRow("sample", ports, given, worst, passed, note="" if passed else stated))


def _in_standard_errors(centred: Values) -> Values:
    spread = centred.std(axis=0) / np.sqrt(len(centred))
    return centred.mean(axis=0) / np.where(spread > 0.0, spread, 1e-12)


def moments_of(q: Distribution, event: tuple[int, ...]) -> Values:
    """Mean and covariance that a batch of distributions states, flat, one line an entry.

    Example
    -------
    >>> from inference.distributions import Normal
    >>> moments_of(Normal(np.zeros(1), np.ones(1)), ())
    array([[0., 1.]])
    """
    d = length(event)
    mean = q.mean().reshape(-1, d)
    if isinstance(q, NormalGamma):
        return np.concatenate([mean, q.weights_covariance().reshape(-1, d * d)], axis=1)
    covariance = q.covariance if isinstance(q, MvNormal) else q.var().reshape(-1, d)[..., None] * np.eye(d)
    return np.concatenate([mean, covariance.reshape(-1, d * d)], axis=1)
