"""One thread a process, where the real tables are, which skips are allowed, and how Hypothesis searches.

This file imports neither torch nor corners: the tests of ``inference`` run where there is no torch.
"""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

# Before a numerical library is loaded: the workers of one run share the cores, so each gets one thread.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

REQUIRE_ALL = os.environ.get("CORNERS_REQUIRE_ALL") == "1"
NO_TABLES = "no real tables at"
ALLOWED_SKIPS = ("machine:", NO_TABLES)
"""How the reason of a skip may begin that full CI lets pass: what the machine lacks and the project cannot install."""

TABLES = Path(os.environ.get("CORNERS_DATA") or Path(__file__).parents[2] / "shared" / "data").resolve()

_shared = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow], "print_blob": True}
hypothesis.settings.register_profile("fast", max_examples=25, **_shared)
hypothesis.settings.register_profile("full", max_examples=25, derandomize=True, **_shared)
hypothesis.settings.load_profile("full" if REQUIRE_ALL else "fast")


WHOLE = tuple(Path(__file__).parent / folder for folder in ("cases", "integration"))
"""Tests of the whole, which run it as users do."""


@pytest.fixture(scope="session")
def tables_folder() -> Path:
    """The folder of real tables; a clone alone has none."""
    if not (TABLES / "MANIFEST.json").is_file():
        pytest.skip(f"{NO_TABLES} {TABLES}; set CORNERS_DATA")
    return TABLES


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """``unchecked`` tests, their fixtures included, run as users do: shapes of arguments are not looked at.

    Checks cost such tests three quarters of their time, and the tests of the parts they run have them.
    """
    from jaxtyping import config

    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", before or item.get_closest_marker("unchecked") is not None)
    try:
        return (yield)
    finally:
        config.update("jaxtyping_disable", before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cases and integration are ``unchecked``; ``needs_tables`` skips in the words of the fixture."""
    for item in items:
        if item.path.parent in WHOLE:
            item.add_marker(pytest.mark.unchecked)
    if (TABLES / "MANIFEST.json").is_file():
        return
    for item in items:
        if item.get_closest_marker("needs_tables"):
            item.add_marker(pytest.mark.skip(reason=f"{NO_TABLES} {TABLES}; set CORNERS_DATA"))


def _skip_reason(report: Any) -> str:
    return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def refuse_skip(report: Any) -> None:
    """In full CI a skip fails, unless its reason is the machine or the absent tables."""
    if not REQUIRE_ALL or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = _skip_reason(report)
    if not reason.startswith(ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CORNERS_REQUIRE_ALL=1 does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """A test that skips."""
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """A module that skips as a whole."""
    report = yield
    refuse_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests did not run for want of something, so that nobody reads green as complete."""
    reasons = [_skip_reason(report) for report in terminalreporter.stats.get("skipped", [])]
    no_tables = sum(reason.startswith(NO_TABLES) for reason in reasons)
    rest = len(reasons) - no_tables
    terminalreporter.write_line(f"skipped for want of the real tables: {no_tables}; for other reasons: {rest}")
