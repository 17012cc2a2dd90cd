"""What works on the last layer of another fit: its host is there, and replicates come one after another."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from corners.baselines._tasks import require_task
from corners.errors import CornersError, SpecError
from corners.method import Fit, FitStatus, Method, require_one_seed_a_split
from corners.optimise import Watcher

if TYPE_CHECKING:
    from corners.data.split import Split


def require_host(method: Method, host: Fit | None, splits: "Sequence[Split]", seeds: Sequence[int]) -> Fit:
    """The host, once it is there and the splits are of the method's task and pair up with the seeds.

    Raises
    ------
    SpecError : no host, another task, or sequences of unequal length.
    """
    if host is None:
        raise SpecError(f"{method.name} works on the last layer of another fit: pass host=, the fit of {method.host!r}")
    require_task(method, splits)
    require_one_seed_a_split(splits, seeds)
    return host


def replicate_by_replicate(
    count: int, fit_one: Callable[[int], FitStatus], progress: Watcher | None
) -> tuple[FitStatus, ...]:
    """The status of every replicate; one that raises an error of ours has failed, and the others go on."""
    statuses = []
    for replicate in range(count):
        try:
            statuses.append(fit_one(replicate))
        except CornersError as error:
            statuses.append(FitStatus("failed", detail=str(error)))
        if progress is not None:
            progress(replicate + 1, count - replicate - 1, float("nan"))
    return tuple(statuses)
