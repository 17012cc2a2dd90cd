# %% [markdown]
# # A first comparison
#
# **Question.** Which last layer predicts a small table best, and is the difference larger than chance?
#
# The table is `diabetes`: 442 patients, ten measurements each, and a score of how far the disease has gone a year
# later. Five methods see the same splits of it:
#
# | method | what it is |
# | --- | --- |
# | `sequential` | network features, conjugate belief on the last layer; trained by the exact evidence |
# | `leave_one_out` | the same belief; trained by how well each point is predicted from the others |
# | `scroll_dense` | a free Gaussian belief, mean and covariance trained like any other parameter |
# | `map` | the plain network: one value per weight, and a noise level |
# | `ridge_eb` | no network: linear in the ten inputs, penalty and noise by the exact evidence |

# %%
import matplotlib.pyplot as plt
import numpy as np

import corners

data = corners.load("diabetes")
comparison = corners.compare(
    data,
    methods=["sequential", "leave_one_out", "scroll_dense", "map", "ridge_eb"],
    backbone=corners.MLP(50),  # one hidden layer of 50 tanh units
    seeds=range(5, 8),  # each seed draws a split (60 % train, 20 % validation, 20 % test) and the initial weights
)
print(data)

# %% [markdown]
# ## The table
# One row a method, best NLL first. Every number is a mean over the test points of a seed, then over the three seeds;
# behind `±` stands its standard error over seeds.
#
# - **NLL**, negative log density of the test targets, nats per patient. It judges mean and spread together, so it
#   decides the order of the rows.
# - **RMSE**, root mean squared error of the predictive mean, in the units of the target. It does not see the spread.
# - **CRPS** also judges the whole distribution, but in the units of the target, and it forgives outliers more.
# - **calibration error**: a central interval of level p should hold a fraction p of the targets; this is the mean
#   distance from that over nineteen levels.
# - **coverage**: the fraction inside the central 90 % interval. Here the best value is 0.9, not the smallest.
#
# `*` marks the best method of a column and `=` those that a paired test over the seeds cannot tell from it. The pairs
# matter: a hard split is hard for every method, so differences vary less than the scores themselves.

# %%
table = comparison.table()
print(table.scores_grid().to_text())

# %% [markdown]
# Read down the NLL column: the rows differ by a few hundredths of a nat, about as much as the standard errors. The
# differences themselves, seed by seed, against the best row:

# %%
nll = table.columns[0]
for method in table.methods:
    standing = nll.ranking[method]
    shift = "" if standing.difference is None else f"{standing.difference:+.3f} ± {standing.difference_se:.3f} nats"
    print(f"{method:<14} {standing.mark:<5} {shift}")

# %% [markdown]
# ## How the runs ended
# Numbers without this are worth little: a method that was stopped at its start has not been tried.

# %%
for method in table.methods:
    print(f"{method:<14} {table.outcome(method).status}")

# %% [markdown]
# For the closed methods validation hardly improves on the start here: in most seeds early stopping goes back to the
# random features with which it began. The linear model has no features to train.

# %% [markdown]
# ## The predictions themselves
# A predictive is a distribution for each test point, in the original units. Sorted by its mean, with its central 90 %
# interval:

# %%
SEED = 6
replicate = comparison.seeds.index(SEED)
test = comparison.splits[replicate].test


def show(ax, method):
    """Targets of the test part over the predictive of one method; the share inside and the spreads."""
    predictive = comparison.fits[method].predict(test.inputs, replicate=replicate)
    low, high = predictive.quantile(0.05), predictive.quantile(0.95)
    order = np.argsort(predictive.mean)
    inside = (low <= test.targets) & (test.targets <= high)
    place = np.arange(order.size)
    ax.fill_between(place, low[order], high[order], color="tab:blue", alpha=0.2, lw=0, label="90 % interval")
    ax.plot(place, predictive.mean[order], color="tab:blue", label="mean")
    for which, colour in ((inside, "black"), (~inside, "tab:red")):
        ax.plot(place[which[order]], test.targets[order][which[order]], ".", color=colour, ms=5)
    ax.set(title=f"{method}: {inside.mean():.0%} inside", xlabel="test patient, by predicted mean")
    return inside.mean(), np.sqrt(predictive.variance)


fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), dpi=80, sharey=True)
shown = {method: show(ax, method) for ax, method in zip(axes, ("sequential", "scroll_dense"), strict=True)}
axes[0].set_ylabel("disease progression (target units)")
axes[0].legend(loc="upper left", frameon=False)
fig.tight_layout()

# %% [markdown]
# The closed belief gives a band of nearly constant width: noise dominates, and the belief adds a little where a patient
# is unlike the others. The free covariance is fitted to residuals, so the width of its band varies more from patient to
# patient. Notebook 03 says what the two covariances mean.

# %%
spreads = {method: spread for method, (_, spread) in shown.items()}
for method, spread in spreads.items():
    print(f"{method:<13} predictive standard deviation {spread.min():.0f} to {spread.max():.0f} target units")

# %% [markdown]
# ## Answer
# All five predict far better than a constant, and none is shown to be better than the linear model: with three seeds
# and 89 test points the differences in NLL are about as large as their standard errors. More seeds make them sharper;
# `reports/` holds studies with twenty.

# %%
mean_nll = {method: nll.mean(method) for method in table.methods}
constant = 0.5 * np.log(2 * np.pi * np.var(data.targets)) + 0.5  # NLL of a normal with the table's mean and variance
print(f"a constant prediction: {constant:.3f} nats per patient; worst method {max(mean_nll.values()):.3f}")

assert all(status.usable for method in table.methods for status in comparison.statuses(method))
assert max(mean_nll.values()) < constant - 0.1
assert all(nll.ranking[method].mark in ("best", "tied") for method in ("ridge_eb", "sequential", "leave_one_out"))
assert all(0.7 < share < 1.0 for share, _ in shown.values())
assert spreads["sequential"].std() < spreads["scroll_dense"].std()
