"""A result as others read it: in ArviZ's container, and printed."""

import numpy as np

import inference as P


@P.model
def regressions(m, x, y):
    sets = m.plate("set", y.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=x.shape[1], plates=sets)
    tau = m.gamma("tau", 2.0, 1.0, plates=sets)
    m.softdot("y", w, x, tau, observed=y, plates=(m.plate("row", len(y)), sets))


def fitted() -> P.Result:
    rng = np.random.default_rng(0)
    return P.infer(regressions, data={"x": rng.standard_normal((30, 2)), "y": rng.standard_normal((30, 3))})


def test_draws_reach_arviz_with_the_plates_as_dimensions():
    result = fitted()
    posterior = result.to_inferencedata(draws=4000, seed=1).posterior
    assert posterior["w"].dims == ("chain", "draw", "set", "w_0") and posterior["tau"].dims == ("chain", "draw", "set")
    for name in ("w", "tau"):
        q, drawn = result.posteriors[name], posterior[name].values[0]
        assert np.all(np.abs(drawn.mean(0) - q.mean()) < 5.0 * q.std() / np.sqrt(4000))
    again = result.to_inferencedata(draws=10, seed=1).posterior["w"].values
    assert np.array_equal(again, result.to_inferencedata(draws=10, seed=1).posterior["w"].values)


def test_a_printed_result_says_what_it_is():
    result = fitted()
    lines = str(result).splitlines()
    assert lines[0].startswith("regressions: free energy") and "converged" in lines[0]
    assert lines[1] == "posterior q(w)q(tau)" and {line.split()[0] for line in lines[3:]} == {"w", "tau"}
