"""``corners compare``: every method on a data set of yours or a known one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corners.cli.options import comma_separated, json_option, limit_threads, print_json, running_options
from corners.errors import DataError, SpecError, UnknownNameError
from corners.registry import unknown_name_message

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison
    from corners.data.dataset import Dataset
    from corners.data.split import Split

FILES = (".csv", ".csv.gz")
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


@click.command("compare", short_help="Fit and score methods on a data set.")
@click.argument("data", nargs=-1, required=True)
@click.option("--target", help="Target column of a CSV file.")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification", "count"]),
    default="regression",
    show_default=True,
    help="What the target of a CSV file is; a registered table knows its own.",
)
@click.option("--methods", help="Names, separated by commas; by default all for the table's task and head.")
@click.option(
    "--head",
    help="Likelihood of the cells, such as student_t, ordinal or negative_binomial.  [default: by the table's task]",
)
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Number of seeds.")
@click.option("--first-seed", type=click.IntRange(0), default=5, show_default=True, help="The first seed.")
@click.option("--protocol", default="default", show_default=True, help="Named protocol of training and scoring.")
@click.option(
    "--hidden",
    default="50",
    show_default=True,
    help="Units of the hidden layers, such as 50 or 50,50; 0 for a linear model.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    help="Rows of a mini-batch, for the scroll_* cells; the others see all rows.",
)
@click.option("--max-steps", type=click.IntRange(1), help="Steps of training at most.")
@click.option(
    "--evidence-tied",
    is_flag=True,
    help="Set the prior precision of the shared cells by MacKay's update every 10 steps.",
)
@click.option("--fold-column", help="Column of a CSV that says train, validation or test for each row.")
@click.option("--group-column", help="Column of a CSV whose equal values stay in one part.")
@click.option("--time-ordered", is_flag=True, help="Cut the rows in their order instead of at random.")
@click.option("--test-data", help="Another table, as shifted test data (for example wine_white).")
@click.option(
    "--truth-seeds", type=click.IntRange(0), default=1, show_default=True, help="Seeds whose beliefs NUTS checks."
)
@click.option(
    "--truth-draws",
    type=click.IntRange(100),
    default=1000,
    show_default=True,
    help="Draws of each of NUTS' four chains.",
)
@click.option(
    "--report", "folder", type=click.Path(path_type=Path), help="Folder for the report (HTML, Markdown, JSON)."
)
@json_option
@running_options
def command(
    data: tuple[str, ...], folder: Path | None, as_json: bool, quiet: bool, threads: int, **options: Any
) -> None:
    """Fit every method on DATA (registered names, or one CSV file with --target) and score it on held-out rows.

    \b
    Examples:
      corners compare diabetes --seeds 5 --report reports/diabetes
      corners compare my.csv --target price --methods sequential,scroll_dense,map
      corners compare wine_red --test-data wine_white
      corners compare iris --methods scroll_dense,softmax --head ordinal
    """
    names = comma_separated(options["methods"])
    sources = _checked_sources(data, names, options, folder)
    limit_threads(threads)
    records: list[dict[str, Any]] = []
    interrupted = False
    for name, source in zip(data, sources, strict=True):
        if not as_json and not quiet:
            click.echo(f"{name}", err=True)
        comparison = run_one(source, names, options, quiet=quiet)
        if not as_json:
            click.echo(str(comparison.table()))
        if folder is not None:
            where = comparison.report(folder if len(data) == 1 else folder / Path(name).stem)
            click.echo(f"report: {where}", err=as_json)
        if as_json:
            records += comparison.records()
        interrupted = bool(comparison.provenance.settings["interrupted"])
        del comparison  # its draws are large, and the next table makes its own
        if interrupted:
            break
    if as_json:
        print_json(records)
    if interrupted:
        sys.exit(INTERRUPTED)


def _checked_sources(
    data: tuple[str, ...], names: list[str] | None, options: dict[str, Any], folder: Path | None
) -> "list[Dataset | Split | list[Split]]":
    """Every table, after all that can be refused has been looked at: nothing is trained for a run that cannot end."""
    from corners.comparison.comparison import check_writable
    from corners.study import Head, Target, method_names, table_splits
    from corners.study.heads import make_likelihood
    from corners.study.methods import make_methods

    if options["target"] is not None and not any(name.endswith(FILES) for name in (*data, options["test_data"] or "")):
        raise SpecError(
            "--target names a column of a CSV file, and none was given; a registered table has its own target"
        )
    head = Head.of(options["head"])
    for name in names or []:  # an unknown name is refused before anything is loaded or trained
        if name not in method_names():
            raise UnknownNameError(unknown_name_message("method", name, method_names()))
    sources = [_source(name, options) for name in data]
    seeds = range(options["first_seed"], options["first_seed"] + options["seeds"])
    for source in sources:
        target = Target.of(table_splits(source, seeds))  # every table is looked at before the first one is trained on
        make_likelihood(head, target)
        if names:
            make_methods(names, options["protocol"], None, 1, head=head, target=target)
    if folder is not None:
        check_writable(folder)
        _refuse_one_folder_for_two(data)
    return sources


def run_one(
    source: "Dataset | Split | list[Split]", names: list[str] | None, options: dict[str, Any], *, quiet: bool
) -> "Comparison":
    """One comparison with progress on standard error."""
    from corners.cli.progress import Progressing
    from corners.protocols import get_protocol, with_options
    from corners.study import compare

    changes = {key: options[key] for key in ("batch_size", "max_steps") if options.get(key) is not None}
    if options.get("evidence_tied"):
        changes["evidence_tied"] = 10
    protocol = with_options(get_protocol(options["protocol"]), **changes)
    first = options["first_seed"]
    with Progressing(quiet=quiet) as reporter:
        return compare(
            source,
            names,
            backbone=_backbone(options["hidden"], protocol.hidden_bias),
            head=options.get("head"),
            seeds=range(first, first + options["seeds"]),
            protocol=protocol,
            truth_seeds=options["truth_seeds"],
            truth_draws=options["truth_draws"],
            reporter=reporter,
            command="corners " + " ".join(_shown(argument) for argument in sys.argv[1:]),
        )


def _refuse_one_folder_for_two(data: tuple[str, ...]) -> None:
    """Two tables of one name would write their reports over each other."""
    stems = [Path(name).stem for name in data]
    twice = sorted({stem for stem in stems if stems.count(stem) > 1})
    if twice:
        raise SpecError(f"two tables are called {twice[0]!r} and would share one report folder; run them apart")


def _shown(argument: str) -> str:
    """A path by its last part, so that a report names no folder of anybody's machine."""
    return Path(argument).name if Path(argument).is_absolute() else argument


def _backbone(hidden: str, bias: bool) -> Any:
    parts = comma_separated(hidden) or []
    if not parts or not all(part.isdigit() for part in parts):
        raise SpecError(
            f"--hidden takes whole numbers of units separated by commas, such as 50 or 50,50; got {hidden!r}"
        )
    widths = tuple(int(part) for part in parts)
    if widths == (0,):
        from corners.backbones.identity import Identity

        return Identity()
    from corners.backbones.mlp import MLP

    return MLP(widths, bias=bias)


def _source(name: str, options: dict[str, Any]) -> "Dataset | Split | list[Split]":
    """A registered table or a CSV file, cut as the options say."""
    from corners.data import grouped_split, predefined_split, shifted_split, time_ordered_split

    ways = [key for key in ("fold_column", "group_column", "time_ordered", "test_data") if options[key]]
    if len(ways) > 1:
        raise SpecError(f"choose one way to split; got {', '.join('--' + way.replace('_', '-') for way in ways)}")
    seeds = range(options["first_seed"], options["first_seed"] + options["seeds"])
    dataset = _table(name, options)
    if options["fold_column"]:
        return predefined_split(dataset)
    if options["time_ordered"]:
        return time_ordered_split(dataset)
    if options["group_column"]:
        return [grouped_split(dataset, options["group_column"], seed) for seed in seeds]
    if options["test_data"]:
        return [shifted_split(dataset, _table(options["test_data"], options), seed) for seed in seeds]
    return dataset


def _table(name: str, options: dict[str, Any]) -> "Dataset":
    from corners.data import Dataset, load

    if not name.endswith(FILES):
        return load(name)
    if options["target"] is None:
        raise DataError(f"{name} is a file: name its target column with --target COLUMN")
    return Dataset.from_csv(name, target=options["target"], fold=options["fold_column"], task=options["task"])
