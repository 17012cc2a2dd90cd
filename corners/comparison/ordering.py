"""MAP, Bethe and ELBO at one fitted belief: gaps, verdicts and what they depend on (theory 4)."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corners.comparison.attribution import belief_covariance, belief_variances
from corners.exact.ordering import (
    AT_FREE_OPTIMUM,
    PRIOR_BELIEF_THRESHOLD,
    UNIVERSAL_THRESHOLD,
    Gap,
    Ordering,
    ordering_at,
    ordering_of,
    plate_condition,
)
from corners.method import BeliefObjectives, LastLayer
from corners.types import Array, Float

SAME_MEAN = "MAP is the point limit Σ = 0 at the same mean, precision and noise; it is not the fit of method 'map'."
SAME_MEAN_AND_HEAD = (
    "MAP is the point limit Σ = 0 at the same mean, precision and head parameters; it is not a fit of a point."
)
SCALE_NOTE = (
    "The prior terms have units: rescaling the features moves them and can turn the verdict on Bethe <= ELBO, "
    "although no prediction changes."
)
POINT_NOTE = (
    "The belief is a point (Σ = 0): Bethe equals MAP and the ELBO is infinite, since KL from a point is infinite."
)
SINGULAR_NOTE = "The covariance is singular in float64: its entropy is minus infinity and the ELBO infinite."
VERDICT_WORDS = {
    "holds": "holds in total, data term and prior term",
    "holds_total_only": "holds in total, but not in both the data and the prior term",
    "data_term_only": "fails in total, holds in the data term",
    "fails": "fails, in the data term too",
}
OVERALL_WORDS = {
    "holds": "holds for the totals",
    "data_term_only": "fails for the totals, holds for the data terms",
    "fails": "fails",
}


@dataclass(frozen=True)
class Terms:
    """One objective, total nats over the training part, and its data and prior terms apart."""

    total: float
    data: float
    prior: float


@dataclass(frozen=True, eq=False)
class OrderingReport:
    """The three objectives of one belief on its training part and the two gaps, upper minus lower, in nats (totals).

    ``map_bethe_plates`` and ``bethe_elbo_plates`` are the data gaps plate by plate; the second is never negative.
    ``plates_map_le_bethe`` is the fraction of plates with ``ℓ_n(v) ≥ ℓ_n(0)``, by the exact condition of theory 4.2.
    """

    map: Terms
    bethe: Terms
    elbo: Terms
    map_bethe: Gap
    bethe_elbo: Gap
    verdict: str
    plates_map_le_bethe: float
    map_bethe_plates: Float[Array, " N"]
    bethe_elbo_plates: Float[Array, " N"]
    prior_precision: float
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The overall verdict and each pair's, in words."""
        return (
            f"MAP <= Bethe <= ELBO {OVERALL_WORDS[self.verdict]}. "
            f"MAP <= Bethe {VERDICT_WORDS[self.map_bethe.verdict]} (gap {_nats(self.map_bethe.total)}; on "
            f"{self.plates_map_le_bethe:.0%} of the plates). "
            f"Bethe <= ELBO {VERDICT_WORDS[self.bethe_elbo.verdict]} (gap {_nats(self.bethe_elbo.total)})."
        )

    def __str__(self) -> str:
        rows = [f"{'nats, total':<16}{'total':>14}{'data':>14}{'prior':>14}"]
        for name, terms in (("MAP", self.map), ("Bethe", self.bethe), ("ELBO", self.elbo)):
            rows.append(f"{name:<16}{terms.total:>14.4f}{terms.data:>14.4f}{terms.prior:>14.4f}")
        for name, gap in (("Bethe - MAP", self.map_bethe), ("ELBO - Bethe", self.bethe_elbo)):
            rows.append(f"{name:<16}{gap.total:>14.4f}{gap.data:>14.4f}{gap.prior:>14.4f}  {gap.verdict}")
        return "\n".join([*rows, self.sentence, *self.notes])

    def records(self) -> list[dict[str, Any]]:
        """One flat row a pair: its gaps, its verdict and the overall one."""
        common = {
            "overall": self.verdict,
            "plates_map_le_bethe": self.plates_map_le_bethe,
            "prior_precision": self.prior_precision,
        }
        pairs = (("MAP <= Bethe", self.map_bethe), ("Bethe <= ELBO", self.bethe_elbo))
        return [{"pair": name, **asdict(gap), **common} for name, gap in pairs]


def ordering(layer: LastLayer, *, at_free_optimum: bool | None = None) -> OrderingReport:
    """Compare MAP, Bethe and ELBO at the layer's ``(μ, Σ, α, σ²)`` on its training part (theory 4.5).

    Jitter: Bethe and ELBO use the layer's covariance, jitter included; MAP has none. A point belief has an infinite
    ELBO.

    Parameters
    ----------
    at_free_optimum : whether to add the text of theory 4.3; by default for free routing.

    Example
    -------
    >>> zero = np.zeros(1)
    >>> belief = (zero, np.eye(1), 1.0, 1.0, 0.0, "shared", "free", "dense")
    >>> layer = LastLayer(0.1 * np.eye(1), zero, np.eye(1), zero, *belief)
    >>> ordering(layer).bethe_elbo.verdict  # the belief is the prior, and the precision is below 4π
    'data_term_only'
    """
    covariance = None if layer.family == "none" else belief_covariance(layer)
    found = ordering_at(
        layer.features, layer.targets, layer.mean, covariance, layer.prior_precision, math.sqrt(layer.noise_var)
    )
    free = layer.routing == "free" if at_free_optimum is None else at_free_optimum
    residuals = layer.targets - layer.features @ layer.mean
    plates = plate_condition(residuals, belief_variances(layer), math.sqrt(layer.noise_var))
    return _report(found, float(plates.mean()), layer.prior_precision, _notes(layer, found, free))


def ordering_of_belief(belief: BeliefObjectives) -> OrderingReport:
    """The same for a belief with any head, from its three objectives (theory 4).

    ``plates_map_le_bethe`` compares the two data terms of every plate: no closed condition is known for all heads.

    Example
    -------
    >>> from corners.exact.bounds import Objective
    >>> low, high = Objective(0.0, np.array([1.0])), Objective(0.0, np.array([2.0]))
    >>> ordering_of_belief(BeliefObjectives(low, low, high, 20.0, "dense", "free")).verdict
    'holds'
    """
    found = ordering_of(belief.map, belief.bethe, belief.elbo)
    notes = [SAME_MEAN_AND_HEAD]
    if belief.family == "none":
        notes.append(POINT_NOTE)
    elif np.isinf(found.elbo.total):
        notes.append(SINGULAR_NOTE)
    notes += [AT_FREE_OPTIMUM] if belief.routing == "free" else []
    notes += [threshold_sentence(belief.prior_precision), SCALE_NOTE]
    return _report(found, found.plates_map_le_bethe, belief.prior_precision, tuple(notes))


def _report(found: Ordering, plates: float, prior_precision: float, notes: tuple[str, ...]) -> OrderingReport:
    return OrderingReport(
        map=_terms(found.map),
        bethe=_terms(found.bethe),
        elbo=_terms(found.elbo),
        map_bethe=found.map_bethe,
        bethe_elbo=found.bethe_elbo,
        verdict=found.verdict,
        plates_map_le_bethe=plates,
        map_bethe_plates=found.bethe.data_terms - found.map.data_terms,
        bethe_elbo_plates=found.elbo.data_terms - found.bethe.data_terms,
        prior_precision=prior_precision,
        notes=notes,
    )


def _nats(value: float) -> str:
    return f"{value:.4g} nats" if math.isfinite(value) else "infinite"


def _terms(objective: Any) -> Terms:
    return Terms(objective.total, float(objective.data_terms.sum()), objective.prior_term)


def _notes(layer: LastLayer, found: Ordering, at_free_optimum: bool) -> tuple[str, ...]:
    notes = [SAME_MEAN]
    if layer.family == "none":
        notes.append(POINT_NOTE)
    elif np.isinf(found.elbo.total):
        notes.append(SINGULAR_NOTE)
    notes += [AT_FREE_OPTIMUM] if at_free_optimum else []
    if not layer.has_prior_term:
        notes.append(
            f"The {layer.cavity} cell was not trained on any of the three: they are the shared-cavity objectives at "
            "its belief."
        )
    return (*notes, threshold_sentence(layer.prior_precision), SCALE_NOTE)


def threshold_sentence(prior_precision: float) -> str:
    """Where the prior precision lies beside ``4π`` and 14.3461, the thresholds of the prior term (theory 4.1).

    Example
    -------
    >>> threshold_sentence(20.0)
    'Prior precision 20 is at least 14.35: the prior term of Bethe <= ELBO holds for every Gaussian belief.'
    """
    at = f"Prior precision {prior_precision:.4g} is"
    if prior_precision >= UNIVERSAL_THRESHOLD:
        return (
            f"{at} at least {UNIVERSAL_THRESHOLD:.4g}: the prior term of Bethe <= ELBO holds for every Gaussian belief."
        )
    if prior_precision >= PRIOR_BELIEF_THRESHOLD:
        return (
            f"{at} between 4π = {PRIOR_BELIEF_THRESHOLD:.4g} and {UNIVERSAL_THRESHOLD:.4g}: the prior term of Bethe <= "
            "ELBO holds at the prior itself and fails for some wider Gaussian belief."
        )
    return (
        f"{at} below 4π = {PRIOR_BELIEF_THRESHOLD:.4g}: the prior term of Bethe <= ELBO fails at the prior itself and "
        "holds for narrow enough beliefs."
    )
