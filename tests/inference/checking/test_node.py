"""check_node finds every rule that is wrong and names it, and passes letters of other authors that are right."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import gammaln

import inference as P
from inference.checking.node import event_variants
from inference.nodes.exp_link import ExpLink
from inference.nodes.gamma import Gamma
from inference.nodes.mv_transition import MvTransition
from inference.nodes.normal import Normal
from inference.nodes.soft_dot import SoftDot
from tests.support.wrong_nodes import WRONG, Exponential, Poisson, wrong

pytestmark = pytest.mark.unchecked


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_named(name):
    node, rule, ports = WRONG[name]
    report = P.check_node(node)
    assert not report.passed
    assert {(row.rule, row.ports) for row in report.failures} >= {(rule, ports)}
    assert f"{rule} {ports} given" in str(report)


def test_nothing_but_the_wrong_rule_is_named():
    node, *_ = WRONG["missing half"]
    assert {(r.rule, r.ports) for r in P.check_node(node).failures} == {("message", "toward precision")}
    node, *_ = WRONG["energy without Cov"]
    failures = P.check_node(node).failures
    assert {r.rule for r in failures} == {"average_energy"} and all("joint" in r.given for r in failures)


def test_a_failure_shows_both_numbers():
    """A constant of one half too much in the energy: the two numbers differ by it."""
    row = P.check_node(WRONG["energy constant"][0]).failures[0]
    np.testing.assert_allclose(row.by_rule - row.by_quadrature, 0.5, rtol=1e-6)
    assert f"{row.by_rule:.9g} by the rule, {row.by_quadrature:.9g} by quadrature" in str(row)


@pytest.mark.parametrize("error", [1e-3, 1e-5])
def test_small_errors_are_found_above_the_tolerance_alone(error):
    node = wrong(Normal, average_energy=lambda right, q: right(q) + error)
    assert not P.check_node(node).passed
    assert P.check_node(node, tolerance=10.0 * error).passed


@pytest.mark.parametrize("seed", [1, 2])
def test_right_letters_pass_whatever_the_seed(seed):
    for node in (Normal, Gamma(shape=0.8), Exponential):
        report = P.check_node(node, rng_seed=seed)
        assert report.passed, str(report)


def test_known_and_latent_ports_and_forms_are_all_tried():
    given = {row.given for row in P.check_node(Exponential).rows if row.rule == "average_energy"}
    assert given == {
        "x ~ Gamma, rate ~ Gamma",
        "x ~ Gamma, rate known",
        "rate ~ Gamma, x known",
        "x known, rate known",
        "x ~ PointMass, rate ~ Gamma",
        "x ~ LogNormal, rate ~ Gamma",
        "x ~ Gamma, rate ~ PointMass",
        "x ~ Gamma, rate ~ LogNormal",
    }


def test_counts_are_checked_where_they_are_known():
    report = P.check_node(Poisson, known={"n": [0.0, 3.0]})
    assert report.passed, str(report)
    assert {(r.rule, r.ports) for r in report.rows} == {("message", "toward rate"), ("average_energy", "of all")}


def test_a_constant_far_from_one_is_no_false_alarm():
    """A density too narrow for the grid is said to be unjudged rather than wrong, if it is not judged right."""
    report = P.check_node(MvTransition(precision=np.array([[1e6]])))
    assert all("cannot be judged" in row.note for row in report.failures)


def test_event_shapes_come_from_the_letter():
    rng = np.random.default_rng(0)
    assert event_variants(Normal(), {}, rng) == [{"y": (), "mean": (), "precision": ()}]
    transition = MvTransition(precision=np.eye(2), matrix=np.ones((2, 3)))
    assert event_variants(transition, {}, rng) == [{"x": (2,), "mean": (3,)}]
    assert [e["w"] for e in event_variants(SoftDot(), {}, rng)] == [(), (2,)]


def test_a_deterministic_letter_has_nothing_to_check():
    report = P.check_node(ExpLink)
    assert report.passed and not report.rows and "nothing to check" in str(report)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: P.check_node(Gamma), "Gamma needs its constants .* pass an instance"),
        (lambda: P.check_node(int), "takes a Node or its class"),
        (
            lambda: P.check_node(Exponential, known={"y": [1.0]}),
            r"known names \['y'\]; the ports of exponential are x, rate",
        ),
        (lambda: P.check_node(Exponential, tolerance=0.0), "tolerance between 0 and 1"),
        (
            lambda: P.check_node(wrong(Normal, log_density=lambda _, v: v["nothing"])),
            "fit no shapes .*log_density raised KeyError",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(call, said):
    with pytest.raises(P.SpecError, match=said):
        call()


@pytest.fixture
def exponential() -> Iterator[None]:
    P.LETTERS.register(Exponential)
    yield
    P.LETTERS.forget("exponential")


def test_a_letter_of_another_author_from_the_check_to_the_posterior(exponential):
    assert P.check_node(Exponential).passed

    @P.model
    def waiting(m, x):
        rate = m.gamma("rate", shape=2.0, rate=3.0)
        m.exponential("x", rate, observed=x, plates=m.plate("row", len(x)))

    x = np.array([0.5, 2.0, np.nan, 1.1])
    result = P.infer(waiting, data={"x": x})
    q, total = result.posteriors["rate"], 3.0 + 0.5 + 2.0 + 1.1
    np.testing.assert_allclose([q.shape, q.rate], [5.0, total], rtol=1e-14)
    evidence = 2.0 * np.log(3.0) - gammaln(2.0) + gammaln(5.0) - 5.0 * np.log(total)
    np.testing.assert_allclose(result.free_energy[-1], -evidence, rtol=1e-13)
    predicted = result.predictions["x"]
    np.testing.assert_allclose([predicted.shape, predicted.rate], [[1.0], [5.0 / total]], rtol=1e-14)
