"""Running methods on data: ``compare`` fits them on the same splits, samples the truth and hands over a comparison."""

import datetime
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from corners.data.dataset import Dataset
from corners.data.split import Split
from corners.data.splitters import splits_for
from corners.engine.cells import CELLS
from corners.errors import CornersError, SpecError, UnknownNameError
from corners.method import METHODS, Fit, Method, Reporter, Silent
from corners.protocols import Protocol, get_protocol
from corners.registry import unknown_name_message

if TYPE_CHECKING:
    from corners.backbones._base import Backbone
    from corners.comparison.comparison import Comparison

DEFAULT_SEEDS = range(5, 10)


def method_names() -> list[str]:
    """Every method that ``compare`` knows: the cells of the design space, then the references.

    Example
    -------
    >>> method_names()[:2]
    ['sequential', 'leave_one_out']
    """
    return [*CELLS, *METHODS.names()]


def method_summary(name: str) -> str:
    """One line on a method, read without importing it."""
    return CELLS[name].summary if name in CELLS else METHODS.summary(name)


def make_method(name: str, *, protocol: str | Protocol = "default", backbone: "Backbone | None" = None) -> Method:
    """The method called ``name`` under a protocol.

    Parameters
    ----------
    name : a registry name; ``method_names()`` lists them.
    protocol : a protocol or its name.
    backbone : from inputs to features; by default one hidden layer of 50 tanh units.

    Raises
    ------
    UnknownNameError : no method is called so; the message lists the known ones.

    Example
    -------
    >>> make_method("leave_one_out").name
    'leave_one_out'
    """
    if name not in CELLS and name not in METHODS.names():
        raise UnknownNameError(unknown_name_message("method", name, method_names()))
    chosen = get_protocol(protocol)
    if backbone is None:
        from corners.backbones.mlp import MLP

        backbone = MLP(50, bias=chosen.hidden_bias)
    if name in CELLS:
        from corners.engine.named import named_cell

        return named_cell(name, chosen, backbone)
    return METHODS.get(name).from_protocol(chosen, backbone)


def compare(
    data: Dataset | Split | Sequence[Split],
    methods: Sequence[str | Method] | None = None,
    *,
    backbone: "Backbone | None" = None,
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
    methods : registry names or methods; by default all of them.
    backbone, protocol : as in :func:`make_method`, for methods given by name.
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
    UnknownNameError, SpecError, DataError : before anything is trained.

    Example
    -------
    >>> import corners
    >>> compare(corners.load("linear"), ["sequential"], backbone=corners.Identity(), seeds=[5]).methods
    ('sequential',)
    """
    seeds = tuple(seeds)
    plan = _Plan(
        data=data,
        splits=tuple(splits_for(data, seeds)),
        seeds=seeds,
        methods=_methods(methods, protocol, backbone, truth_draws),
        protocol=get_protocol(protocol),
        truth_seeds=truth_seeds,
        truth_draws=truth_draws,
        truth=truth,
        command=command,
        backbone=backbone,
    )
    return _Run(plan, reporter or Silent()).run()


@dataclass(frozen=True)
class _Plan:
    """Everything a comparison needs, checked before the first step."""

    data: Dataset | Split | Sequence[Split]
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    methods: tuple[Method, ...]
    protocol: Protocol
    truth_seeds: int
    truth_draws: int
    truth: str
    command: str
    backbone: Any

    def __post_init__(self) -> None:
        if not self.seeds:
            raise SpecError("at least one seed is needed; got none")
        if len(set(self.seeds)) < len(self.seeds):
            raise SpecError(f"seeds must differ, since each is one paired unit; got {list(self.seeds)}")
        if self.truth not in ("fixed", "hierarchical"):
            raise SpecError(f"truth must be 'fixed' or 'hierarchical'; got {self.truth!r}")
        if self.truth_seeds < 0:
            raise SpecError(f"truth_seeds counts seeds and cannot be negative; got {self.truth_seeds}")
        task = self.splits[0].task
        if task != "regression":
            raise SpecError(f"{self.splits[0].name!r} is a {task} table; the Gaussian head is for regression targets")


def _methods(
    methods: Sequence[str | Method] | None, protocol: str | Protocol, backbone: "Backbone | None", draws: int
) -> tuple[Method, ...]:
    """Methods made from their names, each with the host it needs, hosts first."""
    if isinstance(methods, str):
        raise SpecError(f"methods is a list of names; got the string {methods!r}; write [{methods!r}]")
    made: dict[str, Method] = {}
    for entry in method_names() if methods is None else methods:
        if isinstance(entry, str) and entry in made:
            continue
        method = make_method(entry, protocol=protocol, backbone=backbone) if isinstance(entry, str) else entry
        if entry == "nuts":
            method = replace(method, draws=draws)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if method.name in made:
            raise SpecError(f"two methods are called {method.name!r}; give one of them another name")
        made[method.name] = method
    if not made:
        raise SpecError(f"at least one method is needed; known: {', '.join(method_names())}")
    for host in {method.host for method in made.values() if method.host is not None} - set(made):
        made[host] = make_method(host, protocol=protocol, backbone=backbone)
    return tuple(sorted(made.values(), key=lambda method: method.host is not None))


class _Run:
    """One comparison under way: what is fitted so far, and what could not be."""

    def __init__(self, plan: _Plan, reporter: Reporter) -> None:
        self.plan, self.reporter = plan, reporter
        self.fits: dict[str, Fit] = {}
        self.unavailable: dict[str, str] = {}
        self.references: dict[tuple[str, int], Any] = {}
        self.failures: dict[tuple[str, int], str] = {}
        self.interrupted = False

    def run(self) -> "Comparison":
        started = time.perf_counter()
        try:
            for method in self.plan.methods:
                self._fit(method)
                if self.interrupted:
                    break
            if not self.interrupted and any(method.name == "nuts" for method in self.plan.methods):
                self._sample_truth()
        except KeyboardInterrupt:
            self.interrupted = True
        for method in self.plan.methods:
            if method.name not in self.fits:
                self.unavailable.setdefault(method.name, "not run: the comparison was interrupted")
        return self._comparison(time.perf_counter() - started)

    def _fit(self, method: Method) -> None:
        host = self.fits.get(method.host) if method.host is not None else None
        if method.host is not None and host is None:
            self.unavailable[method.name] = f"it borrows the features of {method.host}, which could not be fitted"
            return
        self.reporter.start(method.name, getattr(getattr(method, "schedule", None), "max_steps", None))
        try:
            fit = method.fit(self.plan.splits, self.plan.seeds, host=host, progress=self.reporter.update)
        except CornersError as error:
            self.unavailable[method.name] = str(error)
            self.reporter.finish(f"unavailable: {error}")
            return
        self.fits[method.name] = fit
        self.interrupted = any(status.code == "interrupted" for status in fit.statuses)
        self.reporter.finish(f"{fit.seconds:.1f} s")

    def _sample_truth(self) -> None:
        """Draws for every belief, on the first ``truth_seeds`` seeds; the nuts fit's own draws serve its host."""
        from corners.baselines.nuts import NutsFit

        nuts = self.fits.get("nuts")
        for position in range(min(self.plan.truth_seeds, len(self.plan.seeds))):
            for name, fit in self.fits.items():
                own = nuts.references if isinstance(nuts, NutsFit) and nuts.host is fit else {}
                if self.plan.truth == "fixed" and position in own:
                    self.references[name, self.plan.seeds[position]] = own[position]
                else:
                    self._sample_one(name, fit, position)

    def _sample_one(self, name: str, fit: Fit, position: int) -> None:
        from corners.baselines.nuts import sample_layer

        seed, usable = self.plan.seeds[position], fit.statuses[position].usable
        layer = fit.last_layer(position, self.plan.splits[position]) if usable else None
        if layer is None:
            return
        self.reporter.start(f"truth of {name}", None)
        try:
            self.references[name, seed] = sample_layer(
                layer, hierarchical=self.plan.truth == "hierarchical", draws=self.plan.truth_draws, seed=seed
            )
            self.reporter.finish("gate passed")
        except CornersError as error:
            self.failures[name, seed] = str(error)
            self.reporter.finish(f"no truth: {error}")

    def _comparison(self, seconds: float) -> "Comparison":
        from corners.comparison.comparison import Comparison
        from corners.comparison.provenance import Provenance
        from inference.truth import gaussian_k_hat

        plan = self.plan
        provenance = Provenance.gather(
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            command=plan.command,
            wall_seconds=seconds,
            protocol=plan.protocol.to_dict(),
            settings=self._settings(),
            seed_info=f"each seed sets {'the split and ' if isinstance(plan.data, Dataset) else ''}the initial weights",
        )
        return Comparison(
            dataset_name=plan.splits[0].name,
            dataset_description=_describe(plan.data),
            splits=plan.splits,
            seeds=plan.seeds,
            fits=self.fits,
            unavailable=self.unavailable,
            references=self.references,
            reference_failures=self.failures,
            hosts={method.name: method.host for method in plan.methods if method.host is not None},
            provenance=provenance,
            method_summaries={m.name: method_summary(m.name) for m in plan.methods if m.name in method_names()},
            k_hat=gaussian_k_hat,
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "methods": [method.name for method in self.plan.methods],
            "backbone": repr(self.plan.backbone or "one hidden layer of 50 tanh units"),
            "truth": self.plan.truth,
            "truth_seeds": self.plan.truth_seeds,
            "truth_draws": self.plan.truth_draws,
            "interrupted": self.interrupted,
        }


def _describe(data: Dataset | Split | Sequence[Split]) -> dict[str, Any]:
    """Facts about the data for the report's last section."""
    if isinstance(data, Dataset):
        return {"rows": data.n, "columns": data.d, "source": data.source, "sha256": data.fingerprint}
    split = data if isinstance(data, Split) else data[0]
    return {"rows": split.n, "columns": split.d, "source": f"{split.kind} split", "sha256": split.fingerprint}
