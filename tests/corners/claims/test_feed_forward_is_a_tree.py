"""Cycles of networks: what turns the verdict, and graphs by hand."""

import pytest

from corners.claims import feed_forward_is_a_tree as module
from corners.claims._base import HOLDS

SQUARE = [(("a", ()), ("b", ())), (("b", ()), ("c", ())), (("c", ()), ("d", ())), (("d", ()), ("a", ()))]
TAIL = (("d", ()), ("e", ()))


def found():
    claim = module.FeedForwardIsATree.example()
    return claim.check(claim.problem())


def test_broken_plates_turn_the_verdict(monkeypatch):
    """A plate that is not rolled out hides the cycle: one row is a tree."""
    real = module._edges
    monkeypatch.setattr(module, "_edges", lambda problem, _, *, layers: real(problem, 1, layers=layers))
    assert found().verdict == HOLDS


def test_broken_weights_turn_the_verdict(monkeypatch):
    """Weights of their own for every row are no network: the cycle is in the sharing."""
    real = module._edges

    def broken(problem, rows, *, layers):
        return [(f, (v[0], f[1]) if v[0].startswith("w") else v) for f, v in real(problem, rows, layers=layers)]

    monkeypatch.setattr(module, "_edges", broken)
    assert found().verdict == HOLDS


@pytest.mark.parametrize(
    ("edges", "cycles", "left"),
    [(SQUARE, 1, 4), ([*SQUARE, TAIL], 1, 4), (SQUARE[:3], 0, 0), ([*SQUARE[:2], TAIL], 0, 0)],
)
def test_graphs_by_hand(edges, cycles, left):
    """A square, with a tail, a path, and two trees."""
    assert module._cycles(edges) == cycles
    assert len(module._stripped(edges)) == left
