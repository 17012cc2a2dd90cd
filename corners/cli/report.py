"""``corners report``: the committed report of a study, from its results alone."""

import sys
from pathlib import Path

import click

from corners.cli.options import json_option, print_json


@click.command("report", short_help="Render the report of a study from its results.")
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing: render the committed results again, and fail where the report says something else.",
)
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing where all is well.")
def command(study: Path, check: bool, as_json: bool, quiet: bool) -> None:
    """Collect what `corners run` left of STUDY (its folder or file) and write report.html, report.md and figures there.

    Committed beside them: scores.csv.gz, failures.csv and provenance.json. A clone without result files renders from
    those alone.

    \b
    Examples:
      corners report reports/uci_regression_default
      corners report reports/uci_regression_default --check
    """
    from corners.study.collecting import collect
    from corners.study.reporting import check_study, read_view, summary_records, write_study
    from corners.study.spec import read_study

    spec = read_study(study)
    if not check:
        collected = collect(spec)
        if not quiet:
            click.echo(f"{spec.name}: {collected}", err=True)
    view = read_view(spec)
    if check:
        found = check_study(view)
        if found.remark and not quiet:
            click.echo(f"{spec.name}: {found.remark}", err=True)
        if not found.same:
            click.echo(f"corners: {spec.name} is not what its results give: {found.difference}", err=True)
            sys.exit(1)
    else:
        write_study(view)
    if as_json:
        print_json(summary_records(view))
    elif not quiet:
        click.echo(f"{spec.name}: the report is what its results give" if check else str(spec.folder / "report.html"))
