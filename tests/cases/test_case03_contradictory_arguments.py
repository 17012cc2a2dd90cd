"""Case 3: arguments that contradict each other are refused, not ignored."""

import pytest

from corners.beliefs import Prior
from corners.engine.training import CornerMethod
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from tests.support.corner_cells import cell
from tests.support.problems import SHORT


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prior(learned=False, evidence_tied=10),
        lambda: Gaussian(learned=False),
        lambda: cell("sequential", prior_term=True),
        lambda: cell("leave_one_out", jitter=1e-4),
        lambda: cell("mean_closed_dense", prior=Prior(learned=False)),
        lambda: CornerMethod("sequential", cell("sequential"), SHORT, batch_size=4),
    ],
)
def test_refused(make):
    with pytest.raises(SpecError):
        make()
