"""How often a right belief passes every agreement test, over many seeds of the sampler: what the stated rate is worth.

``make slow`` prints the pass rates (pytest -s); a fixed seed is in ``tests/corners/comparison``.
"""

import pytest
from scipy import stats

from corners.baselines._sampling import sample_layer
from corners.comparison.agreement import agreement
from corners.errors import TruthError
from corners.method import LastLayer
from tests.corners.comparison.test_agreement_heads import LAYERS
from tests.support.last_layers import posterior_layer, random_problem

SEEDS = range(100, 150)


def gaussian_layer() -> LastLayer:
    """A conjugate posterior of five weights."""
    return posterior_layer(*random_problem(40, 5, 3), 1.5, 0.2)


MODELS = {"gaussian": gaussian_layer, "probit": LAYERS["probit"], "poisson": LAYERS["poisson"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_right_belief_passes_as_often_as_it_is_said_to(name, record_property):
    """Runs that fail their gate are no truth and count apart; the rest fail no oftener than the bound allows."""
    right, passed, refused, worst = MODELS[name](), 0, 0, 0.0
    for seed in SEEDS:
        try:
            report = agreement(right, sample_layer(right, draws=1000, seed=seed))
        except TruthError:
            refused += 1
            continue
        passed, worst = passed + report.agrees, max(worst, report.false_alarm)
    judged = len(SEEDS) - refused
    record_property("pass rate", passed / judged)
    print(
        f"\n{name}: {passed} of {judged} runs pass every test (false alarms at most {worst:.1g} a run); "
        f"{refused} runs were refused by their gate"
    )
    assert refused <= 0.2 * len(SEEDS)
    assert judged - passed <= stats.binom.ppf(0.999, judged, worst)
