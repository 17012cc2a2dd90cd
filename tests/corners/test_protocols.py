"""Protocols: the numbers of the design, and choices that cannot be are refused."""

import json

import pytest

from corners.errors import SpecError, UnknownNameError
from corners.protocols import PROTOCOLS, Protocol, get_protocol, with_options


def test_default_is_what_the_design_says():
    """Design section 9: biases, scaled targets, float64, Adam 0.01, patience 100, the hyperpriors of theory 7.4."""
    chosen = get_protocol("default")
    assert chosen.hidden_bias and chosen.scale_targets and chosen.dtype == "float64"
    assert (chosen.learning_rate, chosen.patience, chosen.threshold, chosen.max_steps) == (0.01, 100, 1e-6, 5000)
    assert (chosen.precision_shape, chosen.precision_cap) == (2.0, 100.0)
    assert (chosen.noise_shape, chosen.noise_relative_scale) == (1.0, 0.01)
    assert (chosen.jitter, chosen.backbone_penalty, chosen.penalty_grid) == (1e-4, 0.01, (0.01, 0.1, 1.0, 10.0))
    assert chosen.evidence_tied == 0 and chosen.batch_size is None


def test_a_protocol_is_its_own_name():
    own = Protocol("mine", patience=3)
    assert get_protocol(own) is own


def test_every_protocol_serialises():
    for name, protocol in PROTOCOLS.items():
        assert protocol.name == name
        assert json.loads(json.dumps(protocol.to_dict()))["name"] == name


def test_changed_options_are_in_the_protocols_name():
    changed = with_options(get_protocol("default"), patience=7, max_steps=9)
    assert changed.name == "default (patience=7, max_steps=9)" and changed.patience == 7
    assert with_options(get_protocol("default")) is get_protocol("default")


def test_an_unknown_protocol_lists_the_known_ones():
    with pytest.raises(
        UnknownNameError, match=r"no protocol is called 'defualt'. Did you mean 'default'.*Known: .*default"
    ):
        get_protocol("defualt")


@pytest.mark.parametrize(
    "choice",
    [
        {"dtype": "float16"},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"max_steps": 0},
        {"patience": 0},
        {"threshold": -1e-6},
        {"batch_size": 0},
        {"penalty_grid": ()},
        {"penalty_grid": (-1.0, 1.0)},
        {"jitter": -1e-4},
        {"backbone_penalty": -0.01},
        {"precision_shape": 0.0},
        {"precision_cap": 0.0},
        {"noise_shape": -1.0},
        {"noise_relative_scale": 0.0},
        {"evidence_tied": -1},
    ],
    ids=str,
)
def test_a_choice_that_cannot_be_is_refused_by_its_name(choice):
    """When the protocol is made, not when the first method is trained under it."""
    (name,) = choice
    with pytest.raises(SpecError, match=name):
        Protocol("mine", **choice)


def test_an_option_that_is_none_lists_those_there_are():
    with pytest.raises(SpecError, match=r"patiense.*patience"):
        with_options(get_protocol("default"), patiense=3)
