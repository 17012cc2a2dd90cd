"""How often credible intervals of weights cover the truth, over 300 simulated data sets in one program (6.6)."""

import numpy as np
import pytest

import inference as P

SETS, ROWS, D, TAU = 300, 150, 2, 4.0


@P.model
def many(m, phi, yhat, y):
    """One expert a data set, each with features and targets of its own."""
    rows, sets = m.plate("obs", ROWS), m.plate("set", SETS)
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=D, plates=sets)
    gamma = m.exp("gamma", m.softdot("z", w, phi, TAU, plates=(rows, sets)))
    m.normal("yhat", mean=y, precision=gamma, observed=yhat)


def draw(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Data from the normalised model, and the weights they came from."""
    phi = np.stack([rng.standard_normal((ROWS, SETS)), np.ones((ROWS, SETS))], axis=-1)
    y, w = rng.standard_normal((ROWS, SETS)), rng.standard_normal((SETS, D))
    z = (phi * w).sum(-1) + rng.standard_normal((ROWS, SETS)) / np.sqrt(TAU)
    return {"phi": phi, "yhat": y + np.exp(-0.5 * z) * rng.standard_normal((ROWS, SETS)), "y": y}, w


@pytest.mark.slow
def test_intervals_cover_simulated_weights():
    """90% intervals: the joint covers at least 80% (about 87 expected), independent weights far fewer."""
    data, truth = draw(np.random.default_rng(20250))
    covered = {}
    for name, constraints in {"structured": [], "mean field": [P.MeanField()]}.items():
        result = P.infer(many, data=data, constraints=constraints, iterations=400)
        assert result.converged
        w = result.posteriors["w"]
        covered[name] = float((np.abs(truth - w.mean()) <= 1.6449 * w.std()).mean())
    print(f"90% intervals cover: {covered}")
    assert covered["structured"] >= 0.80
    assert covered["mean field"] < covered["structured"]
