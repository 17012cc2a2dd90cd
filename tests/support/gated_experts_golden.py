"""The golden fixed points of gated experts as values of the hand-written oracle."""

from typing import Any, NamedTuple

import numpy as np

from tests.support.gated_experts import Experts, Options
from tests.support.golden import as_array, golden

Array = np.ndarray


class Configuration(NamedTuple):
    """One entry: whether ``q(w, z)`` is joint, options, and expected arrays as in the file ("mean_w" is (d, K))."""

    name: str
    structured: bool
    options: Options
    expected: dict[str, Array]


def golden_experts() -> Experts:
    """The data and priors that all entries share."""
    x = golden("mp_pge")["inputs"]
    return Experts(
        phi=as_array(x["phi"]),
        yhat=as_array(x["yhat"]),
        y=as_array(x["y"]),
        w_mean=x["w_prior_mean"],
        w_precision=x["w_prior_precision"],
        tau=tuple(x["tau_prior"]),
        beta=tuple(x["beta_prior"]),
        kappa=tuple(x["kappa_prior"]),
        alpha=x["alpha"],
    )


def golden_new_rows() -> tuple[Array, Array]:
    """Features and forecasts to predict at."""
    x = golden("mp_pge")["inputs"]
    return as_array(x["phi_new"]), as_array(x["yhat_new"])


def golden_configurations() -> list[Configuration]:
    """All entries of the file."""
    return [_configuration(entry["config"], entry["expected"]) for entry in golden("mp_pge")["results"]]


def _configuration(config: dict[str, Any], expected: dict[str, Any]) -> Configuration:
    link = "dual" if config["link_marginal"] == "dual_published" else str(config["link_marginal"])
    jacobian = config["jacobian"] if link != "dual" else 0
    options = Options(link, jacobian, config["cov"], config["noisy"], config["gamma_factor"])
    flags = [f"J{jacobian}", config["cov"]] + ["noisy"] * config["noisy"] + ["no_rate"] * (not config["gamma_factor"])
    known = {name: as_array(value) for name, value in expected.items() if value is not None}
    return Configuration(
        "-".join([config["factorisation"], link, *flags]), "wz" in config["factorisation"], options, known
    )
