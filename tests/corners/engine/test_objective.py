"""The free energy is the sum of its terms."""

from corners.engine.objective import FreeEnergy
from tests.support.problems import assert_close, normal


def test_total():
    terms = [normal(k, 3) for k in range(4)]
    assert_close(FreeEnergy(*terms).total, sum(each.numpy() for each in terms))
