"""Case 24: vbll's random noise start and its weight are printed, and the published and the fair run are two rows."""

import pytest

from corners.backbones.mlp import MLP
from corners.baselines.vbll import Vbll
from corners.errors import SpecError
from corners.study import compare
from tests.support.problems import SHORT, TINY_PROTOCOL, tiny_split


def test_version_weight_and_start_are_printed_and_the_two_are_rows_of_their_own():
    fair = Vbll(MLP(3), schedule=SHORT, name="vbll_fair")
    published = Vbll(MLP(3), start="as_published", schedule=SHORT, name="vbll_as_published")
    comparison = compare(tiny_split(1), [fair, published], seeds=[5], protocol=TINY_PROTOCOL)
    table = " ".join(str(comparison.table()).split())
    assert "vbll 0.4.9 from the fair start with regularisation weight 1/N" in table
    assert "vbll 0.4.9 as published with regularisation weight 0.1" in table
    starts = [comparison.fits[each.name].learned(0)["noise_start"] for each in (fair, published)]
    assert starts[0] == pytest.approx(tiny_split(1).train.targets.std(), rel=1e-12) and starts[1] != starts[0]


def test_a_mixture_of_the_two_is_refused():
    with pytest.raises(SpecError, match="fair start means a regularisation weight of 1/N"):
        Vbll(start="fair", regularisation_weight=0.1)
