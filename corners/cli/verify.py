"""``corners verify``: the claims of the theory, run."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corners.cli.options import json_option, limit_threads, print_json, running_options

if TYPE_CHECKING:
    from corners.claims._ledger import Ledger, Row
    from corners.claims._problems import Problem


@click.command("verify", short_help="Run the claims of the theory: which hold, and which do not.")
@click.argument("claims", nargs=-1, metavar="[CLAIM]...")
@click.option(
    "--data", metavar="NAME", help="A registered regression table whose features take the stated problem's place."
)
@click.option(
    "--units",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Fixed random tanh units on the columns of --data; 0 takes the columns themselves.",
)
@click.option(
    "--report", "folder", type=click.Path(path_type=Path), help="Folder for the ledger (report.md, ledger.json)."
)
@json_option
@running_options
def command(
    claims: tuple[str, ...],
    data: str | None,
    units: int,
    folder: Path | None,
    as_json: bool,
    quiet: bool,
    threads: int,
) -> None:
    """Run claims of the theory, all of them by default, and say which hold, which hold conditionally and which fail.

    Exit status 1 means that a finding contradicts the theory; a claim that fails as the theory says is no error.

    \b
    Examples:
      corners verify
      corners verify none_cell_has_one_minimum
      corners verify --data diabetes --units 20
    """
    from corners.claims import verify
    from corners.claims._rendering import detail, line

    limit_threads(threads)
    problem = None if data is None else _problem(data, units)
    single = len(claims) == 1

    def report(row: "Row") -> None:
        if not as_json:
            click.echo(detail(row) if single else line(row))
        elif not quiet:
            click.echo(f"  {row.claim.name} ({row.seconds:.1f} s)", err=True)

    ledger = verify(claims or None, problem, report=report)
    if folder is not None:
        click.echo(f"report: {_write(ledger, folder)}", err=as_json)
    if as_json:
        print_json(ledger.records())
    elif not single:
        click.echo(f"\n{ledger.summary()}")
    sys.exit(1 if ledger.surprises else 0)


def _problem(name: str, units: int) -> "Problem":
    from corners.claims import problem_of
    from corners.data import load

    return problem_of(load(name), units=units)


def _write(ledger: "Ledger", folder: Path) -> Path:
    """The ledger as Markdown and as JSON."""
    import json

    from corners.claims._rendering import markdown
    from corners.comparison.report import check_writable

    check_writable(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(markdown(ledger), encoding="utf-8")
    text = json.dumps(ledger.records(), indent=1, allow_nan=False, ensure_ascii=False)
    (folder / "ledger.json").write_text(text + "\n", encoding="utf-8")
    return folder / "report.md"
