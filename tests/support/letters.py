"""Letters of a user's own: registered for a test and forgotten after it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from inference.nodes._base import Node
from inference.registry import LETTERS


@dataclass(frozen=True)
class Scaled(Node):
    """``y ~ N(scale x, 1)``, x a vector and y as long; no forward message, so it cannot be started from."""

    scale: float = 1.0

    letter = "scaled"
    ports = {"y": "real", "x": "real", "weight": "positive"}  # noqa: RUF012
    outputs = ("y",)

    def event_ndim(self, port, held):
        return int(port == "x")

    def output_event(self, port, held):
        return tuple(held["x"].event)

    def log_density(self, values):
        return -0.5 * values["weight"] * ((values["y"] - self.scale * values["x"]) ** 2).sum(axis=-1)

    def message(self, port, q):
        if port == "weight":
            return np.asarray(0.0), np.asarray(1.0)
        return np.asarray(0.0), np.asarray(1.0)

    def average_energy(self, q):
        return np.asarray(0.0)


@contextmanager
def letters(*nodes: type[Node]) -> Iterator[None]:
    """These letters exist inside the block."""
    for node in nodes:
        LETTERS.register(node)
    try:
        yield
    finally:
        for node in nodes:
            LETTERS.forget(node.letter)
