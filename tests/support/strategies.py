"""Hypothesis strategies: small last-layer problems in every regime (N below, at and above H; weak and strong prior)."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Layer:
    """Features, targets and hyperparameters of one last layer."""

    features: np.ndarray
    targets: np.ndarray
    precision: float
    noise_var: float


def draw_layer(
    seed: int, rows: int, size: int, precision: float, noise_var: float, *, correlated: bool = False
) -> Layer:
    """Normal features and targets that follow them, all from one seed; ``correlated`` columns share a direction."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(rows, size))
    if correlated:
        features += 2.0 * generator.normal(size=(rows, 1))
    targets = features @ generator.normal(size=size) + generator.normal(size=rows)
    return Layer(features, targets, precision, noise_var)


@st.composite
def layers(draw: st.DrawFn, *, rows: tuple[int, int] = (1, 9), size: tuple[int, int] = (1, 6)) -> Layer:
    """A last layer; precision and noise run over six orders of magnitude and are never 1."""
    return draw_layer(
        draw(st.integers(0, 2**31)),
        draw(st.integers(*rows)),
        draw(st.integers(*size)),
        1.3 * 10.0 ** draw(st.floats(-3.0, 3.0)),
        0.7 * 10.0 ** draw(st.floats(-3.0, 3.0)),
        correlated=draw(st.booleans()),
    )
