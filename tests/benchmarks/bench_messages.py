"""Speed of message passing, against a hand-written loop and BayesPy in the same run, RxInfer's published times beside.

``make bench``, or ``OMP_NUM_THREADS=1 python -m tests.benchmarks.bench_messages``. Nothing is asserted: a shared
machine cannot promise a time. Each time is the shortest of several runs after a warm-up; compare one run only.

RxInfer's figures are those of its own benchmark site (version 5.5.2, Julia 1.11, warm medians, another machine); its
time to a first result is given there as 16 to 43 s.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import inference as P
from inference.links.gaussian import solve_gaussian
from tests.support.gated_experts import Experts, Options
from tests.support.gated_experts_loops import mean_field_loop
from tests.support.gated_experts_structured_loop import structured_loop


@P.model
def experts(m, phi, yhat, y):
    obs, ex = m.plate("obs", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=0.01, dim=phi.shape[1], plates=ex)
    tau = m.gamma("tau", shape=1.0, rate=1.0, plates=ex)
    z = m.softdot("z", w, phi, tau, plates=(obs, ex))
    m.normal("yhat", mean=y, precision=m.exp("gamma", z), observed=yhat, plates=(obs, ex))


@P.model
def iid(m, y):
    mu = m.normal("mu", mean=0.0, precision=0.01)
    tau = m.gamma("tau", 1.0, 1.0)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def regression(m, x, y):
    w = m.mvnormal("w", mean=0.0, precision=0.01, dim=x.shape[1])
    tau = m.gamma("tau", 1.0, 1.0)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def level(m, y):
    x = m.chain("x", start=P.Normal(0.0, 100.0), step=lambda a: {"mean": a, "precision": 1.0}, length=len(y))
    m.normal("y", mean=x, precision=1.0, observed=y)


@P.model
def rotation(m, y):
    turn = np.array([[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]])
    start = P.MvNormal(np.zeros(2), 100.0 * np.eye(2))
    x = m.chain("x", start=start, step=lambda a: {"mean": a, "matrix": turn, "cov": 0.1 * np.eye(2)}, length=len(y))
    m.mvnormal("y", mean=x, cov=np.eye(2), observed=y)


@P.model
def coin(m, y):
    bias = m.beta("bias", a=1.0, b=1.0)
    m.bernoulli("y", bias, observed=y, plates=m.plate("toss", len(y)))


def shortest(function: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest wall time of several calls after one that warms up, in seconds."""
    function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def five(model: P.Result, data: dict[str, Any], constraints: list[Any]) -> Callable[[], Any]:
    return lambda: P.infer(model, data=data, constraints=constraints, iterations=5, rtol=0.0, atol=0.0)


def gated_data(rows: int, count: int, d: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    phi, y = rng.standard_normal((rows, d)), rng.standard_normal(rows)
    phi[:, -1] = 1.0
    scales = np.exp(0.5 * rng.standard_normal(count))
    return {"phi": phi, "yhat": y[:, None] + scales * rng.standard_normal((rows, count)), "y": y}


def gated_experts() -> None:
    """N=5000, K=7, d=65, full covariance, five iterations; targets 0.5 s, 2 s, and 3 times the loop."""
    data = gated_data(5000, 7, 65)
    case = Experts(**data, w_precision=0.01, tau=(1.0, 1.0))
    options = Options(gamma_factor=False)
    for name, constraints, loop in (
        ("mean field", [P.MeanField()], mean_field_loop),
        ("structured", [], structured_loop),
    ):
        ours = shortest(five(experts, data, constraints))
        by_hand = shortest(lambda loop=loop: loop(case, options, 5, solve_gaussian))
        print(f"gated experts {name}: {ours:.3f} s, {ours / by_hand:.2f} times the hand-written loop ({by_hand:.3f} s)")
    large = gated_data(20_000, 5, 8)
    print(f"gated experts, 100,000 edges, mean field: {shortest(five(experts, large, [P.MeanField()]), 3):.3f} s")
    result = five(experts, data, [P.MeanField()])()
    new = {"phi": data["phi"][:1000], "yhat": data["yhat"][:1000]}
    print(f"gated experts, forward prediction of 1000 rows: {shortest(lambda: result.predict(new)):.3f} s")


def bayespy_regression(x: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    """The same model and number of updates in BayesPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bayespy.inference import VB
        from bayespy.nodes import Gamma, GaussianARD, SumMultiply

    def run() -> None:
        w = GaussianARD(0.0, 0.01, shape=(x.shape[1],))
        tau = Gamma(1.0, 1.0)
        f = SumMultiply("i,i", w, x)
        rows = GaussianARD(f, tau)
        rows.observe(y)
        VB(rows, w, tau).update(repeat=5, tol=0.0, verbose=False)

    return run


def against_bayespy() -> None:
    """Linear regression N=5000, d=65, five iterations; target 50 times."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5000, 65)), rng.standard_normal(5000)
    ours = shortest(five(regression, {"x": x, "y": y}, []), 10)
    theirs = shortest(bayespy_regression(x, y), 3)
    print(f"regression N=5000 d=65: {ours:.4f} s, BayesPy {theirs:.3f} s, {theirs / ours:.0f} times as long")


def beside_rxinfer() -> None:
    """The models RxInfer publishes figures for, n = 10,000."""
    rng = np.random.default_rng(2)
    n, y = 10_000, rng.standard_normal(10_000)
    x = np.stack([rng.standard_normal(n), np.ones(n)], axis=1)
    tosses = (rng.random(n) < 0.3).astype(float)
    rows = [
        ("i.i.d. normal, mean field", lambda: P.infer(iid, data={"y": y}), 0.92),
        ("univariate linear regression", lambda: P.infer(regression, data={"x": x, "y": y}), 11.7),
        ("Kalman smoothing, scalar state", lambda: P.infer(level, data={"y": y}), 4.75),
        ("Kalman smoothing, state of two", lambda: P.infer(rotation, data={"y": rng.standard_normal((n, 2))}), 4.75),
        ("Kalman filtering, scalar state", lambda: filtered(y), 0.21),
        ("coin toss", lambda: P.infer(coin, data={"y": tosses}), 0.22),
    ]
    for name, run, published in rows:
        print(f"{name}, n=10,000: {shortest(run, 3):.4f} s (RxInfer publishes {published} s)")


def filtered(y: np.ndarray) -> Any:
    from inference.gaussians.chain import filter_scalar

    return filter_scalar(
        y, np.ones_like(y), start_linear=0.0, start_precision=0.01, coefficient=1.0, offset=0.0, noise_precision=1.0
    )


def first_result() -> None:
    """A fresh process: import, build, infer."""
    code = (
        "import inference as P, numpy as np\n"
        "@P.model\n"
        "def iid(m, y):\n"
        "    mu = m.normal('mu', mean=0.0, precision=0.01)\n"
        "    tau = m.gamma('tau', 1.0, 1.0)\n"
        "    m.normal('y', mean=mu, precision=tau, observed=y, plates=m.plate('row', len(y)))\n"
        "P.infer(iid, data=dict(y=np.arange(100.0)))\n"
    )
    took = shortest(lambda: subprocess.run([sys.executable, "-c", code], check=True), 3)
    print(f"start of Python, import and first result: {took:.2f} s (RxInfer publishes 16 to 43 s; target 2 s)")


if __name__ == "__main__":
    gated_experts()
    against_bayespy()
    beside_rxinfer()
    first_result()
