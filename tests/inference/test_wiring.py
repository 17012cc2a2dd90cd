"""Arguments of letters, and what may meet in one factor: for the letters there are and for a user's own."""

import numpy as np
import pytest

from inference.distributions import Gamma as GammaDistribution
from inference.distributions import Normal as NormalDistribution
from inference.errors import DataError, SpecError
from inference.nodes.exp_link import ExpLink
from inference.nodes.gamma import Gamma
from inference.nodes.mv_transition import MvTransition
from inference.nodes.normal import Normal
from inference.nodes.normal_gamma import NormalGamma
from inference.nodes.priors import Prior
from inference.nodes.soft_dot import SoftDot
from inference.structure import Factor, Known, Plate, Variable
from inference.wiring import check_batch, check_factor, check_link, check_observable, check_types, make_node
from tests.support.letters import Scaled

ROW = Plate("row", 2)


def real(name="x", *event):
    return Variable(name, "real", (), event)


def positive(name="g"):
    return Variable(name, "positive", ())


def known(value, kind="real", event_ndim=0):
    array = np.asarray(value, dtype=np.float64)
    plates = (ROW,) * (array.ndim - event_ndim)
    return Known("k", array, plates, array.shape[array.ndim - event_ndim :], kind)


@pytest.mark.parametrize(
    ("letter", "args", "given", "said"),
    [
        (
            Normal,
            (),
            {"mean": 0.0, "precison": 1.0},
            r"does not take 'precison' \(did you mean 'precision'\?\); it takes mean",
        ),
        (Normal, (0.0, 1.0), {"colour": 1}, "does not take 'colour'; it takes mean, precision"),
        (Normal, (), {"mean": 0.0}, "normal lacks precision; it takes mean, precision"),
        (Normal, (0.0, 1.0, 2.0), {}, r"takes 2 arguments by place \(mean, precision\), not 3"),
        (Gamma, (), {"shap": 1.0, "rate": 1.0}, r"does not take 'shap' \(did you mean 'shape'\?\)"),
        (Gamma, (), {"rate": 1.0}, "gamma lacks shape"),
        (Gamma, (1.0,), {}, "gamma lacks rate"),
        (Gamma, (), {"shape": GammaDistribution(1.0, 1.0), "rate": 1.0}, r"shape is a constant .* not Gamma\(shape=1"),
        (Gamma, (), {"shape": positive(), "rate": 1.0}, "shape is a constant .* its ports are x, rate"),
        (Gamma, (), {"shape": np.nan, "rate": 1.0}, "shape is nan; a constant is finite"),
        (Gamma, (), {"shape": 0.0, "rate": 1.0}, "one shape above 0, not 0.0"),
        (
            MvTransition,
            (),
            {"mean": 0.0, "prec": 1.0, "dim": 2},
            r"given were also 'prec' \(did you mean 'precision'\?\)",
        ),
        (SoftDot, (1.0, 2.0), {}, "softdot lacks tau"),
        (Prior, (), {}, "prior lacks distribution"),
        (
            Scaled,
            (),
            {"x": 1.0, "weigth": 1.0},
            r"'weigth' \(did you mean 'weight'\?\); it takes x, weight, scale \(optional",
        ),
        (Scaled, (), {"x": 1.0}, "scaled lacks weight"),
        (Normal, (0.0, 1.0), {"mean": 2.0}, "normal is given mean both by place and by name"),
        (Normal, (0.0,), {"var": 0.0}, "normal takes var= above 0, not 0"),
        (Normal, (0.0,), {"var": -1.0}, "normal takes var= above 0, not -1"),
        (Normal, (0.0,), {"var": np.array([1.0, np.nan])}, "normal takes var= above 0, not nan"),
    ],
)
def test_a_call_that_cannot_be_made_says_why(letter, args, given, said):
    with pytest.raises(SpecError, match=said):
        make_node(letter, args, given)


def test_a_call_makes_a_node_and_leaves_its_ports():
    assert make_node(Gamma, (2.0, 3.0), {}) == (Gamma(2.0), {"rate": 3.0})
    assert make_node(Normal, (), {"mean": 0.0, "var": 4.0})[1] == {"mean": 0.0, "precision": 0.25}
    assert make_node(Scaled, (1.0,), {"weight": 2.0, "scale": 3.0}) == (Scaled(3.0), {"x": 1.0, "weight": 2.0})
    node, inputs = make_node(NormalGamma, (), {"mean": 0.0, "precision": 1.0, "shape": 1.0, "rate": 1.0})
    assert isinstance(node, NormalGamma) and node.scalar and inputs == {}


@pytest.mark.parametrize(
    ("node", "held", "said"),
    [
        (
            Normal(),
            {"precision": real()},
            "port precision takes a positive variable, but 'x' is real; put m.exp between",
        ),
        (
            Normal(),
            {"mean": positive()},
            "port mean takes a real variable, but 'g' is positive; the positive ports of normal are precision",
        ),
        (Gamma(1.0), {"rate": Variable("p", "probability", ())}, "takes a positive variable, but 'p' is probability"),
        (Scaled(), {"weight": real()}, "scaled 'f': port weight takes a positive variable, but 'x' is real"),
        (Prior(GammaDistribution(1.0, 1.0)), {"x": real()}, "port x takes a positive variable, but 'x' is real"),
    ],
)
def test_a_variable_sits_at_ports_of_its_type(node, held, said):
    with pytest.raises(SpecError, match=said):
        check_types(node, "f", held)


TAU = known(1.0, "positive")


@pytest.mark.parametrize(
    ("node", "held", "said"),
    [
        (Normal(), {"y": real(), "mean": real(), "precision": TAU}, r"holds \['x'\] at two ports; .* m\.chain\("),
        (Normal(), {"y": real(), "mean": real("w", 3), "precision": TAU}, r"mean takes a scalar, but 'w' is a vector"),
        (MvTransition(np.eye(3)), {"x": real("x", 3), "mean": real("u")}, "mean takes a vector, but 'u' is a scalar"),
        (
            SoftDot(),
            {"z": real(), "w": real("w", 3), "phi": known(np.ones((2, 4)), event_ndim=1), "tau": TAU},
            r"lengths of its ports do not go together: z \(\), w \(3,\), phi \(4,\)",
        ),
        (MvTransition(np.eye(3), np.ones((3, 2))), {"x": real("x", 3), "mean": real("u", 4)}, r"x \(3,\), mean \(4,\)"),
        (
            Scaled(),
            {"y": real("y"), "x": real("u"), "weight": TAU},
            "scaled 'f': port x takes a vector, but 'u' is a scalar",
        ),
        (
            Normal(),
            {"y": real(), "mean": known(0.0), "precision": known(-1.0, "positive")},
            "port precision: 'k' is -1",
        ),
        (Normal(), {"y": real(), "mean": known(np.nan), "precision": TAU}, "'k' has missing values and 'x' is latent"),
        (
            SoftDot(),
            {"z": known([0.0, 0.0]), "w": real("w", 1), "phi": known([[1.0], [np.nan]], event_ndim=1), "tau": TAU},
            r"port phi: 'k' is NaN at \(1, 0\)",
        ),
    ],
)
def test_a_factor_that_is_not_proper_says_why(node, held, said):
    with pytest.raises((SpecError, DataError), match=said):
        check_factor(node, "f", held, (ROW,))


@pytest.mark.parametrize(
    ("node", "held"),
    [
        (Normal(), {"y": real(), "mean": real("mu"), "precision": positive()}),
        (Normal(), {"y": known([1.0, np.nan]), "mean": known([np.nan, 1.0]), "precision": positive()}),
        (SoftDot(), {"z": real(), "w": real("w", 3), "phi": known(np.ones((2, 3)), event_ndim=1), "tau": TAU}),
        (SoftDot(), {"z": real(), "w": real("a"), "phi": known([1.0, 2.0]), "tau": TAU}),
        (SoftDot(), {"z": real(), "w": known(np.ones(3), event_ndim=1), "phi": real("h", 3), "tau": TAU}),
        (MvTransition(np.eye(3), np.ones((3, 2))), {"x": real("x", 3), "mean": real("u", 2)}),
        (Gamma(2.0), {"x": positive(), "rate": positive("b")}),
        (ExpLink(), {"gamma": positive(), "z": real()}),
        (NormalGamma(np.zeros(2), np.eye(2), 1.0, 1.0), {"w": real("w", 2), "tau": positive()}),
        (Scaled(), {"y": real("y", 3), "x": real("u", 3), "weight": TAU}),
    ],
)
def test_a_proper_factor_passes(node, held):
    check_factor(node, "f", held, (ROW,))


def test_the_step_of_a_chain_holds_its_variable_twice():
    x = Variable("x", "real", (Plate("time", 3),))
    held = {"y": x[1:], "mean": x[:-1], "precision": TAU}
    check_factor(Normal(), "x.step", held, (Plate("time[2]", 2),), in_chain=True)


@pytest.mark.parametrize("batch", [(), (3,), (1,), (2, 3), (2, 1), (1, 3)])
def test_a_prior_fits_its_plates(batch):
    check_batch(Prior(NormalDistribution(np.zeros(batch), 1.0)), "x", (Plate("a", 2), Plate("b", 3)))


@pytest.mark.parametrize("batch", [(2,), (3, 2), (2, 2, 3), (4,)])
def test_a_prior_of_another_batch_is_refused(batch):
    with pytest.raises(SpecError, match=r"'x' has a prior of batch shape .* does not fit the plates \(a=2, b=3\)"):
        check_batch(Prior(NormalDistribution(np.zeros(batch), 1.0)), "x", (Plate("a", 2), Plate("b", 3)))


@pytest.mark.parametrize(
    ("node", "output", "observed", "said"),
    [
        (Normal(), real(), 1.0, "is given a variable and observed values; a variable without observed="),
        (Normal(), "y", real(), r"observed= takes data, got Variable\('x'.* m\.normal\(x, \.\.\.\)"),
        (ExpLink(), "g", 1.0, "a deterministic link and is not observed; observe z = log gamma"),
        (
            NormalGamma(np.zeros(1), np.eye(1), 1.0, 1.0),
            ("w", "tau"),
            1.0,
            "makes w, tau together, which cannot be observed",
        ),
    ],
)
def test_what_cannot_be_observed_says_why(node, output, observed, said):
    with pytest.raises(SpecError, match=said):
        check_observable(node, "f", output, observed)
    check_observable(Normal(), "f", "y", 1.0)


def test_an_exp_link_is_between_a_latent_z_and_one_gamma():
    held = {"gamma": positive(), "z": real()}
    before = Factor("before", ExpLink(), held, ())
    check_link(ExpLink(), "f", held, [])
    check_link(Normal(), "f", {}, [before])
    with pytest.raises(SpecError, match=r"z is known, so gamma = e\^z is known too; pass np\.exp\(z\)"):
        check_link(ExpLink(), "f", {"gamma": positive(), "z": known(0.0)}, [])
    with pytest.raises(SpecError, match=r"'g' is e\^z of another z already; a gamma has one exp link"):
        check_link(ExpLink(), "f", {"gamma": positive(), "z": real("z2")}, [before])
