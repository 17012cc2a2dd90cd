"""The three ways of predicting new rows (message_passing 4.6)."""

import warnings
from abc import ABC
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from inference.building import Model
from inference.constraints import Constraint, Form, MeanField
from inference.descent import Runner, Settings
from inference.distributions import Distribution, Gamma, Mixture, MvNormal, NormalGamma, PointMass
from inference.errors import NoRule, SpecError
from inference.frozen import Problem, Trained, problem, reduced, restricted, settle
from inference.initial import initial_state
from inference.prediction import Product, products
from inference.program import Program, State
from inference.schedule import make_plan
from inference.schema import Schema
from inference.structure import FactorGraph, Known, Variable

MODES = ("forward", "mixture", "vmp")


class Predictor(ABC):
    """What can predict: a fresh result or a loaded one.

    It has the ``model``, the ``schema`` of its data, the ``marginals`` and ``joints`` it found, and ``constraints``.
    """

    model: Model
    schema: Schema
    marginals: Mapping[str, Distribution]
    joints: Mapping[tuple[str, str], NormalGamma]
    constraints: tuple[Constraint, ...]

    @property
    def trained(self) -> Trained:
        """These as one value."""
        return Trained(self.model, self.schema, self.marginals, self.joints, tuple(self.constraints))

    def predict(
        self, data: Mapping[str, Any], mode: str = "forward", *, rows: str | None = None, **options: Any
    ) -> Any:
        """Predict the missing data of new rows, the global marginals frozen (message_passing 4.6).

        Parameters
        ----------
        data : the new rows; observed data that are left out are predicted, constants are those of training
        mode : ``forward`` plugs in the means of precisions and sends nothing back from what is predicted; ``mixture``
            averages over draws of every precision (``n_samples``, ``seed``, ``reweight``) and is best calibrated;
            ``vmp`` is mean field with a latent y, overconfident, for comparison
        rows : the plate of the new rows, where the given data do not tell

        Returns
        -------
        a distribution in the units of the data, or a dictionary of them where several data are missing

        Raises
        ------
        SpecError : an unknown mode or plate.
        DataError : something was left out that new rows need.
        """
        if mode not in MODES:
            raise SpecError(f"predict knows the modes {', '.join(MODES)}, not {mode!r}")
        rule = {"forward": forward, "mixture": mixture, "vmp": vmp}[mode]
        found = rule(problem(self.trained, data, rows), **options)
        return next(iter(found.values())) if len(found) == 1 else found


def forward_products(problem: Problem, iterations: int = 20) -> dict[str, Product]:
    """The products of forward messages under the frozen marginals."""
    return products(*settle(problem, problem.frozen, iterations))


def forward(problem: Problem, iterations: int = 20) -> dict[str, Distribution]:
    """The plug-in prediction: noise precisions at their means, no message back from what is predicted."""
    return {label: product.narrowed() for label, product in forward_products(problem, iterations).items()}


def mixture(
    problem: Problem, n_samples: int = 200, seed: int | None = None, reweight: bool = True, iterations: int = 20
) -> dict[str, Distribution]:
    """A mixture over draws of every precision, each component a forward prediction (message_passing 4.6).

    Where several messages meet on a datum, the components are weighted by how well these agree in them (``reweight``),
    which is the integral of their product.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[Product]] = {}
    for _ in range(n_samples):
        program, state = settle(problem, _drawn(problem, rng), iterations)
        state = state.updated(marginals=_point_masses(program, state, rng))
        for label, product in products(program, state).items():
            found.setdefault(label, []).append(product)
    return {label: several[0].narrowed(_mixed(several, reweight)) for label, several in found.items()}


def _drawn(problem: Problem, rng: np.random.Generator) -> dict[str, Distribution]:
    """The frozen marginals with every precision at a draw; weights of a normal-gamma pair follow theirs."""
    out = dict(problem.frozen)
    for (w, tau), joint in problem.joints.items():
        drawn = joint.marginal_precision().sample(1, rng)[0]
        arrays = joint.arrays()
        out[tau] = PointMass(drawn)
        out[w] = MvNormal(arrays["mean"], precision=drawn[..., None, None] * arrays["precision"])
    for name, q in out.items():
        if isinstance(q, Gamma):
            out[name] = PointMass(q.sample(1, rng)[0])
    return out


def _point_masses(program: Program, state: State, rng: np.random.Generator) -> dict[str, Distribution]:
    """Every local precision at a draw; the two ends of an exp link at the same one."""
    out: dict[str, Distribution] = {}
    positive = [v for v, x in program.graph.variables.items() if x.type == "positive"]
    for name in positive:
        q = state.marginals[name]
        if not isinstance(q, PointMass):
            out[name] = PointMass(q.sample(1, rng)[0])
    return out


def _mixed(several: list[Product], reweight: bool) -> Distribution:
    parts = [p.distribution for p in several]
    logs = np.stack([p.log_normaliser for p in several])
    arrays = {k: np.stack([q.arrays()[k] for q in parts]) for k in parts[0].arrays()}
    weights = np.exp(logs - logsumexp(logs, axis=0)) if reweight else np.full(logs.shape, 1.0 / len(parts))
    return Mixture(type(parts[0]).from_arrays(arrays), weights)


def vmp(problem: Problem, iterations: int = 20) -> dict[str, Distribution]:
    """What is missing as a latent variable under mean field: overconfident, for comparison with published numbers."""
    warnings.warn(
        "mode='vmp' lets an unobserved value inform the precisions that predict it and is overconfident; the modes "
        "'forward' and 'mixture' do not",
        stacklevel=3,
    )
    start = forward(problem, iterations)
    small = reduced(problem, problem.frozen)
    held = {h.label: h for f in small.graph.factors for h in f.ports.values() if isinstance(h, Known)}
    present = {label: held[label].present for label in start}
    partial = [label for label, mask in present.items() if mask is None or mask.any()]
    if partial:
        raise NoRule(f"mode='vmp' predicts data that are missing altogether; {partial} are known in part")
    latent = {label: Variable(label, "real", held[label].plates, held[label].event) for label in start}
    opened = _opened(small.graph, latent)
    forms = [c for c in problem.constraints if isinstance(c, Form)]
    plan = make_plan(opened, [MeanField(), *restricted(tuple(forms), set(small.local)), *small.fixed], quiet=True)
    run = Runner(plan, Settings(iterations)).run(initial_state(plan.program, start))
    return {label: run.state.marginals[label] for label in latent}


def _opened(graph: FactorGraph, latent: Mapping[str, Variable]) -> FactorGraph:
    """The graph with variables in place of these data."""
    factors = tuple(
        replace(f, ports={p: latent.get(h.label, h) if isinstance(h, Known) else h for p, h in f.ports.items()})
        for f in graph.factors
    )
    return replace(graph, variables={**graph.variables, **latent}, factors=factors)
