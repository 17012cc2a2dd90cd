"""The ``corners`` command: one file a verb."""

from corners.cli.main import main

__all__ = ["main"]
