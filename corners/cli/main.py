"""The command group: verbs are imported when called, so that ``corners list`` loads nothing heavy."""

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from corners import __version__
from corners.errors import CornersError

VERBS = ("demo", "list", "compare", "run", "report", "truth", "verify", "doctor")


class Verbs(click.Group):
    """Finds a verb in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module; None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        return importlib.import_module(f"corners.cli.{cmd_name}").command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; an error of ours becomes one sentence and exit status 2."""
        try:
            return super().invoke(ctx)
        except CornersError as error:
            click.echo(f"corners: {error}", err=True)
            ctx.exit(2)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    import inference

    here, beside = Path(__file__).parents[1], Path(inference.__file__).parent
    click.echo(f"bethe-corners {__version__}\ncorners   {here}\ninference {beside}\npython    {sys.version.split()[0]}")
    ctx.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Versions and paths."
)
def main() -> None:
    """What a Bayesian last layer really computes, and how far it is from the truth.

    Start with: corners demo
    """
