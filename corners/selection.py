"""Which candidate of a grid validation NLL chooses, and what is to be said of the choice."""

from collections.abc import Mapping, Sequence

import numpy as np

from corners.types import Array, Float

Candidate = Mapping[str, float]
"""One point of a grid: hyperparameters by name."""

FLAT = 1e-3
"""Range of validation NLL, in nats a point, below which a grid does not tell its values apart."""

NOT_FINITE = "validation NLL is finite nowhere on the grid: nothing can be chosen by it"


def best_candidate(scores: Float[Array, " C"]) -> int | None:
    """Position of the lowest finite score; None where none is finite, for then nothing has been chosen.

    Example
    -------
    >>> best_candidate(np.array([np.nan, 2.0, 1.0])), best_candidate(np.array([np.inf, np.nan]))
    (2, None)
    """
    finite = np.isfinite(scores)
    return int(np.where(finite, scores, np.inf).argmin()) if finite.any() else None


def choice_remarks(candidates: Sequence[Candidate], scores: Float[Array, " C"], best: int) -> tuple[str, ...]:
    """Hyperparameters whose chosen value is at the edge of its grid, or about which the scores say nothing.

    Each is judged with the others at their chosen values, and only where its grid has two values at least.

    Example
    -------
    >>> choice_remarks([{"penalty": 0.1}, {"penalty": 1.0}], np.array([2.0, 1.5]), 1)
    ('penalty 1 is at the edge of its grid',)
    """
    chosen, said = candidates[best], []
    for name, value in chosen.items():
        others = {key: each for key, each in chosen.items() if key != name}
        profile = {
            candidate[name]: float(score)
            for candidate, score in zip(candidates, scores, strict=True)
            if others.items() <= candidate.items()
        }
        if len(profile) < 2:
            continue
        words = name.replace("_", " ")
        if value in (min(profile), max(profile)):
            said.append(f"{words} {value:g} is at the edge of its grid")
        if max(profile.values()) - min(profile.values()) < FLAT:
            said.append(f"validation NLL hardly depends on {words} (range below {FLAT:g} nat over its grid)")
    return tuple(said)
