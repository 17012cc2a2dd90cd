"""Running jobs here, in processes of this machine, or on a Dask cluster; results come as they are finished."""

import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from corners.errors import SpecError, UnavailableError

CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class Lost:
    """A job without a result, because the process that ran it ended."""

    reason: str


Work = Callable[[Any], Any]
Results = Iterator[tuple[int, Any]]
"""Position of a job and its result, or :class:`Lost`; every job comes once, in the order in which they finish."""


def schedule(
    work: Work, jobs: Sequence[Any], *, workers: int = 1, threads: int = 1, scheduler: str | None = None
) -> Results:
    """Run ``work(job)`` for every job, begun in their order.

    Parameters
    ----------
    work : a function that other processes can import, which turns its own errors into results.
    workers : processes on this machine, of ``threads`` threads each; with 1 the jobs run in this process, whose
        threads are its own affair.
    scheduler : address of a Dask scheduler that runs them instead, on its own workers.

    Raises
    ------
    SpecError : workers is below 1.
    UnavailableError : ``distributed`` is not installed, or nobody answers at the address.

    Example
    -------
    >>> list(schedule(abs, [-3, 4]))
    [(0, 3), (1, 4)]
    """
    if workers < 1:
        raise SpecError(f"workers counts processes and must be at least 1; got {workers}")
    if scheduler is not None:
        return _on_cluster(work, jobs, scheduler)
    if workers == 1:
        return ((k, work(job)) for k, job in enumerate(jobs))
    return _in_processes(work, jobs, workers, threads)


def _in_processes(work: Work, jobs: Sequence[Any], workers: int, threads: int) -> Results:
    """At most ``workers`` jobs are handed out at a time, so that after the death of a process the suspects are known.

    They are run again one at a time at the end: an innocent one then has its result, and the guilty one is lost.
    """
    waiting, suspects = list(range(len(jobs))), []
    while waiting:
        handed: set[int] = set()
        try:
            with closing(_pool(work, jobs, waiting, (workers, threads), handed)) as results:
                for k, result in results:
                    handed.discard(k)
                    waiting.remove(k)
                    yield k, result
        except _ProcessDiedError:
            suspects += sorted(handed)
            waiting = [k for k in waiting if k not in handed]
    for k in suspects:
        try:
            yield from _pool(work, jobs, [k], (2, threads), set())
        except _ProcessDiedError:
            yield k, Lost("its process was killed twice, the second time alone; perhaps the memory does not suffice")


class _ProcessDiedError(Exception):
    """A process of the pool ended."""


def _pool(
    work: Work, jobs: Sequence[Any], order: Iterable[int], size: tuple[int, int], handed: set[int]
) -> Generator[tuple[int, Any], None, None]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    def calls() -> Iterator[Any]:
        for k in list(order):
            handed.add(k)
            yield delayed(_deaf)(work, k, jobs[k])

    workers, threads = size
    with parallel_config(backend="loky", inner_max_num_threads=threads):
        handing: dict[str, Any] = {"return_as": "generator_unordered", "pre_dispatch": workers, "batch_size": 1}
        results: Any = Parallel(n_jobs=workers, max_nbytes=None, **handing)(calls())
    try:
        for each in results:  # noqa: UP028  `yield from` would close them before joblib's warning can be kept quiet
            yield each
    except BrokenProcessPool as error:
        raise _ProcessDiedError from error
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* tasks? .*(but not used|cancelled)", UserWarning)
            results.close()
        # joblib would keep the processes for whoever asks next; a run starts with new ones and leaves none behind.
        same = get_reusable_executor(reuse=True)  # pyright: ignore[reportArgumentType]  its default "auto" is a str
        same.shutdown(wait=True, kill_workers=True)


def _deaf(work: Work, k: int, job: Any) -> tuple[int, Any]:
    """In a process of the pool: Ctrl-C is for the process that gathers the results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return k, work(job)


def _on_cluster(work: Work, jobs: Sequence[Any], address: str) -> Results:
    """Dask runs the jobs of a worker that dies on another one, and gives up on a job after several deaths."""
    with _client(address) as (client, as_completed):
        futures = {client.submit(work, job, pure=False, priority=-k, retries=1): k for k, job in enumerate(jobs)}
        try:
            for future in as_completed(list(futures), loop=client.loop):
                yield futures.pop(future), _gathered(future)
                future.release()
        finally:
            client.cancel(list(futures))


def _gathered(future: Any) -> Any:
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        return Lost(f"its worker was killed several times; perhaps the memory does not suffice ({error})")
    except CancelledError as error:
        return Lost(f"the scheduler went away or cancelled it ({error})")
    except Exception as error:  # a worker that lacks the project, say, fails every job, and the summary tells why
        return Lost(f"a worker could not run it: {type(error).__name__}: {error}")


@contextmanager
def _client(address: str) -> Iterator[tuple[Any, Any]]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise UnavailableError(
            f"a scheduler was given, and distributed cannot be imported ({error}): pip install 'bethe-corners[cluster]'"
        ) from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"no scheduler answers at {address!r} ({error or type(error).__name__}); start one with `dask scheduler` "
            "and give the address it prints, such as tcp://host:8786"
        ) from error
    with client:
        yield client, as_completed
