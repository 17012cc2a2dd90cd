"""The gap between free cell and exact corner: what turns the verdict, and golden decompositions."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import heteroscedasticity_gap as module
from corners.claims._base import FAILS
from corners.exact import corner_deficit
from tests.support.golden import golden


def test_broken_deficit_turns_the_verdict(monkeypatch):
    """Truth and model exchanged in the divergence of the corner."""

    def broken(truth, corner, free, *, weights):
        return corner_deficit(corner, truth, corner, weights=weights) - corner_deficit(
            free, truth, free, weights=weights
        )

    monkeypatch.setattr(module, "corner_deficit", broken)
    claim = module.HeteroscedasticityGap.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_prior_term_turns_the_verdict(monkeypatch):
    """A free cell that forgets its prior term does not notice that the fourth condition was dropped."""

    class Nothing:
        value = 0.0

    monkeypatch.setattr(module, "prior_overlap", lambda *_: Nothing)
    claim = module.HeteroscedasticityGap.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("inside", [True, False])
def test_golden_population(inside):
    """Both populations of the golden file: heteroscedasticity, and what the family recovers of it."""
    (case,) = (
        c for c in golden("hetero_gap")["cases"] if c["id"] == f"population_{'in' if inside else 'outside'}_family"
    )
    grid, shares = module._population()
    pair = module._pairs(module.HeteroscedasticityGap().problem(), grid, shares)[
        "all" if inside else "s² outside of the family"
    ]
    total = 0.5 * (np.log(shares @ pair.truth) - shares @ np.log(pair.truth))
    np.testing.assert_allclose(total, case["expected"]["total_heteroscedasticity"], rtol=1e-9)
    np.testing.assert_allclose(module._gap(pair, shares), case["expected"]["recoverable"], rtol=1e-6)


def test_the_offset_of_the_mean_is_paid_in_units_of_the_variance():
    """``½δ²/V`` on top, by hand."""
    pair = module.Pair(*(np.full(2, each) for each in (1.0, 1.0, 1.0, 0.0)))
    shares = np.array([0.5, 0.5])
    assert module._gap(pair, shares) == 0.0
    moved = pair._replace(offset=np.array([2.0, 0.0]))
    assert module._gap(moved, shares) == pytest.approx(1.0)


def test_a_corner_on_many_rows_is_near_its_condition():
    """With rows enough the mean and the leverage come right by themselves; the prior term and the family do not."""
    claim = module.HeteroscedasticityGap.example()
    problem = claim.problem()
    generator = np.random.default_rng(0)
    features = module._rows(generator.uniform(-1.0, 1.0, 4000))
    noise = np.sqrt(module._inside(features)) * generator.standard_normal(4000)
    many = replace(problem, features=features, targets=features @ module.WEIGHTS + noise)
    pairs = module._pairs(many, *module._population())
    shares = module._population()[1]
    exact = module._gap(pairs["all"], shares)
    assert module._gap(pairs["another mean"], shares) == pytest.approx(exact, abs=2e-3)
    assert module._gap(pairs["leverage"], shares) == pytest.approx(exact, abs=1e-4)
    assert module._gap(pairs["the prior term"], shares) == pytest.approx(exact, abs=1e-4)
