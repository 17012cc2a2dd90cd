# %% [markdown]
# # Gated experts
#
# **Question.** Several forecasters say what a quantity will be, and each is good in some situations and bad in others.
# Can a model learn whom to trust when, from their errors alone, and does it know how well it knows?
#
# **Story.** Two thermometers hang on a wall that the sun reaches in the afternoon. Both read the temperature $y$ of the
# air; the first errs in the afternoon, the second in the morning. With $x$ the hour, scaled from $-1$ (6 h) to
# 1 (18 h):
#
# $$\hat y_{ij}\sim N(y_j,1/\gamma_{ij}),\qquad \gamma_{ij}=e^{z_{ij}},\qquad z_{ij}\sim N(w_{i0}+w_{i1}x_j,\,1),$$
#
# $i$ being the thermometer and $j$ the reading. The last part, "a precision that depends on features", is the
# *precision word*; experts with such precisions are `precision_gated`. In training $y$ is known.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import inference as P
from inference.words import precision_gated, static_ensemble

TRUTH = np.array([[1.5, -2.0], [1.5, 2.0]])  # log precision at noon, and its slope


def simulate(count, weights, rng):
    """Features, readings and temperatures (in units of their standard deviation)."""
    x = rng.uniform(-1, 1, count)
    phi = np.column_stack([np.ones(count), x])
    latent = phi @ weights.T + rng.standard_normal((count, len(weights)))
    y = rng.standard_normal(count)
    return {"phi": phi, "yhat": y[:, None] + np.exp(-0.5 * latent) * rng.standard_normal(latent.shape), "y": y}


rng = np.random.default_rng(1)
train, new = simulate(150, TRUTH, rng), simulate(4000, TRUTH, rng)

# %% [markdown]
# ## Learning the gates
# The precision of the noise on $z$ is held at its true value 1; it is weakly determined by the data. Two families of
# beliefs: the default joins the weights with all $z$; mean field keeps them apart.

# %%
model = precision_gated.bind(weights_precision=0.1, noise=1.0)
joint = P.infer(model, data=train, iterations=200)
apart = P.infer(model, data=train, constraints=P.MeanField(), iterations=200)
print(joint)
print()
print(apart)

# %%
hours = np.linspace(-1, 1, 50)
rows = np.column_stack([np.ones(50), hours])
fig, axes = plt.subplots(1, 2, figsize=(10, 3.2), dpi=80, sharey=True)
for i, ax in enumerate(axes):
    error = train["yhat"][:, i] - train["y"]
    ax.plot(train["phi"][:, 1], -np.log(error**2), ".", color="0.7", ms=3, label="-log error²")
    ax.plot(hours, rows @ TRUTH[i], "k", lw=1.5, label="truth")
    for result, colour, label in ((joint, "tab:blue", "joint"), (apart, "tab:orange", "mean field")):
        q = result.posteriors["w"][i]
        middle, half = rows @ q.mean(), 1.645 * np.sqrt(np.einsum("nd,de,ne->n", rows, q.covariance, rows))
        ax.fill_between(hours, middle - half, middle + half, color=colour, alpha=0.4, lw=0, label=f"{label}, 90 %")
    ax.set(title=f"thermometer {i + 1}", xlabel="scaled hour x", ylim=(-3, 9))
axes[0].set_ylabel("log precision E z")
axes[0].legend(fontsize=8, loc="upper right")
fig.tight_layout()

# %% [markdown]
# (A single squared error says little of its precision: the points lie 1.3 above the truth on average, with a standard
# deviation of 2.2, were $z$ without noise.) Both find the slopes. The band of mean field is about half as wide, on the
# same data and with the same mean.
#
# ## Which band is honest?
# Whether a 90 % interval holds the truth in 90 % of cases cannot be seen on one data set. Experts are independent when
# $y$ is known, so 150 of them with weights drawn anew, all reading the same $y$, are 150 repetitions in one call.

# %%
many = rng.normal(size=(150, 2)) * np.array([1.0, 1.5])
repeated = simulate(150, many, rng)


def coverage(constraints):
    """Share of true weights inside their 90 % intervals."""
    q = P.infer(model, data=repeated, constraints=constraints, iterations=200, rtol=1e-6).posteriors["w"]
    return np.mean(np.abs(many - q.mean()) < norm.ppf(0.95) * np.sqrt(q.var()))


held = {"joint": coverage([]), "mean field": coverage(P.MeanField())}
standard_error = np.sqrt(0.9 * 0.1 / many.size)
for name, share in held.items():
    print(f"90 % intervals of the weights, {name}: {share:.3f} hold the truth (if honest, 0.9 ± {standard_error:.3f})")

# %% [markdown]
# Mean field is too sure because each $z_{ij}$, itself uncertain, is told to the weights as if it were a reading.
#
# ## Predictions
# Four ways to combine the readings at a new hour:
#
# - **static**: one precision a thermometer, whatever the hour (exact posterior, its mean taken as the precision);
# - **forward**: gated; the readings weighted by $E\gamma_{ij}$, as if these were the precisions;
# - **mixture**: gated; precisions drawn from the belief, each draw gives a Gaussian, and draws under which the readings
#   agree count more. Once from the joint belief, once from mean field.

# %%
at = {"phi": new["phi"], "yhat": new["yhat"]}
static = P.infer(static_ensemble, data={"yhat": train["yhat"], "y": train["y"]})
forecasts = {
    "static": static.predict({"yhat": new["yhat"]}, rows="row"),
    "forward": joint.predict(at),
    "mixture, mean field": apart.predict(at, mode="mixture", n_samples=100, seed=0),
    "mixture, joint": joint.predict(at, mode="mixture", n_samples=100, seed=0),
}


def interval(forecast):
    """The central 90 % interval."""
    if isinstance(forecast, P.Mixture):
        return forecast.quantile([0.05, 0.95])
    half = norm.ppf(0.95) * np.sqrt(forecast.var())
    return forecast.mean() - half, forecast.mean() + half


scores = {}
print(f"{'':<22}{'NLL (nats)':>12}{'RMSE':>8}{'90 % holds':>12}{'median width':>14}")
for name, forecast in forecasts.items():
    low, high = interval(forecast)
    scores[name] = {
        "nll": -forecast.logpdf(new["y"]).mean(),
        "rmse": np.sqrt(np.mean((forecast.mean() - new["y"]) ** 2)),
        "held": np.mean((low < new["y"]) & (new["y"] < high)),
        "width": np.median(high - low),
    }
    print(f"{name:<22}{{nll:12.3f}}{{rmse:8.3f}}{{held:12.3f}}{{width:14.2f}}".format(**scores[name]))

# %% [markdown]
# How often the interval holds the truth, by the hour, and how wide it is:

# %%
edges = np.linspace(-1, 1, 9)
part = np.digitize(new["phi"][:, 1], edges) - 1
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), dpi=80)
for name, colour in (("static", "0.5"), ("forward", "tab:green"), ("mixture, joint", "tab:blue")):
    low, high = interval(forecasts[name])
    inside = (low < new["y"]) & (new["y"] < high)
    middle = 0.5 * (edges[1:] + edges[:-1])
    left.plot(middle, [inside[part == k].mean() for k in range(8)], "o-", ms=4, color=colour, label=name)
    right.plot(middle, [np.median((high - low)[part == k]) for k in range(8)], "o-", ms=4, color=colour)
left.axhline(0.9, color="k", ls="--", lw=1)
left.set(xlabel="scaled hour x", ylabel="share inside the 90 % interval", ylim=(0.5, 1))
right.set(xlabel="scaled hour x", ylabel="median width (s.d. of y)", ylim=(0, None))
left.legend(frameon=False, fontsize=8, loc="lower center")
fig.tight_layout()

# %% [markdown]
# The gated forecasts are much sharper. *Forward* is sharper than it may be: the mean of a skewed precision is larger
# than a typical precision, and a precision that one does not know is not a precision one has. The mixture keeps the
# uncertainty of $z$ and is near what it promises at every hour; a little above it, perhaps because the model takes any
# temperature to be as likely as any other, and they are not. Mean field and joint predict alike: the noise on $z$ is
# far larger than the error of the weights.
#
# ## Answer
# Yes, from errors alone. About the weights ask the joint belief: its 90 % intervals hold nearly nine in ten, those of
# mean field six in ten. Predict with the mixture; `forward` is for a point forecast.

# %%
assert joint.converged and apart.converged
assert joint.free_energy[-1] < apart.free_energy[-1]  # the wider family
assert np.abs(joint.posteriors["w"].mean() - TRUTH).max() < 3 * np.sqrt(joint.posteriors["w"].var()).max()
narrower = np.sqrt(apart.posteriors["w"].var() / joint.posteriors["w"].var())
assert np.all((narrower > 0.3) & (narrower < 0.7))

assert held["joint"] > 0.82
assert held["mean field"] < 0.65

best = scores["mixture, joint"]
assert best["nll"] < min(scores["static"]["nll"], scores["forward"]["nll"]) - 0.2
assert best["rmse"] < 0.75 * scores["static"]["rmse"]
assert 0.88 < best["held"] < 0.95
assert scores["forward"]["held"] < 0.85
assert abs(scores["mixture, mean field"]["nll"] - best["nll"]) < 0.02
