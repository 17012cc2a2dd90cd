"""Weights and the noise precision that scales their prior, as one conjugate cluster (message_passing 5.3)."""

from collections.abc import Mapping

import numpy as np

from inference.blocks._base import Block
from inference.distributions import NormalGamma
from inference.errors import ImproperMarginal, NoRule
from inference.families import Naturals
from inference.program import Program, State
from inference.structure import Factor, FactorGraph, Variable


class NormalGammaPair(Block):
    """q(w, tau) normal-gamma: exact where every factor that touches one of them touches both."""

    def __init__(self, w: str, tau: str, graph: FactorGraph) -> None:
        self.w, self.tau = w, tau
        self.variables = (w, tau)
        self.silent = (tau,)
        for factor in graph.touching[w] + graph.touching[tau]:
            ports = self._ports(factor)
            if len(ports) != 2 or ports not in factor.node.couples:
                raise factor.node.no_rule(f"{w!r} or {tau!r} alone", f"the normal-gamma pair ({w}, {tau})")

    def _ports(self, factor: Factor) -> frozenset[str]:
        return frozenset(factor.holding(self.w) + factor.holding(self.tau))

    def joints(self, graph: FactorGraph) -> Mapping[str, tuple[str, str]]:
        """Every factor that touches the pair reads both."""
        return {f.name: (self.w, self.tau) for f in graph.touching[self.w]}

    def update(self, program: Program, state: State, damping: float) -> State:
        """L = sum of precisions, m = L^-1 h, a = 1 + sum of log coefficients, b = sum of rates - m'Lm/2."""
        naturals = self._incoming(program, state)
        if damping < 1.0 and (self.w, self.tau) in state.joints:
            old = _naturals(state.joints[self.w, self.tau])
            naturals = tuple((1.0 - damping) * b + damping * a for a, b in zip(naturals, old, strict=True))
        joint = self._joint(naturals)
        return state.updated(
            marginals={self.w: joint, self.tau: joint.marginal_precision()}, joints={(self.w, self.tau): joint}
        )

    def explain(self, program: Program) -> list[str]:
        """One line a factor."""
        pair = f"({self.w}, {self.tau})"
        return [
            f"{f.name} ({f.node.letter}) -> {pair}: joint message toward ({', '.join(sorted(self._ports(f)))})"
            for f in program.graph.touching[self.w]
        ]

    def _incoming(self, program: Program, state: State) -> Naturals:
        parts: list[Naturals] = []
        for factor in program.graph.touching[self.w]:
            message = factor.node.joint_message(self._ports(factor), program.inbox(factor, state))
            held = factor.ports[factor.holding(self.w)[0]]
            assert isinstance(held, Variable)
            parts.append(
                tuple(
                    program.reduce_one(factor, held, quantity, ndim)
                    for quantity, ndim in zip(message, (1, 2, 0, 0), strict=True)
                )
            )
        return tuple(np.sum(np.stack(several), axis=0) for several in zip(*parts, strict=True))

    def _joint(self, naturals: Naturals) -> NormalGamma:
        linear, precision, log, rate = naturals
        mean = np.linalg.solve(precision, linear[..., None])[..., 0]
        left = rate - 0.5 * np.einsum("...i,...i->...", mean, linear)
        if np.any(left <= 0) or np.any(log <= -1):
            raise ImproperMarginal(
                f"the messages that meet on ({self.w}, {self.tau}) multiply to no normal-gamma (rate "
                f"{np.min(left):.4g}, shape {np.min(log) + 1:.4g}); give them a prior with a larger rate and shape"
            )
        return NormalGamma._trusted(mean=mean, precision=precision, shape=log + 1.0, rate=left)


def _naturals(joint: NormalGamma) -> Naturals:
    arrays = joint.arrays()
    linear = np.matmul(arrays["precision"], arrays["mean"][..., None])[..., 0]
    rate = arrays["rate"] + 0.5 * np.einsum("...i,...i->...", arrays["mean"], linear)
    return linear, arrays["precision"], arrays["shape"] - 1.0, rate


def make_pair(graph: FactorGraph, factor: Factor) -> NormalGammaPair:
    """The block of a normal_gamma prior."""
    w, tau = factor.ports["w"], factor.ports["tau"]
    if not (isinstance(w, Variable) and isinstance(tau, Variable)):
        raise NoRule(f"{factor.name!r} is observed; a normal_gamma prior is of latent variables")
    return NormalGammaPair(w.name, tau.name, graph)
