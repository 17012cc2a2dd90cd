"""The truth of a table: its last layer or a whole small network, sampled, certified, beside what is exact.

A certificate says what was sampled, of which rows, how, and whether it may be used.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from corners.data.dataset import Dataset
from corners.errors import DataError, SpecError, TruthError, UnavailableError
from corners.exact import Evidence
from corners.exact.hyper_posterior import integrate_hyperparameters
from corners.study.heads import GAUSSIAN, Head, Target, default_head, make_likelihood
from corners.study.truth_data import Features, TruthData, features_of, stated_inputs, truth_data
from corners.types import Array, Float

if TYPE_CHECKING:
    from inference.truth.heads._base import Head as SampledHead
    from inference.truth.loo import PsisLoo
    from inference.truth.network_reference import NetworkReference
    from inference.truth.reference import ReferencePosterior

CENTRED_HEADS = (GAUSSIAN, "student_t", "ordinal")
"""Heads that need no constant among the features: their targets are centred, or their thresholds take its place."""
LAYER_ONLY = {
    "head": None,
    "units": 0,
    "intercept": None,
    "prior_precision": None,
    "empirical_bayes": False,
    "smc": False,
}
"""Choices that a whole network does not have, with the value that says so."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class TruthPlan:
    r"""What is sampled of a table, and how long.

    A hyperparameter that is given is held; the others are sampled under the hyperpriors of theory 7.4, the parameters
    of a head under weak densities that the certificate states.

    Parameters
    ----------
    head : None takes the task's own.
    units, features_seed, intercept : the features, see ``features_of``; an intercept of None is there where targets
        are not centred.
    network : units of a whole network, all of whose weights are sampled; regression with Gaussian noise.
    train_seed : None takes all rows, else the training part of ``random_split`` with this seed.
    prior_precision, noise_scale : $\alpha$ and $\sigma$, the latter in standard deviations of the target.
    empirical_bayes : hold both where the evidence is largest; Gaussian noise.
    smc : estimate the evidence by sequential Monte Carlo too.
    chains, draws, tune, target_accept, seed : of the sampler; None leaves its default, and a fresh seed.

    Raises
    ------
    SpecError : choices that contradict each other.

    Example
    -------
    >>> TruthPlan(prior_precision=1.0).words, TruthPlan(network=10).words, TruthPlan(empirical_bayes=True).words
    ('hierarchical', 'network_10', 'fixed')
    """

    head: str | None = None
    units: int = 0
    intercept: bool | None = None
    network: int | None = None
    train_seed: int | None = None
    features_seed: int = 0
    prior_precision: float | None = None
    noise_scale: float | None = None
    empirical_bayes: bool = False
    smc: bool = False
    chains: int = 4
    draws: int = 1000
    tune: int | None = None
    target_accept: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.empirical_bayes and (self.prior_precision, self.noise_scale) != (None, None):
            raise SpecError("empirical Bayes finds prior precision and noise scale itself: give neither of them")
        if self.network is not None:
            given = [name for name, absent in LAYER_ONLY.items() if getattr(self, name) != absent]
            if given:
                raise SpecError(
                    f"{', '.join(given)}: of a last layer on fixed features, and a network of {self.network} units was "
                    "asked for, whose weights are all sampled under stated priors, and which has no evidence"
                )

    @property
    def fixed(self) -> bool:
        """Both hyperparameters of Gaussian noise are held."""
        return self.empirical_bayes or None not in (self.prior_precision, self.noise_scale)

    @property
    def words(self) -> str:
        """What tells this truth from others of the same table and head."""
        if self.network is not None:
            return f"network_{self.network}" + ("" if self.noise_scale is None else "_fixed_noise")
        return "fixed" if self.fixed else "hierarchical"

    def sampler(self) -> dict[str, Any]:
        """The sampler's own arguments, without those left at their defaults."""
        given = {name: getattr(self, name) for name in ("chains", "draws", "tune", "target_accept", "seed")}
        return {name: value for name, value in given.items() if value is not None or name == "seed"}


def sample_truth(
    dataset: Dataset, plan: TruthPlan, *, say: Say = lambda _: None, progress: bool = False, command: str = ""
) -> "ReferencePosterior | NetworkReference":
    """Sample what the plan says of a table and certify it; a run that failed its gate comes back too.

    ``say`` hears what is being done; ``progress`` shows the sampler's bar on standard error; ``command`` is what the
    certificate says this was asked for with.

    Raises
    ------
    SpecError, DataError : a head or a choice that the table cannot have.
    TruthError, UnavailableError : the sampler cannot start, or cannot be imported.
    """
    from inference import errors

    data = truth_data(dataset, train_seed=plan.train_seed)
    if command:
        data = replace(data, source={**data.source, "command": command})
    try:
        if plan.network is not None:
            return _network(dataset, data, plan, say, progress)
        return _last_layer(dataset, data, plan, say, progress)
    except errors.DataError as error:
        raise DataError(str(error)) from error
    except errors.SpecError as error:
        raise SpecError(str(error)) from error
    except errors.UnavailableError as error:
        raise UnavailableError(str(error)) from error
    except errors.InferenceError as error:
        raise TruthError(str(error)) from error


def truth_name(dataset: Dataset, plan: TruthPlan) -> str:
    """``data_head_hyperparameters``: what its files are called.

    Example
    -------
    >>> tiny = Dataset([[1.0], [2.0]], [0, 1], task="count", name="tiny")
    >>> truth_name(tiny, TruthPlan()), truth_name(tiny, TruthPlan(head="negative_binomial", units=5))
    ('tiny_poisson_hierarchical', 'tiny_negative_binomial_5_units_hierarchical')
    """
    features = f"{plan.units}_units" if plan.units else ""
    parts = [dataset.name] if plan.network is not None else [dataset.name, _head_name(dataset, plan), features]
    return "_".join(part for part in (*parts, plan.words) if part)


def _head_name(dataset: Dataset, plan: TruthPlan) -> str:
    target = Target.of(dataset)
    if plan.head is not None and plan.head != default_head(target):
        make_likelihood(Head.of(plan.head), target)  # refuses a head of another task
    return plan.head or default_head(target)


def _network(dataset: Dataset, data: TruthData, plan: TruthPlan, say: Say, progress: bool) -> "NetworkReference":
    from inference.truth import sample_network

    if dataset.task != "regression":
        raise SpecError(f"a whole network is sampled with Gaussian noise; {dataset.name} is a table of {dataset.task}")
    at, words = stated_inputs(data)
    noise = {} if plan.noise_scale is None else {"noise_scale": plan.noise_scale}
    say(f"sampling every weight of {plan.network} units on {len(data.targets)} rows")
    units = plan.network or 0
    found = sample_network(data.inputs, data.targets, units=units, at=at, **noise, **plan.sampler(), progress=progress)
    return replace(found, provenance=replace(found.provenance, source={**data.source, "stated_inputs": words}))


def _last_layer(dataset: Dataset, data: TruthData, plan: TruthPlan, say: Say, progress: bool) -> "ReferencePosterior":
    from inference.truth import sample_last_layer, smc_evidence

    name = _head_name(dataset, plan)
    intercept = name not in CENTRED_HEADS if plan.intercept is None else plan.intercept
    features = features_of(data, units=plan.units, seed=plan.features_seed, intercept=intercept)
    known = _known(data, features, plan, name, Target.of(dataset).classes)
    collapsed = known["likelihood"] is None and known["hyperpriors"] is not None
    say(f"sampling {features.values.shape[1]} weights on {len(data.targets)} rows")
    form = "collapsed" if collapsed else "whitened"
    found = sample_last_layer(features.values, data.targets, **known, form=form, **plan.sampler(), progress=progress)
    if plan.smc:
        say("estimating the evidence by sequential Monte Carlo")
        smc = smc_evidence(features.values, data.targets, **known, chains=plan.chains, seed=found.seed % 2**32)
        found = replace(found, smc=smc)
    source = {**data.source, "features": features.words}
    exact = exact_values(features.values, data.targets, known, found.loo) if name == GAUSSIAN else {}
    return replace(found, provenance=replace(found.provenance, source=source), exact=exact)


def _known(data: TruthData, features: Features, plan: TruthPlan, name: str, classes: int | None) -> dict[str, Any]:
    """Likelihood and hyperparameters as the sampler takes them: a number each, or a density."""
    from inference.truth import Gamma, Hyperpriors

    precision, noise = plan.prior_precision, plan.noise_scale
    if name != GAUSSIAN:
        if noise is not None or plan.empirical_bayes:
            raise SpecError(f"a noise scale and empirical Bayes are of Gaussian noise; the head here is {name}")
        density = Gamma(2.0, (features.values.shape[1] / 2 + 1) / 100)
        hyperpriors = Hyperpriors(prior_precision=density) if precision is None else None
        return {"likelihood": _sampled_head(name, classes), "prior_precision": precision, "hyperpriors": hyperpriors}
    if plan.empirical_bayes:
        best = Evidence(features.values, data.targets).maximise()
        if not (best.converged and math.isfinite(best.prior_precision)):
            raise SpecError(f"empirical Bayes found nothing to hold ({best.status}); give numbers, or sample them")
        precision, noise = best.prior_precision, best.noise_scale
    hyperpriors = None
    if None in (precision, noise):
        default = Hyperpriors.default(features.values, data.targets)
        hyperpriors = Hyperpriors(
            prior_precision=default.prior_precision if precision is None else None,
            noise_var=default.noise_var if noise is None else None,
        )
    return {"likelihood": None, "prior_precision": precision, "noise_scale": noise, "hyperpriors": hyperpriors}


def _sampled_head(name: str, classes: int | None) -> "SampledHead":
    """The head, with weak densities for its own parameters."""
    from inference.truth import Gamma, LogNormal, NegativeBinomial, Normal, Ordinal, StudentT
    from inference.truth.heads import HEADS

    kind = HEADS.get(name)
    if kind is NegativeBinomial:
        return NegativeBinomial(size=Gamma(2.0, 0.5))
    if kind is StudentT:
        return StudentT(scale=LogNormal(math.log(0.5), 1.0))  # in standard deviations of the target
    if kind is Ordinal:
        return Ordinal(first_threshold=Normal(0.0, 2.0), gaps=(LogNormal(0.0, 1.0),) * ((classes or 2) - 2))
    return kind()


def exact_values(
    features: Float[Array, "N H"], targets: Float[Array, " N"], known: dict[str, Any], loo: "PsisLoo"
) -> dict[str, float]:
    """What ``corners.exact`` knows of a Gaussian last layer, by name.

    With both hyperparameters held ``log_evidence`` and ``elpd_loo`` are closed forms, and ``refitted_loo`` is the
    Pareto estimate with its flagged points refitted, if there are any; with both sampled ``log_evidence`` is a
    quadrature (theory 10.2).
    """
    evidence, hyperpriors = Evidence(features, targets), known["hyperpriors"]
    if hyperpriors is None:
        at = {"prior_precision": known["prior_precision"], "noise_scale": known["noise_scale"]}
        left_out = evidence.leave_one_out(**at)
        found = {"log_evidence": evidence.log_evidence(**at), "elpd_loo": -left_out.total}
        refitted = loo.refitted(lambda n: -float(left_out.terms[n])).elpd
        return found | ({"refitted_loo": refitted} if 0 < len(loo.flagged) < len(targets) else {})
    if None in (hyperpriors.prior_precision, hyperpriors.noise_var):
        return {}

    def log_prior(log_precision: float, log_noise: float) -> float:
        noise_var = math.exp(2.0 * log_noise)
        precision = hyperpriors.prior_precision.log_density(math.exp(log_precision)) + log_precision
        return precision + hyperpriors.noise_var.log_density(noise_var) + math.log(2.0 * noise_var)

    return {"log_evidence": integrate_hyperparameters(evidence, log_prior).log_evidence}
