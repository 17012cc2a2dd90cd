"""Fitting a method so that what its quadrature noticed stands in the status of every replicate, once."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corners.method import Fit, FitStatus, Method

if TYPE_CHECKING:
    from corners.data.split import Split

WIDE = "quadrature met marginal variances above 10, where its nodes lose digits"


def fit_method(
    method: Method, splits: "Sequence[Split]", seeds: Sequence[int], *, host: Fit | None = None, progress: Any = None
) -> Fit:
    """``method.fit``; a remark on every usable replicate where quadrature lost digits while they trained.

    Training warns at every step and in other words each time, which nobody could read. Replicates train together, so
    the remark does not say which of them it was.
    """
    with quadrature_heard() as heard:
        fit = method.fit(splits, seeds, host=host, progress=progress)
    return with_remark(fit, WIDE) if heard else fit


def with_remark(fit: Fit, remark: str) -> Fit:
    """The fit with one more remark on every usable replicate."""
    statuses = tuple(
        FitStatus(status.code, status.detail, (*status.remarks, remark)) if status.usable else status
        for status in fit.statuses
    )
    return replace(fit, statuses=statuses)  # pyright: ignore[reportArgumentType]  (every fit is a frozen dataclass)


@contextmanager
def quadrature_heard() -> Iterator[list[str]]:
    """Keeps what quadrature warns of, one text, and lets every other warning pass."""
    heard: list[str] = []
    shown = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        # By name: where no head needs quadrature its module, and torch with it, is not loaded.
        if category.__name__ == "QuadratureWarning":
            heard[:] = [str(message)]
        else:
            shown(message, category, *rest)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", ".* marginal variance .* exceeds", UserWarning)
        warnings.showwarning = keep
        yield heard
