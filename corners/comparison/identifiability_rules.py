"""The table of theory 7.3: every statistic with its formula, its threshold, what a flag says, and the remedy of 7.4."""

from collections.abc import Callable
from dataclasses import dataclass

from corners.comparison.layer_statistics import LayerStatistics
from corners.method import LastLayer

TINY_GRADIENT = 1e-3
PRECISION_PARAMETERS = {
    "log_prior_precision": "the prior precision",
    "log_ridge": "the ridge, and with it the prior precision,",
}

HOLD_NOISE = (
    "put an inverse-gamma prior on the noise variance or raise its floor, or fix the noise at the validation mean "
    "squared error and train the rest again (FS stage)"
)
FREE_COVARIANCE = (
    "fix the noise at the validation mean squared error while the covariance is trained (FS stage), put a half-Cauchy "
    "prior on the noise scale, or start from a larger covariance"
)
HOLD_PRECISION = "put a Gamma prior on the prior precision, tie it to the evidence, or bound it"
SEPARATE = "fix the noise (FS stage), drop a constant feature, or choose a smaller covariance family"
LOOSEN_FEATURES = (
    "normalise the features or raise the backbone penalty; for a deep backbone warm up with the covariance held at its "
    "start"
)
DIAGONAL, FULL = ("diagonal",), ("dense", "low_rank")


@dataclass(frozen=True, eq=False)
class Context:
    """What a flag may look at beside its own value."""

    layer: LastLayer
    statistics: LayerStatistics

    @property
    def free_covariance(self) -> bool:
        """Whether there is a covariance and it is trained."""
        return self.layer.routing != "closed" and self.layer.family != "none"

    def concerns(self, families: tuple[str, ...]) -> bool:
        """Whether a trained covariance belongs to one of the families."""
        return self.free_covariance and self.layer.family in families

    def flat(self, gradient: str) -> str:
        """The composite of theory 7.3: little information and a tiny gradient."""
        value = self.statistics.get(gradient)
        if value is None or abs(value) >= TINY_GRADIENT:
            return ""
        return "; its gradient is tiny for that reason, not because it converged"


Flag = Callable[[float, Context], str]


@dataclass(frozen=True)
class Rule:
    """One row of the table; ``flag`` gives the words, empty where nothing is wrong."""

    name: str
    formula: str
    threshold: str
    flag: Flag
    remedy: str | Callable[[float], str] = ""

    def remedy_for(self, value: float) -> str:
        """The remedy, which may depend on the side on which the value lies."""
        return self.remedy if isinstance(self.remedy, str) else self.remedy(value)


def _below(limit: float, words: str) -> Flag:
    return lambda value, _: words if value < limit else ""


def _above(limit: float, words: str) -> Flag:
    return lambda value, _: words if value > limit else ""


def _never(_value: float, _context: Context) -> str:
    return ""


def _share(value: float, context: Context) -> str:
    if value < 0.05:
        return "noise collapse: the belief's variance has taken the place of the noise"
    if value > 0.99 and context.free_covariance:
        return "variance starvation: the noise has taken the place of the covariance"
    return ""


def _share_remedy(value: float) -> str:
    return HOLD_NOISE if value < 0.5 else FREE_COVARIANCE


def _info_sigma(value: float, context: Context) -> str:
    words = "the data say almost nothing about the noise variance"
    return words + context.flat("grad_log_sigma2_over_N") if value < 0.01 else ""


def _info_alpha(value: float, context: Context) -> str:
    words = "the weights say almost nothing about the prior precision: the covariance is far wider than the prior"
    return words + context.flat("grad_log_alpha_over_H") if value < 0.05 else ""


def _min_eigenvalue(value: float, context: Context) -> str:
    if value >= 1e-3 * len(context.layer.features):
        return ""
    kind = "a saddle" if value < 0.0 else "a flat direction"
    return f"the objective has {kind} in noise and covariance scales; a scale at its floor alone gives a flat one"


def _rank(columns: Callable[[int], int], families: tuple[str, ...]) -> Flag:
    def flag(value: float, context: Context) -> str:
        count, width = context.layer.features.shape
        wanted = columns(width)
        if value >= wanted or not context.concerns(families):
            return ""
        cause = f"fewer plates ({count}) than columns" if count < wanted else "the columns are linearly dependent"
        return f"variance design has rank {value:.0f} of {wanted}: {cause}, some attributions are exactly exchangeable"

    return flag


def _ratio(families: tuple[str, ...]) -> Flag:
    words = "the variance design is nearly singular: some attributions are nearly exchangeable"
    return lambda value, context: words if value < 1e-3 and context.concerns(families) else ""


def _norm_variation(value: float, context: Context) -> str:
    words = "feature norms are nearly constant: noise, covariance and prior can be exchanged almost freely"
    return words if value < 0.1 and context.free_covariance else ""


def _runaway(value: float, context: Context) -> str:
    held = [words for name, words in PRECISION_PARAMETERS.items() if name in context.layer.at_bound]
    if held:
        return f"{held[0]} is at its bound"
    return "the prior precision ran away from the value the belief itself suggests" if value > 100.0 else ""


def _diagonal_columns(width: int) -> int:
    return width + 1


def _full_columns(width: int) -> int:
    return width * (width + 1) // 2 + 1


SINGULAR_RATIO = "min/max singular value, columns of norm 1"
RULES = (
    Rule("noise_share", "mean σ²/V_n", "< 0.05, > 0.99", _share, _share_remedy),
    Rule("attribution_ratio", "σ²/(σ² + mean v_n)", "< 0.05, > 0.99", _share, _share_remedy),
    Rule("info_sigma", "mean (σ²/V_n)²", "< 0.01", _info_sigma, HOLD_NOISE),
    Rule("info_alpha", "mean_i (1 + αλ_i)⁻²", "< 0.05", _info_alpha, HOLD_PRECISION),
    Rule(
        "prior_fraction",
        "mean_i (1 + αλ_i)⁻¹",
        "< 0.1",
        _below(0.1, "the prior is a small part of its overlap with the belief"),
        HOLD_PRECISION,
    ),
    Rule("grad_log_alpha_over_H", "∂F/∂log α / H", "report", _never),
    Rule("grad_log_sigma2_over_N", "∂F/∂log σ² / N", "report", _never),
    Rule(
        "fim_corr_condition",
        "condition of Jᵀ diag(V⁻²) J scaled to unit diagonal, J = [σ², s_d ψ_d²]",
        "> 1e4",
        _above(1e4, "noise and covariance scales explain the same variance: their attribution is nearly collinear"),
        SEPARATE,
    ),
    Rule(
        "vif_sigma",
        "F₁₁ (F⁻¹)₁₁, F = Jᵀ diag(V⁻²) J / 2N",
        "> 100",
        _above(100.0, "the error of the noise variance is inflated by its collinearity with the covariance"),
        SEPARATE,
    ),
    Rule("hessian_min_eig", "least eigenvalue of ∂²F/∂(log σ², log s)²", "< 1e-3 N", _min_eigenvalue, SEPARATE),
    Rule(
        "hessian_condition",
        "max |eigenvalue| / min |eigenvalue| of the same",
        "> 1e4",
        _above(1e4, "curvature in noise and covariance scales differs by more than four orders"),
        SEPARATE,
    ),
    Rule("design_rank_diag", "rank [1, ψ_d²]", "< H + 1 (diagonal)", _rank(_diagonal_columns, DIAGONAL), SEPARATE),
    Rule("design_sv_ratio_diag", SINGULAR_RATIO, "< 1e-3 (diagonal)", _ratio(DIAGONAL), SEPARATE),
    Rule("design_rank_full", "rank [1, ψ_a ψ_b]", "< 1 + H(H + 1)/2 (dense)", _rank(_full_columns, FULL), SEPARATE),
    Rule("design_sv_ratio_full", SINGULAR_RATIO, "< 1e-3 (dense)", _ratio(FULL), SEPARATE),
    Rule("feature_norm_cv", "sd/mean of ‖ψ_n‖²", "< 0.1", _norm_variation, LOOSEN_FEATURES),
    Rule("gamma_closed", "Σ s²/(s² + ασ²)", "report", _never),
    Rule(
        "saturation",
        "fraction |ψ| > 0.97",
        "> 0.5",
        _above(0.5, "most features are saturated, which makes their norms constant"),
        LOOSEN_FEATURES,
    ),
    Rule("alpha_runaway", "α (‖μ‖² + tr Σ)/H", "> 100, or at bound", _runaway, HOLD_PRECISION),
)
