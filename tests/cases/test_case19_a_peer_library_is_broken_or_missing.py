"""Case 19: a peer that is broken or missing costs its own row, which says why and what to do; the others run."""

import sys

import pytest

from corners.backbones.mlp import MLP
from corners.study import compare, make_method
from corners.study.methods import method_summary
from tests.support.problems import TINY_PROTOCOL, tiny_split

CLASH = "raise RuntimeError('operator torchvision::nms does not exist')"


@pytest.fixture
def broken_peers(tmp_path, monkeypatch):
    """vbll is not installed, and laplace-torch meets a torchvision of the wrong build."""
    (tmp_path / "laplace.py").write_text(CLASH)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "laplace", raising=False)
    monkeypatch.setitem(sys.modules, "vbll", None)


def test_the_row_says_unavailable_with_reason_and_remedy_and_the_others_run(broken_peers):
    methods = ["laplace", "vbll", "map"]
    comparison = compare(tiny_split(1), methods, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    assert set(comparison.fits) == {"map"}
    assert comparison.unavailable["vbll"] == "vbll is not installed; pip install vbll==0.4.9"
    reason = comparison.unavailable["laplace"]
    assert "torchvision::nms does not exist" in reason and "pip uninstall torchvision" in reason
    table = str(comparison.table())
    assert "unavailable: vbll is not installed" in table and "unavailable: laplace cannot be imported" in table


def test_listing_and_making_a_method_does_not_import_its_peer(broken_peers):
    for name in ("laplace", "vbll"):
        assert method_summary(name) and make_method(name).name == name
