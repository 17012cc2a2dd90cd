"""Every quantity of the design space at fixed features, in closed form on numpy arrays (theory 3, 4, 7-9).

Float64 in and out; objectives are totals in nats and minimised, ``log_evidence`` is a total in nats; ``noise_scale``
is a standard deviation. Start with :class:`Evidence`.
"""

from corners.exact.bethe_identity import BetheIdentity, bethe_parts, coupling_lost, joint_minus_plates
from corners.exact.bounds import (
    DiagonalOptimum,
    Objective,
    diagonal_optimum,
    kl_divergence,
    kl_to_prior,
    map_objective,
    neg_elbo,
)
from corners.exact.cholesky_form import log_evidence, log_evidence_and_gradient
from corners.exact.covariance import (
    Covariance,
    DiagonalCovariance,
    FactorCovariance,
    LowRankCovariance,
    MatrixCovariance,
    NoCovariance,
)
from corners.exact.curvature import attribution_hessian, attribution_information, attribution_slopes
from corners.exact.empirical_bayes import NOISE_VAR_FLOOR, EmpiricalBayes, NullBoundary, null_boundary
from corners.exact.evidence import Evidence, Posterior, PredictiveMoments
from corners.exact.free_objective import FreeBounds, Hyperpriors
from corners.exact.free_optimum import FreeOptimum, Start, find_free_optimum
from corners.exact.gradients import ClosedGradient, HyperGradient
from corners.exact.heteroscedasticity import (
    KoenkerTest,
    PopulationDecomposition,
    SampleDecomposition,
    corner_deficit,
    itakura_saito,
    koenker_test,
    population_decomposition,
    sample_decomposition,
    variance_design,
)
from corners.exact.hyper_posterior import HyperPosterior, integrate_hyperparameters
from corners.exact.kronecker import kronecker_output_covariance, kronecker_prior_term
from corners.exact.leave_one_out import LeaveOneOut, leave_one_out_dual, leave_one_out_predictives
from corners.exact.leave_one_out_fit import LeaveOneOutFit
from corners.exact.leverage import auroc, novelty
from corners.exact.mean_closed import mean_closed_terms
from corners.exact.none_cell import StationaryPoints, none_cell_stationary_points
from corners.exact.ordering import (
    AT_FREE_OPTIMUM,
    PRIOR_BELIEF_THRESHOLD,
    UNIVERSAL_THRESHOLD,
    Gap,
    Ordering,
    PriorGaps,
    jensen_gap,
    ordering_at,
    ordering_of,
    plate_condition,
    prior_gaps,
)
from corners.exact.random_coefficient import RandomCoefficientFit, fit_random_coefficients
from corners.exact.sequential import Sequential, sequential_predictives
from corners.exact.shared_closed import shared_closed_gradient, shared_closed_terms
from corners.exact.shared_closed_dense import SharedClosed, cavity_correction
from corners.exact.shared_free import (
    PlateTerms,
    PriorOverlap,
    SharedFree,
    SharedFreeGradient,
    gaussian_plates,
    gradient_from_plates,
    prior_overlap,
    shared_free_gradient,
    shared_free_terms,
)
from corners.exact.variance_function import VarianceFit, fit_variance

__all__ = [
    "AT_FREE_OPTIMUM",
    "NOISE_VAR_FLOOR",
    "PRIOR_BELIEF_THRESHOLD",
    "UNIVERSAL_THRESHOLD",
    "BetheIdentity",
    "ClosedGradient",
    "Covariance",
    "DiagonalCovariance",
    "DiagonalOptimum",
    "EmpiricalBayes",
    "Evidence",
    "FactorCovariance",
    "FreeBounds",
    "FreeOptimum",
    "Gap",
    "HyperGradient",
    "HyperPosterior",
    "Hyperpriors",
    "KoenkerTest",
    "LeaveOneOut",
    "LeaveOneOutFit",
    "LowRankCovariance",
    "MatrixCovariance",
    "NoCovariance",
    "NullBoundary",
    "Objective",
    "Ordering",
    "PlateTerms",
    "PopulationDecomposition",
    "Posterior",
    "PredictiveMoments",
    "PriorGaps",
    "PriorOverlap",
    "RandomCoefficientFit",
    "SampleDecomposition",
    "Sequential",
    "SharedClosed",
    "SharedFree",
    "SharedFreeGradient",
    "Start",
    "StationaryPoints",
    "VarianceFit",
    "attribution_hessian",
    "attribution_information",
    "attribution_slopes",
    "auroc",
    "bethe_parts",
    "cavity_correction",
    "corner_deficit",
    "coupling_lost",
    "diagonal_optimum",
    "find_free_optimum",
    "fit_random_coefficients",
    "fit_variance",
    "gaussian_plates",
    "gradient_from_plates",
    "integrate_hyperparameters",
    "itakura_saito",
    "jensen_gap",
    "joint_minus_plates",
    "kl_divergence",
    "kl_to_prior",
    "koenker_test",
    "kronecker_output_covariance",
    "kronecker_prior_term",
    "leave_one_out_dual",
    "leave_one_out_predictives",
    "log_evidence",
    "log_evidence_and_gradient",
    "map_objective",
    "mean_closed_terms",
    "neg_elbo",
    "none_cell_stationary_points",
    "novelty",
    "null_boundary",
    "ordering_at",
    "ordering_of",
    "plate_condition",
    "population_decomposition",
    "prior_gaps",
    "prior_overlap",
    "sample_decomposition",
    "sequential_predictives",
    "shared_closed_gradient",
    "shared_closed_terms",
    "shared_free_gradient",
    "shared_free_terms",
    "variance_design",
]
