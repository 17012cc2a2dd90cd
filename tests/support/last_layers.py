"""Last layers made by hand: from a golden case, or the conjugate posterior by dense linear algebra."""

from typing import Any

import numpy as np

from corners.method import LastLayer
from tests.support.golden import as_array, golden


def layer(features: Any, targets: Any, mean: Any, covariance: Any, precision: float, noise_var: float, **rest: Any):
    """A last layer whose test part is its training part; shared cavity, free dense routing unless said otherwise."""
    features, targets = as_array(features), as_array(targets)
    fields = {"cavity": "shared", "routing": "free", "family": "dense", "jitter": 0.0}
    fields |= {"test_features": features, "test_targets": targets} | rest
    return LastLayer(
        features=features,
        targets=targets,
        mean=as_array(mean),
        covariance=as_array(covariance),
        prior_precision=float(precision),
        noise_var=float(noise_var),
        **fields,
    )


def golden_case(name: str, case_id: str) -> dict[str, Any]:
    """One case of a golden file by its id."""
    return next(case for case in golden(name)["cases"] if case["id"] == case_id)


def golden_layer(case: dict[str, Any]) -> LastLayer:
    """The layer of a golden case with ``s`` (diagonal) or ``Sigma`` (dense)."""
    given = case["inputs"]
    diagonal = "s" in given
    covariance = np.diag(given["s"]) if diagonal else given["Sigma"]
    family = "diagonal" if diagonal else "dense"
    return layer(given["Psi"], given["y"], given["mu"], covariance, given["alpha"], given["sigma2"], family=family)


def random_problem(count: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Tanh features and noisy linear targets."""
    generator = np.random.default_rng(seed)
    features = np.tanh(generator.normal(size=(count, width)))
    return features, features @ generator.normal(size=width) + 0.4 * generator.standard_normal(count)


def posterior_layer(features: np.ndarray, targets: np.ndarray, precision: float, noise_var: float, **rest: Any):
    """The conjugate posterior ``A = αI + ΨᵀΨ/σ²`` as a closed dense layer."""
    inverse = np.linalg.inv(precision * np.eye(features.shape[1]) + features.T @ features / noise_var)
    mean = inverse @ features.T @ targets / noise_var
    fields = {"cavity": "sequential", "routing": "closed", "has_prior_term": False} | rest
    return layer(features, targets, mean, inverse, precision, noise_var, **fields)
