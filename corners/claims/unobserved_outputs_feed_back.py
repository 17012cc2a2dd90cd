"""An output that nobody has seen carries no information about the weights (message passing 0.5)."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence, Posterior
from corners.types import Array

UNSEEN = np.nan
"""What an output that was not observed holds."""
EXPERT_NOISE = 0.4
"""Precision of the latent log precision in the example of one gated expert."""


@CLAIMS.register("unobserved_outputs_feed_back")
@dataclass(frozen=True)
class UnobservedOutputsFeedBack(Claim):
    """Outputs that nobody has seen do not inform the weights.

    Every row is put into the model again with its output unseen: the runtime's posterior and free energy stay, whether
    the outputs are missing or latent in one joint marginal. Under mean field they narrow the posterior as if they had
    been seen, and with a gated expert they move its precision.
    """

    name: ClassVar[str] = "unobserved_outputs_feed_back"
    statement: ClassVar[str] = "Outputs that are part of the model but not observed inform the weights."
    formula: ClassVar[str] = "∫ p(y, y* | w) dy* = p(y | w); mean field sends τψψᵀ from every unseen y* instead"
    claimed_in: ClassVar[str] = "published prediction by message passing; theory: message passing 0.5, 1.4, 4.6"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "UnobservedOutputsFeedBack":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=14)

    def check(self, problem: Problem) -> Finding:
        """The posterior of the weights with and without unseen outputs, three ways of holding them."""
        exact = Evidence(problem.features, problem.targets).posterior(problem.prior_precision, problem.noise_scale)
        alone, energy = _inferred(problem, "none")
        missing, missing_energy = _inferred(problem, "missing")
        latent, latent_energy = _inferred(problem, "latent")
        naive, naive_energy = _inferred(problem, "mean field")
        seen_twice = _counted_twice(problem)
        shrunk = np.sqrt(np.diag(naive.covariance) / np.diag(exact.covariance))
        forward, fed_back, known = _expert_precisions()
        margins = (
            at_most("posterior without unseen outputs, from dense algebra", _apart(alone, exact), 1e-9),
            at_most("posterior with missing outputs, from dense algebra", _apart(missing, exact), 1e-9),
            at_most("posterior with latent outputs in the joint, from dense algebra", _apart(latent, exact), 1e-9),
            at_most("free energy with missing outputs, moved", abs(missing_energy - energy), 1e-8, "nats"),
            at_most("free energy with latent outputs in the joint, moved", abs(latent_energy - energy), 1e-6, "nats"),
            at_most("mean field: largest deviation over the true one", float(shrunk.max()), 0.95),
            at_most(
                "mean field: covariance from that of rows seen twice",
                relative_difference(naive.covariance, seen_twice),
                1e-6,
            ),
            at_least("mean field: free energy moved", naive_energy - energy, 0.1, "nats"),
            at_most(
                "one expert: its precision without feedback, from e^(m + v/2)",
                relative_difference(forward, known),
                1e-9,
            ),
            at_most("one expert: its precision with feedback over that without", fed_back / forward, 0.8),
        )
        sentence = (
            f"{problem.rows} unseen outputs leave the runtime's posterior and free energy as they are, to rounding; "
            f"mean field over them has {shrunk.min():.2f} to {shrunk.max():.2f} of the deviations, as if every row "
            f"had been seen twice, and moves the precision of a gated expert from {forward:.2f} to {fed_back:.2f}"
        )
        return fails_if(margins, sentence)


def _inferred(problem: Problem, unseen: str) -> tuple[Posterior, float]:
    """The runtime's posterior of the weights and its free energy, every row there once more with its output unseen."""
    import inference as P

    @P.model
    def layer(m, x, y, *, alpha, tau, new=None):
        w = m.mvnormal("w", mean=0.0, precision=alpha, dim=x.shape[1])
        m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))
        if new is not None:
            m.softdot("ahead", w, new, tau, plates=m.plate("new", len(new)))

    x, y = problem.features, problem.targets
    if unseen == "missing":
        x, y = np.concatenate([x, x]), np.concatenate([y, np.full_like(y, UNSEEN)])
    data = {"x": x, "y": y, "alpha": problem.prior_precision, "tau": 1.0 / problem.noise_var}
    if unseen in ("latent", "mean field"):
        data["new"] = problem.features
    constraints = [P.MeanField()] if unseen == "mean field" else []
    found = P.infer(layer, data=data, constraints=constraints, iterations=300, rtol=1e-12, atol=1e-12)
    assert found.free_energy is not None
    weights = found.posteriors["w"]
    assert isinstance(weights, P.MvNormal)
    return Posterior(weights.mean(), weights.covariance), float(found.free_energy[-1])


def _counted_twice(problem: Problem) -> Array:
    """``(αI + 2 ΨᵀΨ/σ²)⁻¹``."""
    gram = problem.features.T @ problem.features / problem.noise_var
    return np.linalg.inv(problem.prior_precision * np.eye(problem.width) + 2.0 * gram)


def _apart(belief: Posterior, other: Posterior) -> float:
    """The largest relative difference of means and covariances."""
    return max(relative_difference(*each) for each in zip(belief, other, strict=True))


def _expert_precisions() -> tuple[float, float, float]:
    """``E γ`` of one gated expert at a row whose target is unseen: without feedback, under mean field, and known.

    Nothing is sent back from an unseen target: ``E γ = exp(m + v/2)``, ``z ~ N(φᵀm_w, φᵀVφ + 1/τ)``.
    """
    import inference as P
    from inference.words import precision_gated

    generator = np.random.default_rng(15)
    phi = np.column_stack([np.ones(40), generator.standard_normal(40)])
    latent = phi @ np.array([2.0, 0.5]) + generator.standard_normal(40) / np.sqrt(EXPERT_NOISE)
    errors = np.exp(-0.5 * latent) * generator.standard_normal(40)
    data = {"phi": phi, "yhat": errors[:, None], "y": np.zeros(40)}
    found = P.infer(precision_gated.bind(weights_precision=0.1, noise=EXPERT_NOISE), data=data, iterations=200)
    at = np.array([1.0, 1.0])
    weights = found.posteriors["w"][0]
    known = float(np.exp(at @ weights.mean() + 0.5 * (at @ weights.covariance @ at + 1.0 / EXPERT_NOISE)))
    row = {"phi": at[None], "yhat": np.array([[0.3]])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fed_back = found.predict(row, mode="vmp", iterations=300)
    return 1.0 / float(found.predict(row).var()[0]), 1.0 / float(fed_back.var()[0]), known
