"""Running methods on data: ``compare`` fits them on the same splits, samples the truth and hands over a comparison."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from corners.method import Method, Reporter, Silent
from corners.protocols import Protocol, get_protocol
from corners.study.heads import Head, Target
from corners.study.methods import make_method, make_methods, method_names, method_summary
from corners.study.plan import Data, Plan, as_seeds, table_splits
from corners.study.running import Run

if TYPE_CHECKING:
    from corners.backbones._base import Backbone
    from corners.comparison.comparison import Comparison
    from corners.likelihoods._base import Likelihood

__all__ = ["Head", "Target", "compare", "make_method", "method_names", "method_summary", "table_splits"]

DEFAULT_SEEDS = range(5, 10)


def compare(  # noqa: PLR0913  what there is to choose, each with a default
    data: Data,
    methods: Sequence[str | Method] | None = None,
    *,
    backbone: "Backbone | None" = None,
    head: "str | Likelihood | Head | None" = None,
    seeds: Iterable[int] = DEFAULT_SEEDS,
    protocol: str | Protocol = "default",
    truth_seeds: int = 1,
    truth_draws: int = 1000,
    truth: str = "fixed",
    reporter: Reporter | None = None,
    command: str = "corners.compare",
) -> "Comparison":
    """Fit every method on the same splits, score it on the test parts, and sample the truth of every belief.

    Parameters
    ----------
    data : a dataset (split anew per seed), a split (kept; seeds vary the start) or one split a seed.
    methods : registry names or methods; by default all that are for the table's task and head.
    backbone, head, protocol : as in :func:`make_method`, for methods given by name.
    seeds : the paired unit: each sets the split (where it is drawn) and the initial weights.
    truth_seeds : for how many seeds NUTS samples the posterior of every belief; only if "nuts" is among the methods.
    truth_draws : draws of each of the four chains, after tuning; a run that then fails its gate is no truth.
    truth : "fixed" samples at each fit's own hyperparameters, "hierarchical" with each fit's own hyperpriors.
    reporter : hears the progress.

    Returns
    -------
    Comparison : tables, ordering, identifiability, agreement and report. A method that cannot run is a row with the
        reason; Ctrl-C keeps what is done.

    Raises
    ------
    UnknownNameError, SpecError, DataError : before anything is trained; a method or head of another task than the
        table's among them.

    Example
    -------
    >>> import corners
    >>> compare(corners.load("linear"), ["sequential"], backbone=corners.Identity(), seeds=[5]).methods
    ('sequential',)
    """
    seeds = as_seeds(seeds)
    splits = table_splits(data, seeds)
    plan = Plan(
        data=data,
        splits=splits,
        seeds=seeds,
        methods=make_methods(methods, protocol, backbone, truth_draws, head=head, target=Target.of(splits)),
        protocol=get_protocol(protocol),
        truth_seeds=truth_seeds,
        truth_draws=truth_draws,
        truth=truth,
        command=command,
        backbone=backbone,
    )
    return Run(plan, reporter or Silent()).run()
