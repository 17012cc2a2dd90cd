"""The optimum of the ELBO: what turns the verdict, golden values, and features that are hard to search."""

import numpy as np
import pytest

from corners.claims import elbo_optimum_is_binding as module
from corners.claims._base import FAILS, HOLDS
from corners.claims._problems import Problem
from corners.exact import Objective, map_objective, neg_elbo
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_data_term_turns_the_verdict(monkeypatch):
    """Scored at the mean, without the variance of the belief, the optimum is not the posterior."""

    def broken(features, targets, mean, covariance, *given):
        bound = neg_elbo(features, targets, mean, covariance, *given)
        return Objective(bound.prior_term, map_objective(features, targets, mean, *given).data_terms)

    monkeypatch.setattr(module, "neg_elbo", broken)
    claim = module.ElboOptimumIsBinding.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_golden_values_and_where_a_search_ends(case):
    given, expected = case["inputs"], case["expected"]
    problem = Problem(case["id"], as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    belief = module.DenseBelief(as_array(given["mu"]), as_array(given["Sigma"]))
    assert_golden("elbo_map", module._value(problem, belief), expected["neg_elbo"])
    found = module._search(problem, module._start(problem.width, problem.generator()))
    assert_golden("elbo_map", module._value(problem, found), expected["neg_elbo_at_posterior"])


def test_collinear_features_do_not_stop_the_search():
    """Powers of one input under little noise: the curvatures span ten decades."""
    inputs = np.linspace(-1.0, 1.0, 50)
    problem = Problem("powers", np.vander(inputs, 8), np.sin(3.0 * inputs), 1e-3, 0.01)
    assert module.ElboOptimumIsBinding.example().check(problem).verdict == HOLDS
