"""What every distribution of ``inference`` must satisfy; the truth is quadrature of its density."""

import copy
import io
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

from inference.distributions import Distribution, Mixture
from tests.support.statistics import assert_within_se

LEVELS = np.array([1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-6])
DRAWS = 20_000
CONTINUOUS = {"real", "positive", "unit"}


def support(one: Distribution) -> str:
    """Where the mass lies; of a mixture, where that of its parts does."""
    return support(one.components) if isinstance(one, Mixture) else one.support


def singles(batch: Distribution) -> list[Distribution]:
    """Every distribution of a batch, alone."""
    return [batch[index] for index in np.ndindex(batch.batch_shape)]


@dataclass(frozen=True)
class Line:
    """A map of the real line onto a support, under which densities decay so fast that the trapezoid rule is exact."""

    onto: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    back: Callable[[Any], Any]
    ends: tuple[float, float]


def line(one: Distribution) -> Line:
    """The map that suits the support."""
    if support(one) == "positive":
        return Line(np.exp, np.exp, np.log, (-70.0, 12.0))
    if support(one) == "unit":
        return Line(special.expit, lambda t: special.expit(t) * special.expit(-t), special.logit, (-45.0, 34.0))
    centre, scale = float(one.mean()), float(one.std())
    return Line(
        lambda t: centre + scale * np.sinh(t),
        lambda t: scale * np.cosh(t),
        lambda x: np.arcsinh((x - centre) / scale),
        (-14.0, 14.0),
    )


def nodes(one: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Points of the support and their masses (density times width, or the masses themselves)."""
    if support(one) not in CONTINUOUS:
        x = np.array([0.0, 1.0]) if support(one) == "binary" else np.array([float(one.mean()), 9.0])
        return x, np.exp(one.logpdf(x))
    to = line(one)
    t, step = np.linspace(*to.ends, 20_001, retstep=True)
    return to.onto(t), np.exp(one.logpdf(to.onto(t))) * to.slope(t) * step


def points(batch: Distribution) -> Any:
    """A point of positive density for every batch entry."""
    drawn = batch.sample(1, np.random.default_rng(5))
    return tuple(each[0] for each in drawn) if isinstance(drawn, tuple) else drawn[0]


def at(x: Any, index: Any) -> Any:
    """The part of such points that belongs to a part of the batch."""
    return tuple(each[index] for each in x) if isinstance(x, tuple) else x[index]


def has_entropy(batch: Distribution) -> bool:
    return not isinstance(batch, Mixture)


def statistics(batch: Distribution) -> dict[str, np.ndarray]:
    """Everything a batch says of itself without arguments."""
    found = {"mean": batch.mean(), "var": batch.var(), "std": batch.std(), "quantile": batch.quantile(0.3)}
    return found | ({"entropy": batch.entropy()} if has_entropy(batch) else {})


def check_density_against_quadrature(batch: Distribution) -> None:
    """Scalars: the density integrates to one, and its moments and entropy are those that are stated."""
    for one in singles(batch):
        x, mass = nodes(one)
        np.testing.assert_allclose(mass.sum(), 1.0, rtol=1e-10)
        mean = (mass * x).sum()
        np.testing.assert_allclose(one.mean(), mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(one.var(), (mass * (x - mean) ** 2).sum(), rtol=1e-9, atol=1e-15)
        if has_entropy(one):
            density = one.logpdf(x)
            entropy = -np.where(mass > 0.0, mass * np.where(mass > 0.0, density, 0.0), 0.0).sum()
            np.testing.assert_allclose(one.entropy(), entropy, rtol=1e-9, atol=1e-10)


def check_cdf_against_quadrature(batch: Distribution) -> None:
    """Scalars: the cdf is the integral of the density up to a point."""
    for one in singles(batch):
        if support(one) not in CONTINUOUS:
            x, mass = nodes(one)
            for point in (-0.5, 0.0, 0.3, *x):
                np.testing.assert_allclose(one.cdf(point), mass[x <= point].sum(), rtol=1e-12)
            continue
        to = line(one)
        integrand = lambda t, one=one, to=to: float(np.exp(one.logpdf(to.onto(t))) * to.slope(t))  # noqa: E731
        for x in one.quantile(LEVELS[:-1]):
            area = integrate.quad(integrand, to.ends[0], to.back(x), epsabs=1e-13, epsrel=1e-10, limit=400)[0]
            np.testing.assert_allclose(one.cdf(x), area, rtol=1e-8, atol=1e-11)


def check_quantile_inverts_cdf(batch: Distribution) -> None:
    """Quantiles grow with the level; the cdf takes them back, and is smaller just before them where it jumps."""
    quantiles = batch.quantile(LEVELS)
    assert quantiles.shape == (*LEVELS.shape, *batch.batch_shape, *batch.event_shape)
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    levels = LEVELS.reshape(-1, *(1,) * (quantiles.ndim - 1))
    reached = np.broadcast_to(levels, quantiles.shape)
    if support(batch) in CONTINUOUS | {"joint"}:
        np.testing.assert_allclose(batch.cdf(quantiles), reached, rtol=1e-9, atol=1e-15)
    else:
        assert (batch.cdf(quantiles) >= reached).all()
        assert (batch.cdf(quantiles - 1e-9) < reached).all()
    np.testing.assert_array_equal(batch.quantile(LEVELS.reshape(7, 1))[:, 0], quantiles)
    with pytest.raises(ValueError, match="quantile level must be between 0 and 1"):
        batch.quantile([0.5, 1.5])


def check_samples(batch: Distribution) -> None:
    """Means, variances and fractions below a quantile within five standard errors; one seed, one sample."""
    drawn = batch.sample(DRAWS, np.random.default_rng(11))
    event = drawn[0] if isinstance(drawn, tuple) else drawn
    assert event.shape == (DRAWS, *batch.batch_shape, *batch.event_shape) and event.dtype == np.float64
    if batch.support == "point":
        np.testing.assert_array_equal(event, np.broadcast_to(batch.mean(), event.shape))
        return
    assert_within_se(event, batch.mean(), label=f"{batch}")
    assert_within_se((event - batch.mean()) ** 2, batch.var(), label=f"{batch} variance")
    for level in (0.1, 0.5, 0.9):
        quantile = batch.quantile(level)
        assert_within_se(event <= quantile, batch.cdf(quantile), label=f"{batch} below its {level} quantile")
    if has_entropy(batch):
        assert_within_se(-batch.logpdf(drawn), batch.entropy(), label=f"{batch} entropy")
    again = batch.sample(DRAWS, np.random.default_rng(11))
    np.testing.assert_array_equal(again[0] if isinstance(again, tuple) else again, event)


def check_indexing_is_the_single(batch: Distribution) -> None:
    """Entry k of a batch is that distribution alone; the indices of numpy pick what numpy would."""
    count, x = batch.batch_shape[0], points(batch)
    whole = statistics(batch) | {"logpdf": batch.logpdf(x)}
    for index in (
        0,
        -1,
        slice(1, None),
        ...,
        np.array([1, 0, 1]),
        np.arange(count) > 0,
        (None, 0),
        (slice(None), None),
    ):
        part = batch[index]
        assert part.batch_shape == np.empty(batch.batch_shape)[index].shape
        assert part.event_shape == batch.event_shape
        for name, value in (statistics(part) | {"logpdf": part.logpdf(at(x, index))}).items():
            np.testing.assert_allclose(value, whole[name][index], rtol=1e-13, err_msg=name)
    with pytest.raises(IndexError):
        batch[count]
    with pytest.raises(IndexError):
        batch[(0,) * (len(batch.batch_shape) + 1)]


def check_broadcasting(batch: Distribution) -> None:
    """Under a larger batch shape every copy is the original; a grid of points stands before the batch."""
    wide = batch.broadcast_to((3, *batch.batch_shape))
    assert wide.batch_shape == (3, *batch.batch_shape)
    for name, value in statistics(batch).items():
        np.testing.assert_allclose(statistics(wide[2])[name], value, rtol=1e-14, err_msg=name)
    x = points(batch)
    grid = tuple(np.stack([each, each]) for each in x) if isinstance(x, tuple) else np.stack([x, x])
    np.testing.assert_allclose(batch.logpdf(grid), np.stack([batch.logpdf(x)] * 2), rtol=1e-14)
    with pytest.raises(ValueError, match="broadcast"):
        batch.broadcast_to((batch.batch_shape[0] + 1,))


def check_shapes(batch: Distribution) -> None:
    """Float64 arrays of the promised shapes, also of a single distribution."""
    for each in (batch, batch[(0,) * len(batch.batch_shape)]):
        full = each.batch_shape + each.event_shape
        found = {"mean": full, "var": full, "std": full, "quantile": full, "entropy": each.batch_shape}
        for name, value in statistics(each).items():
            assert isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == found[name], name
        density = each.logpdf(points(each))
        assert isinstance(density, np.ndarray) and density.shape == each.batch_shape and np.isfinite(density).all()


def check_arrays_round_trip(batch: Distribution) -> None:
    """Through a file without pickle, through pickle and through a deep copy: the same numbers to the last bit."""
    stream = io.BytesIO()
    np.savez(stream, **batch.arrays())
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as file:
        loaded = Distribution.named(type(batch).__name__).from_arrays(dict(file))
    for again in (loaded, copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        assert type(again) is type(batch)
        assert again.batch_shape == batch.batch_shape and again.event_shape == batch.event_shape
        for name, array in batch.arrays().items():
            np.testing.assert_array_equal(again.arrays()[name], array)
            assert not again.arrays()[name].flags.writeable or again.arrays()[name].ndim == 0
        for name, value in statistics(batch).items():
            np.testing.assert_array_equal(statistics(again)[name], value)


def check_immutability(batch: Distribution) -> None:
    """No attribute can be set and no stored array written."""
    for name in ("rate", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(batch, name, 1.0)
    statistics(batch), batch.logpdf(points(batch))
    held = [value for value in vars(batch).values() if isinstance(value, np.ndarray)]
    assert held
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def check_repr(batch: Distribution) -> None:
    """One short line that begins with the class."""
    for each in (batch, batch[0]):
        assert repr(each).startswith(f"{type(batch).__name__}(") and len(repr(each)) < 80 and "\n" not in repr(each)
    assert str(batch.batch_shape) in repr(batch)
