"""``corners demo``: the whole design space on embedded real data, checked against NUTS, with a report."""

import sys
from pathlib import Path

import click

from corners.cli.compare import INTERRUPTED, run_one
from corners.cli.options import json_option, limit_threads, print_json, running_options

DATA = "diabetes"
REFERENCES = ("map", "gaussian_process", "nuts")
"""Beside the cells; the other baselines take minutes, or libraries that the first installation does not bring."""
TRUTH_DRAWS = 700
"""Draws a chain: whitened chains pass the gate with room to spare, and the demo stays near a minute."""


@click.command("demo", short_help="Every cell on real data, checked against NUTS; about a minute.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Number of seeds.")
@click.option(
    "--report",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("reports/demo"),
    show_default=True,
    help="Folder for the report.",
)
@json_option
@running_options
def command(seeds: int, folder: Path, as_json: bool, quiet: bool, threads: int) -> None:
    """Train and score every cell of the design space on scikit-learn's diabetes table and write a report.

    Example: corners demo --report my_report
    """
    from corners.comparison.comparison import check_writable
    from corners.data import load
    from corners.engine.cells import CELLS

    check_writable(folder)
    limit_threads(threads)
    names = [*CELLS, *REFERENCES]
    options = {
        "protocol": "default",
        "first_seed": 5,
        "seeds": seeds,
        "hidden": "50",
        "truth_seeds": 1,
        "truth_draws": TRUTH_DRAWS,
    }
    if not quiet:
        click.echo(f"{DATA}: every cell of the design space, {seeds} seeds, then NUTS on every belief", err=True)
    comparison = run_one(load(DATA), names, options, quiet=quiet)
    where = comparison.report(folder)
    if as_json:
        print_json(comparison.records())
    else:
        click.echo(str(comparison.table()))
        click.echo(
            f"\nThe report answers which cell predicts best, how far each belief is from the truth, and why: {where}"
        )
    if comparison.provenance.settings["interrupted"]:
        sys.exit(INTERRUPTED)
