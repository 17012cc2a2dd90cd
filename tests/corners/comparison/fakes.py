"""A small comparison made by hand: linear features, exact posteriors, and what a user's data may hold."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corners.comparison.comparison import Comparison
from corners.comparison.provenance import Provenance
from corners.data.split import Part, Split
from corners.method import Fit, FitStatus, LastLayer, Trace
from corners.predictive.gaussian import GaussianPredictive
from tests.support.references import independent_reference

SEEDS = (5, 6, 7)
PRECISION, NOISE_VAR = 1.0, 0.25
EVIL = "<script>alert('x')</script>|*b*"


def split(seed: int, *, width: int = 2, rows: int = 60, **fields: Any) -> Split:
    """60 rows with a linear target; the second input matters most, a constant one would be the last."""
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(rows, width))
    slopes = np.linspace(0.5, 2.0, width)
    targets = inputs @ slopes + np.sqrt(NOISE_VAR) * generator.standard_normal(rows)
    parts = [Part(inputs[a:b], targets[a:b]) for a, b in ((0, 30), (30, 40), (40, rows))]
    return Split(*parts, name="hand made", seed=seed, kind="random", **fields)


@dataclass(frozen=True)
class LinearFit(Fit):
    """The exact posterior of a linear model, its variance times ``stretch`` and its mean moved by ``shift``."""

    method: str
    seeds: tuple[int, ...]
    splits: tuple[Split, ...]
    statuses: tuple[FitStatus, ...]
    trace: Trace
    seconds: float = 1.5
    shift: float = 0.0
    stretch: float = 1.0
    routing: str = "closed"
    layers: bool = True
    variance: float | None = None

    def last_layer(self, replicate: int, split: Split) -> LastLayer | None:
        """The belief on its own split, or None."""
        return self._layer(split) if self.layers else None

    def _layer(self, split: Split) -> LastLayer:
        x, y = split.train.inputs, split.train.targets
        covariance = np.linalg.inv(PRECISION * np.eye(x.shape[1]) + x.T @ x / NOISE_VAR)
        return LastLayer(
            features=x,
            targets=y,
            test_features=split.test.inputs,
            test_targets=split.test.targets,
            mean=covariance @ x.T @ y / NOISE_VAR + self.shift,
            covariance=self.stretch * covariance,
            prior_precision=PRECISION,
            noise_var=NOISE_VAR,
            jitter=0.0,
            cavity="shared",
            routing=self.routing,
            family="dense",
        )

    def predict(self, inputs: np.ndarray, *, replicate: int = 0) -> GaussianPredictive:
        """``N(wᵀx, σ² + xᵀΣx)``, or with a variance of its own."""
        layer = self._layer(self.splits[replicate])
        width = ((inputs @ layer.covariance) * inputs).sum(axis=1)
        variances = NOISE_VAR + width if self.variance is None else np.full(len(inputs), self.variance)
        return GaussianPredictive(inputs @ layer.mean, variances)

    def features(self, inputs: np.ndarray, *, replicate: int = 0) -> np.ndarray:
        """The inputs."""
        return inputs

    def learned(self, replicate: int) -> dict[str, float]:
        """Fixed hyperparameters and a number of steps that depends on the replicate."""
        return {"prior_precision": PRECISION, "noise_scale": float(np.sqrt(NOISE_VAR)), "steps": 10.0 * (replicate + 1)}


def fit(method: str, splits: tuple[Split, ...], seeds: tuple[int, ...], **changes: Any) -> LinearFit:
    """A fit that stopped early on every seed, with a validation NLL that falls and rises."""
    steps = np.arange(1.0, 41.0)
    curve = 1.0 + 0.001 * (steps - 20.0) ** 2
    trace = Trace(steps, {"validation_nll": np.stack([curve + 0.1 * k for k in range(len(seeds))])})
    early = tuple(FitStatus("stopped_early") for _ in seeds)
    return replace(LinearFit(method, seeds, splits, early, trace), **changes)


def provenance() -> Provenance:
    """A record that says nothing of this machine."""
    return Provenance(
        date="2026-01-31T12:00:00+00:00",
        command="corners compare hand_made.csv --target y",
        wall_seconds=90.0,
        protocol={"name": "default", "patience": 100},
        settings={"backbone": "linear"},
        versions={"numpy": "2.0"},
        commit="0123456789abcdef",
        machine={"system": "Linux"},
    )


def comparison(
    seeds: tuple[int, ...] = SEEDS,
    *,
    fits: dict[str, dict[str, Any]] | None = None,
    draws: bool = True,
    split_fields: dict[str, Any] | None = None,
    **fields: Any,
) -> Comparison:
    """Three methods (exact; a free one moved and stretched; one with a failed seed where there are several)."""
    splits = tuple(split(seed, **(split_fields or {})) for seed in seeds)
    failed = (FitStatus("failed", detail="Cholesky of M at step 3"), *(FitStatus("converged") for _ in seeds[1:]))
    given = fits or {
        "exact": {},
        "free": {"shift": 0.4, "stretch": 3.0, "routing": "free"},
        "point": {"layers": False, "shift": -0.2} | ({"statuses": failed} if len(seeds) > 1 else {}),
    }
    made = {method: fit(method, splits, seeds, **changes) for method, changes in given.items()}
    references = references_for(made, splits, seeds) if draws else {}
    base: dict[str, Any] = {
        "dataset_name": "hand made",
        "dataset_description": {"rows": 60, "source": "a test"},
        "splits": splits,
        "seeds": seeds,
        "fits": made,
        "unavailable": {"absent": "its library is not installed"},
        "references": references,
        "reference_failures": {("exact", seeds[-1]): "R-hat 1.2 exceeds 1.01"} if draws and len(seeds) > 1 else {},
        "hosts": {"point": "exact"},
        "provenance": provenance(),
        "method_summaries": {method: f"What {method} is." for method in given},
    }
    return Comparison(**(base | fields))


def references_for(
    made: dict[str, LinearFit], splits: tuple[Split, ...], seeds: tuple[int, ...]
) -> dict[tuple[str, int], Any]:
    """Independent draws of the exact posterior for the first seed of every fit with a layer."""
    exact = fit("exact", splits, seeds).last_layer(0, splits[0])
    assert exact is not None
    generator = np.random.default_rng(0)
    return {
        (method, seeds[0]): independent_reference(exact, exact.mean, exact.covariance, generator)
        for method, one in made.items()
        if one.layers and one.statuses[0].usable
    }
