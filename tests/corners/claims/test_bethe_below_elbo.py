"""Bethe below the ELBO: what turns the verdict, and the counterexample of the golden file."""

import numpy as np

from corners.claims import bethe_below_elbo as module
from corners.claims._base import FAILS
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Objective, ordering_at, ordering_of
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_prior_term_turns_the_verdict(monkeypatch):
    """Were the prior term of Bethe the divergence of the ELBO, the order would hold in every unit."""

    def broken(*given):
        report = ordering_at(*given)
        return ordering_of(report.map, Objective(report.elbo.prior_term, report.bethe.data_terms), report.elbo)

    monkeypatch.setattr(module, "ordering_at", broken)
    claim = module.BetheBelowElbo.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_the_counterexample_of_the_golden_file():
    """The prior as belief and little data: the total gap is -3.80 nats, that of the data positive."""
    (case,) = golden_cases("ordering", "broad_q_prior")[0].values
    given, expected = case["inputs"], case["expected"]["gap_bethe_elbo"]
    problem = Problem("golden", as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    prior = module._beliefs(problem)["the prior"]
    np.testing.assert_allclose(prior.covariance, as_array(given["Sigma"]))
    gap = module._at(problem, prior).bethe_elbo
    for part in ("total", "data", "prior"):
        assert_golden("ordering", getattr(gap, part), expected[part])
    assert module.BetheBelowElbo.example().check(problem).verdict == FAILS


def test_much_data_is_refuted_in_other_units():
    """Where the data outweigh the prior gap of every belief tried, smaller features still refute the claim."""
    problem = drawn_problem("much data, tight prior", rows=200, width=3, prior_precision=50.0, noise_scale=0.1)
    totals = [module._at(problem, belief).bethe_elbo.total for belief in module._beliefs(problem).values()]
    assert min(totals) > 0.0
    finding = module.BetheBelowElbo.example().check(problem)
    assert finding.verdict == FAILS
    assert "in units" in finding.sentence
