"""``corners list``: what there is, by kind."""

from collections.abc import Callable

import click

from corners.cli.options import json_option, print_json
from corners.errors import UnknownNameError
from corners.registry import Registry, unknown_name_message

Row = dict[str, str]


def _methods() -> list[Row]:
    from corners.study import method_names, method_summary

    return [{"name": name, "what": method_summary(name)} for name in method_names()]


def _datasets() -> list[Row]:
    from corners.data.loading import available

    return [
        {"name": entry.name, "what": f"{entry.task}, {entry.n} x {entry.d}, from {entry.source}"}
        for entry in available()
    ]


def _protocols() -> list[Row]:
    from corners.protocols import PROTOCOLS

    return [{"name": name, "what": _protocol_summary(name)} for name in PROTOCOLS]


def _protocol_summary(name: str) -> str:
    from corners.protocols import PROTOCOLS

    chosen = PROTOCOLS[name]
    scaled = "scaled" if chosen.scale_targets else "centred"
    return f"Adam {chosen.learning_rate:g}, patience {chosen.patience}, targets {scaled}, {chosen.dtype}"


def _family(kind: str, package: str) -> Callable[[], list[Row]]:
    def rows() -> list[Row]:
        registry = Registry(kind, package)
        return [{"name": name, "what": registry.summary(name)} for name in registry.names()]

    return rows


def _scores() -> list[Row]:
    from corners.comparison.scores import SCORES

    return [
        {"name": name, "what": SCORES.summary(name), "tasks": ", ".join(SCORES.get(name).tasks)}
        for name in SCORES.names()
    ]


def _letters() -> list[Row]:
    from inference.registry import LETTERS

    return [{"name": name, "what": LETTERS.summary(name)} for name in LETTERS.names()]


KINDS: dict[str, Callable[[], list[Row]]] = {
    "methods": _methods,
    "datasets": _datasets,
    "cavities": _family("cavity", "corners.cavities"),
    "routings": _family("routing", "corners.routings"),
    "covariances": _family("covariance", "corners.covariances"),
    "likelihoods": _family("likelihood", "corners.likelihoods"),
    "backbones": _family("backbone", "corners.backbones"),
    "scores": _scores,
    "protocols": _protocols,
    "claims": _family("claim", "corners.claims"),
    "letters": _letters,
}


@click.command("list", short_help="Methods, data sets and everything else there is.")
@click.argument("kind", required=False)
@json_option
def command(kind: str | None, as_json: bool) -> None:
    """List what there is: everything, or one KIND (methods, datasets, cavities, ...).

    Example: corners list methods
    """
    if kind is not None and kind not in KINDS:
        raise UnknownNameError(unknown_name_message("kind", kind, list(KINDS)))
    found = {name: rows() for name, rows in KINDS.items() if kind in (None, name)}
    if as_json:
        print_json([{"kind": name, **row} for name, rows in found.items() for row in rows])
        return
    for name, rows in found.items():
        click.echo(click.style(name, bold=True))
        width = max((len(row["name"]) for row in rows), default=0)
        for row in rows:
            tasks = f" [{row['tasks']}]" if "tasks" in row else ""
            click.echo(f"  {row['name']:<{width}}  {row['what']}{tasks}")
