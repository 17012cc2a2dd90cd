"""Predicting what is missing: forward messages that keep the uncertainty of weights and noise (message_passing 4.6).

A missing value drops its factors, so nothing flows back from it. Its prediction is the product of the forward messages
that these factors would send it.
"""

from dataclasses import dataclass

import numpy as np

from inference.distributions import Distribution, Normal
from inference.errors import NoRule
from inference.inbox import align
from inference.program import Program, State
from inference.structure import Factor, Known
from inference.types import Values


@dataclass(frozen=True, eq=False)
class Product:
    """The product of the forward messages on a datum, over all its cells.

    ``log_normaliser`` is the log integral it was divided by, ``said`` where at least one message came from factors that
    are otherwise known, ``gone`` where the datum is missing. Elsewhere the distribution means nothing.
    """

    distribution: Distribution
    log_normaliser: Values
    said: Values
    gone: Values

    @property
    def cells(self) -> Values:
        """What is predicted: missing, and spoken of."""
        return self.gone & self.said

    def narrowed(self, distribution: Distribution | None = None) -> Distribution:
        """Over the datum's shape where all of it is predicted, else over the predicted cells in C order."""
        whole = self.distribution if distribution is None else distribution
        return whole if self.cells.all() else whole[self.cells]


def products(program: Program, state: State) -> dict[str, Product]:
    """The product on every datum of which something is predicted.

    Raises
    ------
    NoRule : data are missing, and nothing that is known speaks of any of them.
    """
    labels = missing_labels(program)
    found = {label: forward_product(program, state, label) for label in labels}
    kept = {label: product for label, product in found.items() if product.cells.any() or not product.gone.size}
    if labels and not kept:
        raise NoRule(
            f"nothing that is known says anything about {', '.join(labels)} where it is missing; observe more of the "
            "factors that hold it"
        )
    return kept


def predict_missing(program: Program, state: State) -> dict[str, Distribution]:
    """Every datum of which something is predicted: see :meth:`Product.narrowed`."""
    return {label: product.narrowed() for label, product in products(program, state).items()}


def missing_labels(program: Program) -> list[str]:
    """The data with missing cells, in order of the factors."""
    held = [h for f in program.graph.factors for h in f.ports.values() if isinstance(h, Known)]
    return list(dict.fromkeys(h.label for h in held if h.present is not None))


def forward_product(program: Program, state: State, label: str) -> Product:
    """The product of the forward messages toward a datum, over its plates, missing or not.

    Raises
    ------
    NoRule : a factor sends no forward message there, or several messages do not multiply in closed form.
    """
    places = [
        (f, p) for f in program.graph.factors for p, h in f.ports.items() if isinstance(h, Known) and h.label == label
    ]
    messages = [(f, p, f.node.forward(p, program.inbox(f, state))) for f, p in places]
    held = _known(places[0])
    heard = [_summed(f, held, _others_present(f, p), np.ones(())) for f, p in places]
    said = np.sum(np.stack(heard), axis=0) > 0
    gone = np.zeros(said.shape, bool) if held.present is None else ~held.present
    if len(messages) == 1 and {q.name for q in held.plates} == {q.name for q in places[0][0].plates}:
        factor, _, message = messages[0]
        q = _to_plates(message, factor, held)
        return Product(q, np.zeros(q.batch_shape), said, gone)
    return Product(*_gaussian_product(label, held, messages), said, gone)


def _to_plates(message: Distribution, factor: Factor, held: Known) -> Distribution:
    names = [p.name for p in factor.plates]
    order = [names.index(p.name) for p in held.plates]
    spread = message.broadcast_to(factor.sizes)
    if order == sorted(order):
        return spread
    moved = {k: a.transpose(*order, *range(len(order), a.ndim)) for k, a in spread.arrays().items()}
    return type(message).from_arrays(moved)


def _gaussian_product(
    label: str, held: Known, messages: list[tuple[Factor, str, Distribution]]
) -> tuple[Distribution, Values]:
    """The normalised product, and the log integral; standard normal where no message came."""
    precision, linear, constant = (np.zeros(tuple(p.size for p in held.plates)) for _ in range(3))
    for factor, port, message in messages:
        if not isinstance(message, Normal):
            raise NoRule(
                f"several factors predict {label!r}, and {factor.name!r} sends a {type(message).__name__}; only "
                "Gaussian messages multiply: let one factor hold the missing value"
            )
        mask = _others_present(factor, port)
        lam, h = 1.0 / message.var(), message.mean() / message.var()
        log = 0.5 * (np.log(lam) - np.log(2.0 * np.pi) - h * message.mean())
        parts = (_summed(factor, held, a, mask) for a in (lam, h, log))
        precision, linear, constant = (a + b for a, b in zip((precision, linear, constant), parts, strict=True))
    precision = np.where(precision > 0.0, precision, 1.0)
    normaliser = constant + 0.5 * (np.log(2.0 * np.pi) - np.log(precision) + linear**2 / precision)
    return Normal(linear / precision, 1.0 / precision), normaliser


def _others_present(factor: Factor, port: str) -> Values:
    mask = np.ones((1,) * len(factor.plates))
    for name, held in factor.ports.items():
        if name != port and isinstance(held, Known) and held.present is not None:
            mask = mask * align(held.present, held, factor.plates)
    return mask


def _summed(factor: Factor, held: Known, array: Values, mask: Values) -> Values:
    """Sum over the factor's plates that the datum lacks, in the datum's order of plates."""
    names = [p.name for p in factor.plates]
    keep = [names.index(p.name) for p in held.plates]
    spread = np.broadcast_to(array * mask, factor.sizes)
    summed = spread.sum(axis=tuple(k for k in range(len(names)) if k not in keep))
    return summed.transpose(*np.argsort(np.argsort(keep))) if keep else summed


def _known(place: tuple[Factor, str]) -> Known:
    held = place[0].ports[place[1]]
    assert isinstance(held, Known)
    return held
