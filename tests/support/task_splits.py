"""Tiny splits of classes and counts, beside those of real numbers in ``problems``."""

import numpy as np

from corners.data.split import Part, Split

LABELS = ("red", "green", "blue")


def tiny_classes(
    seed: int = 0,
    *,
    rows: tuple[int, int, int] = (12, 6, 5),
    columns: int = 2,
    classes: int = 3,
    name: str = "classes",
) -> Split:
    """Noisy sectors of a plane, in inputs far from standard ones; the first training rows have every class."""
    generator = np.random.default_rng(seed)

    def part(count: int) -> Part:
        inputs = 3.0 + 2.0 * generator.normal(size=(count, columns))
        score = inputs[:, 0] - 3.0 + 0.5 * (inputs[:, -1] - 3.0) + generator.normal(size=count)
        labels = np.clip(np.floor(score / 2.0) + classes // 2, 0, classes - 1)
        labels[:classes] = np.arange(min(classes, count))
        return Part(inputs, labels)

    labels = [*LABELS, *map(str, range(classes))][:classes]
    return Split(part(rows[0]), part(rows[1]), part(rows[2]), name, seed=seed, task="classification", labels=labels)


def tiny_counts(
    seed: int = 0, *, rows: tuple[int, int, int] = (12, 6, 5), columns: int = 2, name: str = "counts"
) -> Split:
    """Poisson counts near 20 whose log rate is smooth in the inputs."""
    generator = np.random.default_rng(seed)

    def part(count: int) -> Part:
        inputs = 3.0 + 2.0 * generator.normal(size=(count, columns))
        return Part(inputs, generator.poisson(np.exp(3.0 + 0.3 * np.sin(inputs[:, 0]) + 0.05 * inputs[:, -1])))

    return Split(part(rows[0]), part(rows[1]), part(rows[2]), name, seed=seed, task="count")
