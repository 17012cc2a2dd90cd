"""``corners truth``: ground truth of a table, with the certificate that it may be used."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corners.cli.options import json_option, limit_threads, print_json, running_options
from corners.errors import DataError, OutputError, SpecError

if TYPE_CHECKING:
    from corners.data.dataset import Dataset
    from corners.study.truths import TruthPlan

FILES = (".csv", ".csv.gz")
NOT_USABLE = 1
"""Exit status of a run that failed its gate: it is saved, and it is no truth."""


@click.command("truth", short_help="Sample the truth of a table, judge it and save it.")
@click.argument("data")
@click.option("--target", help="Target column of a CSV file.")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification", "count"]),
    default="regression",
    show_default=True,
    help="What the target of a CSV file is; a registered table knows its own.",
)
@click.option("--head", help="Likelihood, such as student_t, ordinal or logistic.  [default: by the table's task]")
@click.option(
    "--units",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Fixed random tanh features of the standardised inputs; 0 takes the inputs themselves.",
)
@click.option("--features-seed", type=click.IntRange(0), default=0, show_default=True, help="Draws those features.")
@click.option(
    "--intercept/--no-intercept",
    default=None,
    help="A constant among the features.  [default: where targets are not centred]",
)
@click.option("--train-seed", type=click.IntRange(0), help="The training part of this seed instead of all rows.")
@click.option("--hierarchical", is_flag=True, help="Sample the hyperparameters too (the default).")
@click.option("--empirical-bayes", is_flag=True, help="Hold them where the evidence is largest; Gaussian noise.")
@click.option("--prior-precision", type=float, help="Hold the prior precision of the weights at this number.")
@click.option("--noise-scale", type=float, help="Hold the noise at this many standard deviations of the target.")
@click.option(
    "--network", type=click.IntRange(1), metavar="UNITS", help="All weights of a network with one hidden layer instead."
)
@click.option(
    "--evidence",
    type=click.Choice(["bridge", "smc"]),
    default="bridge",
    show_default=True,
    help="How the evidence is estimated; smc adds sequential Monte Carlo to the bridge.",
)
@click.option("--chains", type=click.IntRange(2), default=4, show_default=True, help="Independent chains.")
@click.option("--draws", type=click.IntRange(4), default=1000, show_default=True, help="Draws of each chain.")
@click.option("--tune", type=click.IntRange(0), help="Steps of tuning.  [default: 300, of a network 1000]")
@click.option("--target-accept", type=float, help="Acceptance the step is tuned to.  [default: 0.9]")
@click.option(
    "--seed", type=click.IntRange(0), help="Of the sampler.  [default: a fresh one, which the certificate says]"
)
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("reports/truth"),
    show_default=True,
    help="Folder for the certificate (JSON) and the draws (npz).",
)
@json_option
@running_options
def command(data: str, folder: Path, as_json: bool, quiet: bool, threads: int, **options: Any) -> None:
    """Sample the posterior of a last layer on DATA, a registered name or a CSV file with --target, and certify it.

    What is sampled: the weights of one linear layer on the standardised inputs of all rows (or on fixed random features
    of them, or on the training rows of a seed), by default with their prior precision and the noise. --network samples
    every weight of a small network instead and judges the function it computes. Targets of a regression are centred and
    scaled first. The run is held against the bounds of its gate; exit status 1 means that it failed, and then nothing
    that reads the files will use them as truth.

    \b
    Examples:
      corners truth diabetes
      corners truth diabetes --empirical-bayes --evidence smc --seed 1
      corners truth my.csv --target visits --task count --head negative_binomial --out my_truths
      corners truth sine --network 10
    """
    from corners.study.truths import sample_truth, truth_name

    plan, dataset = _plan(options), _table(data, options)
    name = truth_name(dataset, plan)
    _require_writable(folder)
    limit_threads(threads)
    bar = not quiet and sys.stderr.isatty()
    found = sample_truth(dataset, plan, say=_silent if quiet else _say, progress=bar, command=_command())
    path = found.save(folder / name, **({"compact": True} if plan.network is None else {}))
    if as_json:
        print_json({**found.certificate(), "saved": str(path)})
    else:
        click.echo("\n".join([*certificate_lines(found.certificate()), f"{'saved':<19} {path} and .npz"]))
    if not found.passed:
        sys.exit(NOT_USABLE)


def certificate_lines(document: dict[str, Any]) -> list[str]:
    """A certificate as text: what was sampled and how, every check beside its bound, estimates, the verdict."""
    made = document["provenance"]
    source, settings = made["source"], made["settings"]
    lines = [f"{source['data']}: {source['rows']}, targets {source['targets']}", _of_what(source)]
    lines += [f"{made['model']}: {_hyperparameters(made['hyperparameters'])}"]
    run = f"{settings['chains']} chains x {settings['draws']} draws after {settings['tune']} of tuning"
    lines += [f"{run}, seed {made['seed']}"]
    lines += ["", f"{'check':<19} {'worst at':<22} {'value':>9}   required"]
    for check in document["checks_made"]:
        value, verdict = float(check["value"]), "ok" if check["passed"] else "FAILED"
        bound = f"{check['relation']} {check['bound']:g}"
        lines.append(f"{check['name']:<19} {check['where']:<22} {value:>9.4g}   {bound:<9} {verdict}")
    estimates = _estimates(document)
    lines += [*([""] if estimates else []), *estimates, "", f"{'verdict':<19} {document['verdict']}"]
    return lines + [f"  {check['name']}: {check['remedy']}" for check in document["checks_made"] if not check["passed"]]


def _of_what(source: dict[str, Any]) -> str:
    if "features" in source:
        return f"one linear layer on {source['features']}"
    return f"a whole network on {source['inputs']} inputs, judged at {source['stated_inputs']}"


def _hyperparameters(given: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_density(value)}" for name, value in given.items())


def _density(value: Any) -> str:
    """``held at 2`` for a number, ``~ gamma(shape 2, rate 0.06)`` for a density."""
    if not isinstance(value, dict):
        return f"held at {value:.4g}"
    inside = ", ".join(f"{name} {number:.4g}" for name, number in value.items() if name != "family")
    return f"~ {value['family']}({inside})"


def _estimates(document: dict[str, Any]) -> list[str]:
    """Evidence and leave-one-out, a line an estimate, the exact value last."""
    exact, loo, lines = document.get("exact", {}), document["loo"], []
    for name, label in (("evidence", "bridge sampling"), ("smc", "sequential Monte Carlo")):
        if document.get(name):
            value, error = document[name]["log_evidence"], document[name]["se"]
            lines.append(_estimate("log evidence", value, f"{label}, standard error {error:.2g}"))
    lines += [_estimate("log evidence", exact["log_evidence"], "exact")] if "log_evidence" in exact else []
    if loo["elpd"] is not None:
        flagged = f"k-hat above {loo['threshold']:.2g} at {len(loo['flagged'])} points"
        lines.append(_estimate("leave-one-out", loo["elpd"], f"Pareto-smoothed, {flagged}"))
    for name, label in (("refitted_loo", "the same with those points refitted"), ("elpd_loo", "exact")):
        lines += [_estimate("leave-one-out", exact[name], label)] if name in exact else []
    return lines


def _estimate(name: str, value: float, label: str) -> str:
    return f"{name:<19} {value:>12.3f}   {label}"


def _plan(options: dict[str, Any]) -> "TruthPlan":
    from corners.study.truths import TruthPlan

    holding = ("prior_precision", "noise_scale", "empirical_bayes")
    held = ["--" + name.replace("_", "-") for name in holding if options[name] not in (None, False)]
    if options["hierarchical"] and held:
        raise SpecError(f"--hierarchical samples the hyperparameters, and {' and '.join(held)} holds them; choose")
    names = ("head", "units", "features_seed", "intercept", "train_seed", "prior_precision", "noise_scale", "network")
    names += ("empirical_bayes", "chains", "draws", "tune", "target_accept", "seed")
    return TruthPlan(**{name: options[name] for name in names}, smc=options["evidence"] == "smc")


def _table(data: str, options: dict[str, Any]) -> "Dataset":
    """A registered table, or a CSV file by its target."""
    from corners.data import Dataset, load

    if not data.endswith(FILES):
        if options["target"] is not None:
            raise SpecError("--target names a column of a CSV file; a registered table has its own target")
        return load(data)
    if options["target"] is None:
        raise DataError(f"{data} is a file: name its target column with --target COLUMN")
    return Dataset.from_csv(data, target=options["target"], task=options["task"])


def _require_writable(folder: Path) -> None:
    """Nothing is sampled for a folder that nothing can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error}; give another --out") from error


def _command() -> str:
    """As it was given; a path by its last part, so that a certificate names no folder of anybody's machine."""
    shown = [Path(each).name if Path(each).is_absolute() else each for each in sys.argv[1:]]
    return "corners " + " ".join(shown)


def _say(text: str) -> None:
    click.echo(f"  {text}", err=True)


def _silent(_: str) -> None:
    """Say nothing."""
