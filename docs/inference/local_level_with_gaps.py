# %% [markdown]
# # Many series with gaps
#
# Sixty series of a local level: a random walk seen through noise. Both noises are unknown and differ from series to
# series; a fifth of the values is missing, and the last ten are to be forecast. All series are one array, and a gap
# is a NaN.

# %%
import numpy as np
from scipy.stats import norm

import inference as P

rng = np.random.default_rng(1)
SERIES, LENGTH, AHEAD = 60, 150, 10
step_sd = np.exp(rng.normal(-1.0, 0.3, SERIES))
read_sd = np.exp(rng.normal(-0.5, 0.3, SERIES))
levels = np.cumsum(step_sd[:, None] * rng.standard_normal((SERIES, LENGTH)), axis=1)
complete = levels + read_sd[:, None] * rng.standard_normal((SERIES, LENGTH))

gaps = rng.random((SERIES, LENGTH)) < 0.2
gaps[:, 40:55] |= (rng.random(SERIES) < 0.5)[:, None]  # half of the series have a long hole as well
gaps[:, -AHEAD:] = True
seen = np.where(gaps, np.nan, complete)

# %% [markdown]
# ## The model
# The chain of levels is one cluster, solved exactly by one pass forward and one back; q and r are precisions of steps
# and readings, one of each a series.


# %%
@P.model
def level(m, y):
    """x_t ~ N(x_{t-1}, 1/q), y_t ~ N(x_t, 1/r)."""
    each, time = m.plate("series", y.shape[0]), m.plate("time", y.shape[1])
    q = m.gamma("q", shape=1.0, rate=0.1, plates=each)
    r = m.gamma("r", shape=1.0, rate=0.1, plates=each)
    x = m.chain("x", start=P.Normal(0.0, 10.0), step=lambda a: {"mean": a, "precision": q}, length=time, plates=each)
    m.normal("y", mean=x, precision=r, observed=y)


result = P.infer(level, data={"y": seen}, constraints="q(x)q(q)q(r)", iterations=300, rtol=1e-8)
print(result)
assert result.converged
assert np.all(np.diff(result.free_energy) < 1e-6)  # every update lowers the free energy

# %% [markdown]
# ## The learned noises
# Standard deviations against the truth, over the sixty series.

# %%
found = {name: 1.0 / np.sqrt(result.posteriors[name].mean()) for name in ("q", "r")}
for name, truth, said in (("q", step_sd, "steps"), ("r", read_sd, "readings")):
    ratio = found[name] / truth
    print(
        f"{said:9} estimated / true sd: median {np.median(ratio):.2f}, "
        f"5 % to 95 % {np.quantile(ratio, [0.05, 0.95]).round(2)}"
    )
    assert 0.85 < np.median(ratio) < 1.15
    assert np.corrcoef(np.log(found[name]), np.log(truth))[0, 1] > 0.7

# %% [markdown]
# ## Held-out cells
# `result.predictions["y"]` is over the missing cells in the order of `result.missing["y"]`. We hold every gap against
# what was really there: short gaps and holes (interpolated), and the end (forecast), where the level may wander.
# Forecasts cover a little less than they say: both noises enter at their mean, as if they were known.

# %%
where, prediction = result.missing["y"], result.predictions["y"]
assert np.array_equal(where, gaps)
score = norm.cdf((complete[gaps] - prediction.mean()) / np.sqrt(prediction.var()))
inside = np.zeros(gaps.shape)
inside[gaps] = (score > 0.05) & (score < 0.95)
ends = np.zeros(gaps.shape, bool)
ends[:, -AHEAD:] = True
coverage = {"gaps": inside[gaps & ~ends].mean(), "forecasts": inside[ends].mean()}
counts = {"gaps": int((gaps & ~ends).sum()), "forecasts": int(ends.sum())}
for name, value in coverage.items():
    print(f"coverage of 90 % intervals, {name} ({counts[name]} cells): {value:.3f}")
assert 0.87 < coverage["gaps"] < 0.93
assert 0.82 < coverage["forecasts"] < 0.93

# %% [markdown]
# Forecasts widen with the horizon by the same amount each step, the variance of one: that is what a random walk does.

# %%
sd = np.zeros(gaps.shape)
sd[gaps] = np.sqrt(prediction.var())
growth = np.diff(sd[:, -AHEAD:] ** 2, axis=1)
np.testing.assert_allclose(growth, np.tile(growth[:, :1], AHEAD - 1), rtol=1e-6)
np.testing.assert_allclose(growth[:, 0], found["q"] ** 2, rtol=1e-2)
print(f"forecast sd grows from {sd[:, -AHEAD].mean():.2f} to {sd[:, -1].mean():.2f} in {AHEAD} steps")

# %% [markdown]
# The last value carried forward is the forecast that everybody can make; the level beats it, most where readings are
# noisy.

# %%
mean = np.zeros(gaps.shape)
mean[gaps] = prediction.mean()
last = np.array([row[~np.isnan(row)][-1] for row in seen])
ours = np.mean((mean[:, -AHEAD:] - complete[:, -AHEAD:]) ** 2)
carried = np.mean((last[:, None] - complete[:, -AHEAD:]) ** 2)
print(f"squared error of forecasts: level {ours:.3f}, last value {carried:.3f}")
assert ours < carried
print("\nall statements of this page hold")
