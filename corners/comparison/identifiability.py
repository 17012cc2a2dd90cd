"""What the data can say about noise, covariance and prior of a fitted last layer: statistics and flags in words."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from corners.comparison.identifiability_rules import HOLD_PRECISION, RULES, Context, Rule
from corners.comparison.layer_statistics import layer_statistics
from corners.errors import SpecError
from corners.exact.none_cell import StationaryPoints, none_cell_stationary_points
from corners.method import LastLayer
from corners.types import Array, Float


@dataclass(frozen=True)
class Statistic:
    """One statistic of one layer: value, or why it has none, and what it says.

    ``flag`` is empty where nothing is wrong; ``value`` is None where the statistic is not defined, for the reason in
    ``undefined``.
    """

    name: str
    value: float | None
    formula: str
    threshold: str
    flag: str
    remedy: str
    undefined: str

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: not defined ({self.undefined})"
        return f"{self.name} = {self.value:.4g}" + (f": {self.flag}; remedy: {self.remedy}" if self.flag else "")


@dataclass(frozen=True, eq=False)
class IdentifiabilityReport:
    """Every statistic in the order of theory 7.3, with the matrices and the two-root test where they are defined."""

    statistics: tuple[Statistic, ...]
    family: str
    routing: str
    fim_per_plate: Float[Array, "P P"] | None
    hessian_block: Float[Array, "P P"] | None
    roots: StationaryPoints | None
    roots_sentence: str

    def __getitem__(self, name: str) -> Statistic:
        for statistic in self.statistics:
            if statistic.name == name:
                return statistic
        raise SpecError(f"no statistic {name!r}; there are {', '.join(each.name for each in self.statistics)}")

    @property
    def flagged(self) -> tuple[Statistic, ...]:
        """The statistics that say something is wrong."""
        return tuple(each for each in self.statistics if each.flag)

    @property
    def sentence(self) -> str:
        """Every flag with its value, or that there is none."""
        parts = [f"{each.flag} ({each.name} = {each.value:.3g})" for each in self.flagged]
        parts = parts or ["nothing is flagged: noise, covariance and prior are told apart"]
        return "; ".join([*parts, *([self.roots_sentence] if self.roots_sentence else [])])

    def __str__(self) -> str:
        head = f"identifiability, {self.family} covariance, {self.routing} routing"
        lines = [str(each) for each in self.statistics]
        return "\n".join([head, *lines, *([self.roots_sentence] if self.roots_sentence else [])])

    def records(self) -> list[dict[str, Any]]:
        """One flat row a statistic."""
        return [asdict(each) for each in self.statistics]


def identifiability(layer: LastLayer) -> IdentifiabilityReport:
    """Judge every statistic of theory 7.3 on the layer's training part, with the remedies of theory 7.4.

    Thresholds are heuristics. What a family or a routing does not define (a closed belief has no free covariance) is
    reported so, with the reason.

    Example
    -------
    >>> import numpy as np
    >>> one, y = np.ones((4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    >>> layer = LastLayer(one, y, one, y, np.zeros(1), np.eye(1), 1.0, 1.0, 0.0, "shared", "free", "diagonal")
    >>> report = identifiability(layer)  # a constant feature: noise and its weight's variance are one number
    >>> report["noise_share"].value, report["vif_sigma"].value
    (0.5, inf)
    """
    found = layer_statistics(layer)
    context = Context(layer, found)
    roots = _roots(layer)
    return IdentifiabilityReport(
        statistics=tuple(_judge(rule, context) for rule in RULES),
        family=layer.family,
        routing=layer.routing,
        fim_per_plate=found.fim_per_plate,
        hessian_block=found.hessian_block,
        roots=roots,
        roots_sentence="" if roots is None else two_root_sentence(roots, layer),
    )


def _judge(rule: Rule, context: Context) -> Statistic:
    value = context.statistics.get(rule.name)
    if value is None:
        reason = context.statistics.undefined[rule.name]
        return Statistic(rule.name, None, rule.formula, rule.threshold, "", "", reason)
    flag = rule.flag(value, context)
    remedy = rule.remedy_for(value) if flag else ""
    return Statistic(rule.name, value, rule.formula, rule.threshold, flag, remedy, "")


def _roots(layer: LastLayer) -> StationaryPoints | None:
    """The two-root test concerns the point belief with a free mean (theory 7.2)."""
    if layer.family != "none" or layer.routing != "free" or not layer.has_prior_term:
        return None
    return none_cell_stationary_points(layer.features, layer.targets, math.sqrt(layer.noise_var))


def two_root_sentence(roots: StationaryPoints, layer: LastLayer) -> str:
    """Where the prior precision lies beside its local minimum and the barrier beyond it (theory 7.2)."""
    held = layer.precision_prior is not None
    runs = "the Gamma prior on the precision holds it" if held else f"it runs away; {HOLD_PRECISION}"
    if roots.minimum is None:
        certain = (
            "the Gamma prior on the precision alone holds it" if held else f"it runs away for certain; {HOLD_PRECISION}"
        )
        return (
            "two-root test: at this noise no prior precision is stationary "
            f"(largest α‖μ_α‖² is {roots.largest_pull:.3g} of {roots.width}), {certain}"
        )
    text = f"two-root test: local minimum at prior precision {roots.minimum:.4g}"
    if roots.barrier is None:
        return f"{text}, no barrier beyond it"
    side = f"lies beyond the barrier: {runs}" if layer.prior_precision > roots.barrier else "lies before the barrier"
    barrier = f"barrier at {roots.barrier:.4g} (log ratio {roots.log_barrier_ratio:.3g})"
    return f"{text}, {barrier}; the fit's {layer.prior_precision:.4g} {side}"
