"""Case 26: a missing rule names node, port, what was given, the rules that exist and the constraint that would help."""

import numpy as np
import pytest

import inference as P

Y = np.array([0.3, -0.2, 1.0])
PHI = np.array([[1.0, 0.2], [1.0, -0.5], [1.0, 1.0]])


@P.model
def experts(m, y, *, loop=False):
    """One precision-gated expert; with a loop, z is read twice."""
    row = m.plate("row", len(y))
    w, tau = m.mvnormal("w", mean=0.0, precision=1.0, dim=2), m.gamma("tau", 1.0, 1.0)
    z = m.softdot("z", w, PHI, tau, plates=row)
    if loop:
        m.softdot(z, w, PHI[::-1].copy(), tau, plates=row)
    m.normal("y", mean=0.0, precision=m.exp("gamma", z), observed=y)


def refused(constraints, **options) -> str:
    with pytest.raises(P.NoRule) as refusal:
        P.infer(experts.bind(**options), data={"y": Y}, constraints=constraints)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("constraints", "given"),
    [
        (P.Structured(("w", "z", "tau")), "toward the joint of ['tau', 'w', 'z'] given the cluster q(tau, w, z)"),
        (P.Structured(("z", "tau")), "toward the joint of ['tau', 'z'] given the cluster q(tau, z)"),
    ],
)
def test_a_cluster_without_a_rule(constraints, given):
    said = refused(constraints)
    assert said.startswith("softdot has no rule ") and given in said
    assert "Rules that exist: mean field toward z, w, phi, tau; joint of (z, w); joint of (z, phi)" in said
    assert "A constraint that helps" in said and "MeanField()" in said


def test_a_precision_joined_to_weights_without_their_joint_prior():
    said = refused("q(w,tau)")
    assert "q(w, tau)" in said and "m.normal_gamma((w, tau), ...)" in said and "q(w)q(tau)" in said


def test_belief_propagation_on_a_loop():
    said = refused(P.BeliefPropagation(), loop=True)
    assert "w, z make loops" in said and "leave it out to have them solved as one dense Gaussian" in said
    assert "MeanField()" in said


def test_a_form_without_a_rule():
    said = refused([P.MeanField(), P.Form("tau", "diagonal")])
    assert "q(tau) cannot have the form 'diagonal'" in said and "forms with a rule: gamma, point_mass" in said


def test_each_remedy_that_is_named_works():
    for constraints in (P.MeanField(), "q(w,z)q(tau)", [P.MeanField(), P.Form("tau", "gamma")], ()):
        assert np.isfinite(P.infer(experts, data={"y": Y}, constraints=constraints).free_energy).all()
    assert np.isfinite(P.infer(experts.bind(loop=True), data={"y": Y}).free_energy).all()
