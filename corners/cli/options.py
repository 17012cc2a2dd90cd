"""Options that several verbs share."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def running_options(function: F) -> F:
    """``--quiet`` and ``--threads``: how a long verb runs."""
    quiet = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
    threads = click.option(
        "--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of the numerical libraries."
    )
    return quiet(threads(function))


def json_option(function: F) -> F:
    """``--json``: the result as data on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")(function)


def limit_threads(count: int) -> None:
    """Give every numerical library of this process ``count`` threads.

    The tensors of a last layer are small: more threads seldom help, and processes that share cores hinder each other.
    """
    import threadpoolctl
    import torch

    torch.set_num_threads(count)
    threadpoolctl.threadpool_limits(count)


def print_json(value: Sequence[Any] | dict[str, Any]) -> None:
    """Standard JSON, so that any other program can read it."""
    click.echo(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


def comma_separated(value: str | None) -> list[str] | None:
    """``"a, b"`` as ``["a", "b"]``."""
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]
