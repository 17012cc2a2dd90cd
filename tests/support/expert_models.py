"""Models of the tests in the language of ``inference``: gated experts with their options, and exact ones.

``settle`` runs a model until its numbers stand still, however flat the free energy is by then.
"""

from typing import Any

import numpy as np

import inference as P
from inference.callbacks import Event
from inference.free_energy import total
from tests.support.gated_experts import Experts, Options

Array = np.ndarray


@P.model
def experts(
    m,
    phi,
    yhat,
    y,
    *,
    w_mean=0.0,
    w_precision=0.01,
    tau=(1.0, 1.0),
    beta=None,
    kappa=None,
    alpha=1.0,
    jacobian=0,
):
    """Precision-gated experts (message passing 4.2, 4.3).

    Precisions are (shape, rate), or a number where known. ``beta`` adds the rate prior, ``kappa`` makes them noisy.
    """
    rows, each = m.plate("obs", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=w_mean, precision=w_precision, dim=phi.shape[1], plates=each)
    z = m.softdot("z", w, phi, _precision(m, "tau", tau, each), plates=(rows, each))
    gamma = m.exp("gamma", z, jacobian=jacobian)
    if beta is not None:
        m.gamma(gamma, alpha, m.gamma("beta", *beta, plates=each))
    if kappa is None:
        m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(rows, each))
    else:
        pred = m.normal("pred", mean=yhat, precision=_precision(m, "kappa", kappa, each), plates=(rows, each))
        m.normal("y", mean=pred, precision=gamma, observed=y, plates=(rows, each))


def _precision(m, name, given, plates):
    return given if np.ndim(given) == 0 else m.gamma(name, *given, plates=plates)


def bound(x: Experts, o: Options) -> Any:
    """The experts' model with the oracle's priors and options."""
    rate = {"beta": np.array(x.beta), "alpha": x.alpha} if o.gamma_factor else {}
    noise = {"kappa": _given(x.kappa)} if o.noisy else {}
    return experts.bind(
        w_mean=x.w_mean, w_precision=x.w_precision, tau=_given(x.tau), jacobian=o.jacobian, **rate, **noise
    )


def _given(precision: tuple[float, float]) -> Any:
    """The oracle's (inf, value) as a known number."""
    shape, rate = precision
    return rate if shape == np.inf else np.array([shape, rate])


def data_of(x: Experts) -> dict[str, Array]:
    """What the model is given."""
    return {"phi": x.phi, "yhat": x.yhat, "y": x.y}


def mean_field(o: Options) -> list[Any]:
    """All variables apart, with the forms of the options."""
    form = {"gauss": "gaussian"}.get(o.link_marginal, o.link_marginal)
    return [P.MeanField(), P.Form("z", form)] + [P.Form("w", "diagonal")] * (o.cov == "diag")


@P.model
def static(m, yhat, y, *, shape, rate):
    """The static ensemble (message passing 4.1): one Gamma a group of equal priors."""
    rows = m.plate("obs", len(y))
    each = m.plate("expert", yhat.shape[1])
    gamma = m.prior("gamma", P.Gamma(shape, rate), plates=each)
    m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(rows, each))


@P.model
def regression(m, x, y, *, mean, cov, tau):
    """Known noise (5.1)."""
    w = m.mvnormal("w", mean=mean, cov=cov, dim=x.shape[1])
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def latent_regression(m, x, y, *, mean, cov, tau, s):
    """A latent z a row between the weights and the observation (5.1)."""
    rows = m.plate("row", len(y))
    w = m.mvnormal("w", mean=mean, cov=cov, dim=x.shape[1])
    z = m.softdot("z", w, x, tau, plates=rows)
    m.normal("y", mean=z, precision=s, observed=y, plates=rows)


@P.model
def conjugate_regression(m, x, y, *, mean, precision, shape, rate):
    """Weights and noise in one normal-gamma (5.3)."""
    w, tau = m.normal_gamma(("w", "tau"), mean=mean, precision=precision, shape=shape, rate=rate)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def independent_regression(m, x, y, *, w_precision, shape, rate):
    """Weights and noise with independent priors."""
    w = m.mvnormal("w", mean=0.0, precision=w_precision, dim=x.shape[1])
    m.softdot("y", w, x, m.gamma("tau", shape, rate), observed=y, plates=m.plate("row", len(y)))


@P.model
def sample_of_normals(m, y, *, mean, precision, shape, rate):
    """Independent draws of one Gaussian with unknown mean and precision."""
    mu = m.normal("mu", mean=mean, precision=precision)
    m.normal("y", mean=mu, precision=m.gamma("tau", shape, rate), observed=y, plates=m.plate("row", len(y)))


@P.model
def local_level(m, y, *, start_mean, start_var, q, r):
    """A random walk under noise (5.2); NaN is missing."""
    time = m.plate("time", len(y))
    x = m.chain(
        "x", start=P.Normal(start_mean, start_var), step=lambda a: {"mean": a, "precision": 1.0 / q}, length=time
    )
    m.normal("y", mean=x, precision=1.0 / r, observed=y)


@P.model
def state_space(m, y, *, start_mean, start_cov, matrix, noise_cov, read, noise_precision):
    """``x_t ~ N(A x_{t-1}, Q)`` read by one vector, ``y_t ~ N(c'x_t, r)``; NaN is missing."""
    time = m.plate("time", len(y))
    x = m.chain(
        "x",
        start=P.MvNormal(start_mean, start_cov),
        step=lambda a: {"mean": a, "matrix": matrix, "cov": noise_cov},
        length=time,
    )
    m.softdot("y", x, read, noise_precision, observed=y, plates=time)


@P.model
def hierarchy(m, y, group, *, between, within, row=None):
    """Group means around one mean, rows around the mean of their group; ``row`` puts a latent one a row between."""
    grand = m.normal("grand", mean=0.0, precision=0.1)
    groups = m.plate("group", int(np.max(group)) + 1)
    each = m.normal("effect", mean=grand, precision=between, plates=groups)
    rows = m.plate("row", len(y))
    mean = each.at("group", np.asarray(group, int), onto=rows)
    if row is not None:
        mean = m.normal("latent", mean=mean, precision=row)
    m.normal("y", mean=mean, precision=within, observed=y)


class Still:
    """Stop when no number of any block's first marginal moved by more than ``tolerance (1 + |x|)``."""

    def __init__(self, tolerance: float = 1e-13) -> None:
        self.tolerance = tolerance
        self._last: dict[str | None, dict[str, Array]] = {}
        self._moved = 0.0

    def __call__(self, event: Event) -> Any:
        if event.kind == "after_update" and event.marginal is not None:
            old, new = self._last.get(event.variable), event.marginal.arrays()
            self._moved = max(self._moved, np.inf if old is None or old.keys() != new.keys() else _step(old, new))
            self._last[event.variable] = new
        if event.kind == "after_iteration":
            moved, self._moved = self._moved, 0.0
            return P.STOP if moved <= self.tolerance else None
        return None


def _step(old: dict[str, Array], new: dict[str, Array]) -> float:
    return max(float(np.max(np.abs(a - old[k]) / (1.0 + np.abs(a)), initial=0.0)) for k, a in new.items())


def settle(
    model: Any, data: dict[str, Any], constraints: Any = (), *, limit: int = 20000, **options: Any
) -> tuple[Any, float]:
    """The result where parameters stand, and its free energy."""
    result = P.infer(
        model,
        data=data,
        constraints=constraints,
        iterations=limit,
        free_energy=False,
        callbacks=[Still(options.pop("tolerance", 1e-13))],
        **options,
    )
    assert result.n_iter < limit, f"no fixed point in {limit} iterations"
    return result, total(result.plan.program, result.state)
