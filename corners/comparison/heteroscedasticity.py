"""Is there anything for a free covariance to gain, and what did this one gain over the exact corner (theory 3.9)?"""

import math
from dataclasses import dataclass
from typing import Any

from corners.comparison.attribution import belief_covariance
from corners.exact.evidence import Evidence
from corners.exact.heteroscedasticity import KoenkerTest, SampleDecomposition, koenker_test, sample_decomposition
from corners.method import LastLayer
from corners.types import Array, Float

LEVEL = 0.05
PLATES_A_COLUMN = 5
CAVEAT = (
    "in-sample residuals of a trained mean are too small where it fits closely: read the test beside the held-out gap"
)


@dataclass(frozen=True)
class HeteroscedasticityReport:
    """Koenker's test on the training residuals, and what the layer's variance function gains at its own mean.

    ``train`` and ``test`` compare ``V = σ² + ψᵀΣψ`` with one constant (the mean square of the training residuals) and
    with the exact corner's variances at the same features, in nats per point. ``dense`` is None where there are fewer
    than five plates a column; ``corner_noise_scale`` is the corner's own, in original units.
    """

    diagonal: KoenkerTest
    dense: KoenkerTest | None
    train: SampleDecomposition
    test: SampleDecomposition
    corner_noise_scale: float

    @property
    def detected(self) -> bool:
        """Whether either test rejects constant variance at 5 %."""
        return any(each is not None and each.p_value < LEVEL for each in (self.diagonal, self.dense))

    @property
    def sentence(self) -> str:
        """The test and the held-out gains in words."""
        tests = [f"diagonal p = {self.diagonal.p_value:.2g}"]
        tests += [f"dense p = {self.dense.p_value:.2g}"] if self.dense is not None else []
        found = "is" if self.detected else "is not"
        return (
            f"variance that depends on the features {found} detected in the training residuals ({', '.join(tests)}); "
            f"held out, the fitted variances gain {self.test.gap_to_constant:+.3g} nats per point over one constant, "
            f"{self.test.gap_to_corner:+.3g} over the exact corner at the same mean (in-sample "
            f"{self.train.gap_to_constant:+.3g} and {self.train.gap_to_corner:+.3g}, stationarity residual "
            f"{self.train.stationarity:+.2g}); {CAVEAT}"
        )

    def __str__(self) -> str:
        return self.sentence

    def records(self) -> list[dict[str, Any]]:
        """One flat row a part."""
        tests = {
            "koenker_diagonal_p": self.diagonal.p_value,
            "koenker_dense_p": None if self.dense is None else self.dense.p_value,
            "detected": self.detected,
        }
        return [
            {
                "part": part,
                "gap_to_constant": each.gap_to_constant,
                "gap_to_corner": each.gap_to_corner,
                "stationarity": each.stationarity,
                **tests,
            }
            for part, each in (("train", self.train), ("test", self.test))
        ]


def heteroscedasticity(layer: LastLayer) -> HeteroscedasticityReport:
    """Koenker's test and the sample decomposition of theory 3.9 at the layer's mean, in-sample and held out.

    The corner is the conjugate posterior at the same features with the precision and noise of highest evidence; only
    its variances are used, the mean stays the layer's.

    Raises
    ------
    DataError : the layer fits every training target exactly, so that there is no residual variance to explain.

    Example
    -------
    >>> import numpy as np
    >>> features, targets = np.array([[1.0], [2.0], [3.0], [1.0]]), np.array([1.0, -2.0, 3.0, -1.0])
    >>> data = (features, targets, features, targets)
    >>> layer = LastLayer(*data, np.zeros(1), np.eye(1), 1.0, 1e-9, 0.0, "shared", "free", "dense")
    >>> report = heteroscedasticity(layer)  # r² = ψ² = V: nothing is left to explain
    >>> abs(report.train.stationarity) < 1e-6, report.train.gap_to_constant > 0
    (True, True)
    """
    train = layer.targets - layer.features @ layer.mean
    test = layer.test_targets - layer.test_features @ layer.mean
    evidence = Evidence(layer.features, layer.targets)
    corner = evidence.maximise()
    point, constant = (corner.prior_precision, corner.noise_scale), float((train**2).mean())
    count, width = layer.features.shape
    enough = count >= PLATES_A_COLUMN * (1 + width * (width + 1) // 2)
    parts = [
        sample_decomposition(
            residuals, evidence.predict(features, *point).variances, _variances(layer, features), constant=constant
        )
        for residuals, features in ((train, layer.features), (test, layer.test_features))
    ]
    return HeteroscedasticityReport(
        diagonal=koenker_test(layer.features, train, family="diagonal"),
        dense=koenker_test(layer.features, train, family="dense") if enough else None,
        train=parts[0],
        test=parts[1],
        corner_noise_scale=math.sqrt(corner.noise_var) * layer.target_scale,
    )


def _variances(layer: LastLayer, features: Float[Array, "N H"]) -> Float[Array, " N"]:
    return layer.noise_var + ((features @ belief_covariance(layer)) * features).sum(axis=1)
