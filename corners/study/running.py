"""A comparison under way: fits one after another, then the truth of every belief."""

import datetime
import time
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from corners.errors import CornersError
from corners.method import Fit, Method, Reporter
from corners.study.fitting import fit_method
from corners.study.inspection import ONE_VERSUS_ALL, class_draws, has_latents, objectives
from corners.study.methods import method_names, method_summary
from corners.study.plan import Plan

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison


def stream(method: str, seed: int) -> int:
    """The sampler's seed for one belief.

    With a common seed whitened chains would repeat each other, and ten beliefs would be checked by one accident.
    """
    return int(np.random.SeedSequence([seed, zlib.crc32(method.encode())]).generate_state(1)[0])


class Run:
    """One comparison under way: what is fitted so far, and what could not be."""

    def __init__(self, plan: Plan, reporter: Reporter) -> None:
        self.plan, self.reporter = plan, reporter
        self.fits: dict[str, Fit] = {}
        self.unavailable: dict[str, str] = {}
        self.references: dict[tuple[str, int], Any] = {}
        self.failures: dict[tuple[str, int], str] = {}
        self.interrupted = False

    def run(self) -> "Comparison":
        """Everything of the plan, or as much of it as an interrupt lets through."""
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
            fit = fit_method(method, self.plan.splits, self.plan.seeds, host=host, progress=self.reporter.update)
        except Exception as error:  # one method's failure, of whatever library, must not lose the others
            reason = str(error) if isinstance(error, CornersError) else f"{type(error).__name__}: {error}"
            self.unavailable[method.name] = reason
            self.reporter.finish(f"unavailable: {reason}")
            return
        self.fits[method.name] = fit
        self.interrupted = any(status.interrupted for status in fit.statuses)
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
        from corners.baselines._sampling import sample_layer

        seed, usable = self.plan.seeds[position], fit.statuses[position].usable
        layer = fit.sampled_layer(position, self.plan.splits[position]) if usable else None
        if layer is None:
            return
        self.reporter.start(f"truth of {name}", None)
        try:
            self.references[name, seed] = sample_layer(
                layer,
                hierarchical=self.plan.truth == "hierarchical",
                draws=self.plan.truth_draws,
                seed=stream(name, seed),
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
            seed_info=plan.seed_info,
        )
        return Comparison(
            dataset_name=plan.splits[0].name,
            dataset_description=plan.description,
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
            objectives=objectives,
            class_draws=class_draws,
            notes={name: ONE_VERSUS_ALL for name, fit in self.fits.items() if has_latents(fit)},
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
