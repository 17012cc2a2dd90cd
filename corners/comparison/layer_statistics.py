"""The numbers of theory 7.3 at one fitted last layer; what is not defined for its family or routing says why."""

import math
from dataclasses import dataclass

import numpy as np

from corners.comparison.attribution import belief_covariance, belief_spectrum, belief_variances
from corners.exact.curvature import attribution_hessian, attribution_information
from corners.exact.evidence import Evidence
from corners.exact.shared_free import shared_free_gradient
from corners.method import LastLayer
from corners.types import Array, Float

LARGEST_DESIGN = 100
SINGULAR_CONDITION = 1e12
SATURATED = 0.97

BOUND_COVARIANCE = "the covariance is bound to precision, noise and features: it has no parameters of its own"
BOUND_MEAN = "the mean is bound to the data, so the free objective is not the one that was trained"
JITTERED = "the exact gradient of this closed cell is known without jitter only"
DIAGONAL_ONLY = "defined for the diagonal family, whose parameters are the log scales; see design_rank_full"
NO_COVARIANCE = "the belief is a point: there is no covariance to tell from the noise"


@dataclass(frozen=True, eq=False)
class LayerStatistics:
    """Values by name, reasons for what is not defined, and the two matrices where they are."""

    values: dict[str, float]
    undefined: dict[str, str]
    fim_per_plate: Float[Array, "P P"] | None
    hessian_block: Float[Array, "P P"] | None

    def get(self, name: str) -> float | None:
        """The value, or None where it is not defined."""
        return self.values.get(name)


def layer_statistics(layer: LastLayer) -> LayerStatistics:
    """Every statistic of theory 7.3 on the training part; eigenvalues and variances include the jitter."""
    undefined: dict[str, str] = {}
    information = _information(layer, undefined)
    hessian = _hessian(layer, undefined)
    values = {
        **_shares(layer),
        **_gradients(layer, undefined),
        **_information_statistics(information),
        **_hessian_statistics(hessian),
        **_designs(layer, undefined),
        **_features(layer, undefined),
        "alpha_runaway": precision_ratio(layer),
    }
    if layer.routing == "closed":
        for name in ("info_sigma", "info_alpha"):
            del values[name]
            undefined[name] = BOUND_COVARIANCE
    return LayerStatistics(values, undefined, information, hessian)


def precision_ratio(layer: LastLayer) -> float:
    """``α/α_ref`` with the ELBO M-step ``α_ref = H/(‖μ‖² + tr Σ)`` (theory 7.2)."""
    spread = float(layer.mean @ layer.mean) + float(np.trace(layer.covariance))
    return layer.prior_precision * spread / layer.mean.size


def _shares(layer: LastLayer) -> dict[str, float]:
    variances = belief_variances(layer)
    share = layer.noise_var / (layer.noise_var + variances)
    kept = 1.0 / (1.0 + layer.prior_precision * belief_spectrum(layer)[0])
    return {
        "noise_share": float(share.mean()),
        "attribution_ratio": layer.noise_var / (layer.noise_var + float(variances.mean())),
        "info_sigma": float((share**2).mean()),
        "info_alpha": float((kept**2).mean()),
        "prior_fraction": float(kept.mean()),
    }


def _gradients(layer: LastLayer, undefined: dict[str, str]) -> dict[str, float]:
    """Gradient of the cell's own objective, minimised; hyperpriors are not part of it."""
    names = ("grad_log_alpha_over_H", "grad_log_sigma2_over_N")
    if layer.routing not in ("free", "closed") or (layer.routing == "closed" and layer.jitter > 0.0):
        undefined |= dict.fromkeys(names, JITTERED if layer.routing == "closed" else BOUND_MEAN)
        return {}
    count, width = layer.features.shape
    precision_slope, noise_slope = _free_slopes(layer) if layer.routing == "free" else _closed_slopes(layer)
    return dict(zip(names, (precision_slope / width, noise_slope / count), strict=True))


def _free_slopes(layer: LastLayer) -> tuple[float, float]:
    covariance = None if layer.family == "none" else belief_covariance(layer)
    gradient = shared_free_gradient(
        layer.features, layer.targets, layer.mean, covariance, layer.prior_precision, math.sqrt(layer.noise_var)
    )
    return gradient.log_prior_precision, gradient.log_noise_var


def _closed_slopes(layer: LastLayer) -> tuple[float, float]:
    evidence, point = Evidence(layer.features, layer.targets), (layer.prior_precision, math.sqrt(layer.noise_var))
    if layer.cavity == "sequential":
        upward = evidence.gradient(*point)
        return -upward.log_prior_precision, -upward.log_noise_var
    if layer.cavity == "leave_one_out":
        gradient = evidence.leave_one_out_gradient(*point)
    else:
        gradient = evidence.shared_closed_gradient(*point, family=layer.family)
    return gradient.log_prior_precision, gradient.log_noise_var


def _scales(layer: LastLayer) -> Float[Array, " H"]:
    """The diagonal family's scales without the jitter, which is no parameter."""
    return np.maximum(np.diag(belief_covariance(layer)) - layer.jitter, 0.0)


def _not_diagonal(layer: LastLayer) -> str:
    if layer.routing == "closed":
        return BOUND_COVARIANCE
    return {"diagonal": "", "none": NO_COVARIANCE}.get(layer.family, DIAGONAL_ONLY)


def _information(layer: LastLayer, undefined: dict[str, str]) -> Float[Array, "P P"] | None:
    reason = _not_diagonal(layer)
    if reason:
        undefined |= dict.fromkeys(("fim_corr_condition", "vif_sigma"), reason)
        return None
    noise_scale = math.sqrt(layer.noise_var)
    return attribution_information(layer.features, _scales(layer), noise_scale, jitter=layer.jitter)


def _information_statistics(information: Float[Array, "P P"] | None) -> dict[str, float]:
    """Collinearity of noise and scales; a scale without any information (a dead feature) is left out of it."""
    if information is None:
        return {}
    alive = np.diag(information) > 0.0
    scale = np.sqrt(np.diag(information)[alive])
    correlation = information[np.ix_(alive, alive)] / np.outer(scale, scale)
    condition = float(np.linalg.cond(correlation))
    singular = not condition <= SINGULAR_CONDITION
    inflation = math.inf if singular else float(np.linalg.inv(correlation)[0, 0])
    return {"fim_corr_condition": condition, "vif_sigma": inflation}


def _hessian(layer: LastLayer, undefined: dict[str, str]) -> Float[Array, "P P"] | None:
    reason = _not_diagonal(layer) or (BOUND_MEAN if layer.routing != "free" else "")
    if reason:
        undefined |= dict.fromkeys(("hessian_min_eig", "hessian_condition"), reason)
        return None
    return attribution_hessian(
        layer.features,
        layer.targets,
        layer.mean,
        _scales(layer),
        layer.prior_precision,
        math.sqrt(layer.noise_var),
        jitter=layer.jitter,
    )


def _hessian_statistics(hessian: Float[Array, "P P"] | None) -> dict[str, float]:
    if hessian is None:
        return {}
    values = np.linalg.eigvalsh(hessian)
    smallest, largest = float(np.abs(values).min()), float(np.abs(values).max())
    return {"hessian_min_eig": float(values[0]), "hessian_condition": largest / smallest if smallest else math.inf}


def _designs(layer: LastLayer, undefined: dict[str, str]) -> dict[str, float]:
    """Rank and singular ratio of the columns that multiply noise and covariance parameters in ``V_n``."""
    width = layer.features.shape[1]
    found = _design_statistics("diag", np.column_stack([np.ones(len(layer.features)), layer.features**2]))
    if width > LARGEST_DESIGN:
        columns = width * (width + 1) // 2 + 1
        reason = f"skipped: {width} features give {columns} columns (the limit is {LARGEST_DESIGN} features)"
        undefined |= dict.fromkeys(("design_rank_full", "design_sv_ratio_full"), reason)
        return found
    first, second = np.triu_indices(width)
    products = layer.features[:, first] * layer.features[:, second]
    return found | _design_statistics("full", np.column_stack([np.ones(len(products)), products]))


def _design_statistics(name: str, columns: Float[Array, "N P"]) -> dict[str, float]:
    norms = np.linalg.norm(columns, axis=0)
    singular = np.linalg.svd(columns / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
    tolerance = singular.max() * max(columns.shape) * np.finfo(float).eps
    rank = int((singular > tolerance).sum())
    # with fewer plates than columns the columns are dependent, whatever the smallest of the N singular values is
    ratio = float(singular.min() / singular.max()) if columns.shape[0] >= columns.shape[1] else 0.0
    return {f"design_rank_{name}": float(rank), f"design_sv_ratio_{name}": ratio}


def _features(layer: LastLayer, undefined: dict[str, str]) -> dict[str, float]:
    squares = (layer.features**2).sum(axis=1)
    evidence = Evidence(layer.features, layer.targets)
    values = {"gamma_closed": evidence.effective_dimension(layer.prior_precision, math.sqrt(layer.noise_var))}
    if squares.mean() > 0.0:
        values["feature_norm_cv"] = float(squares.std() / squares.mean())
    else:
        undefined["feature_norm_cv"] = "every feature is zero at every plate"
    if np.abs(layer.features).max() <= 1.0:
        values["saturation"] = float((np.abs(layer.features) > SATURATED).mean())
    else:
        undefined["saturation"] = "defined for features within [-1, 1] (tanh); these reach beyond"
    return values
