# %% [markdown]
# # Your own torch model
#
# **Question.** I have a torch network, perhaps a pretrained one, and few measurements. What do I gain by putting a
# Bayesian last layer on it, and should the network be trained further?
#
# **Story.** A ringing part is recorded for a second, 48 samples, and its frequency (2 to 6 Hz) is to be read off. A
# simulator makes as many recordings as one likes. Measured ones are rare and differ: the baseline drifts, and the
# recorder's clock is ten percent slow, which nobody has told the simulator.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import corners
from corners.exact import Evidence

SAMPLES = 48
TIME = np.linspace(0, 1, SAMPLES)


def recordings(count, rng, *, measured):
    """Recordings and their frequencies (Hz)."""
    frequency, damping = rng.uniform(2, 6, count), rng.uniform(0.5, 4, count)
    clock = 1.1 if measured else 1.0
    phase = rng.uniform(0, 2 * np.pi, (count, 1))
    signal = np.exp(-damping[:, None] * TIME) * np.sin(2 * np.pi * clock * frequency[:, None] * TIME + phase)
    drift = 0.3 * rng.normal(size=(count, 1)) * (TIME - 0.5) if measured else 0.0
    return signal + drift + 0.15 * rng.normal(size=signal.shape), frequency


rng = np.random.default_rng(0)
measured, frequencies = recordings(560, rng, measured=True)
fig, axes = plt.subplots(1, 4, figsize=(10, 2.2), dpi=80, sharey=True)
for ax, signal, frequency in zip(axes, measured, frequencies, strict=False):
    ax.plot(TIME, signal, ".-", ms=3, lw=0.8)
    ax.set(title=f"{frequency:.1f} Hz", xlabel="time (s)")
axes[0].set_ylabel("signal")
fig.tight_layout()

# %% [markdown]
# ## The network
# Any `nn.Module` that maps `(N, D)` to `(N, H)`; its last linear layer is left off, for that is what `corners`
# supplies. Pretraining is ordinary torch: 4000 simulated recordings, squared error.
#
# One thing has to match. `corners` standardises every input column on the training part before the network sees it, so
# the network must have been trained on standardised inputs as well.


# %%
class Ringing(nn.Module):
    """A bank of learned filters, their log energies, and a residual block: 24 features."""

    def __init__(self):
        super().__init__()
        self.filters, self.norm, self.inner = nn.Linear(SAMPLES, 24), nn.LayerNorm(24), nn.Linear(24, 24)

    def forward(self, signal):
        """(N, samples) to (N, features)."""
        energy = torch.log1p(self.filters(signal).square())
        return torch.tanh(energy + self.inner(self.norm(energy)))


simulated, labels = recordings(4000, np.random.default_rng(1), measured=False)
centre, scale = simulated.mean(0), simulated.std(0)


def standardised(signals):
    """As a tensor, by the means and standard deviations of the simulated recordings."""
    return torch.tensor((signals - centre) / scale, dtype=torch.float32)


torch.manual_seed(0)
pretrained, last = Ringing(), nn.Linear(24, 1)
optimiser = torch.optim.Adam([*pretrained.parameters(), *last.parameters()], lr=3e-3)
inputs, aims = standardised(simulated), torch.tensor(labels - 4.0, dtype=torch.float32)
for _ in range(2000):
    batch = torch.randint(len(inputs), (128,))
    loss = (last(pretrained(inputs[batch]))[:, 0] - aims[batch]).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
with torch.no_grad():
    own_answer = 4.0 + last(pretrained(standardised(measured)))[:, 0].numpy()
plain_rmse = np.sqrt(np.mean((own_answer - frequencies) ** 2))
print(
    f"root mean squared error on simulated recordings {loss.item() ** 0.5:.2f} Hz, on measured ones {plain_rmse:.2f} Hz"
)

# %% [markdown]
# ## Three backbones, two last layers
# 60 measured recordings train, 30 validate and 470 test, drawn anew for each of four seeds. `corners.Module` copies the
# network and never changes yours.
#
# | backbone | what it does |
# | --- | --- |
# | `Module(Ringing())` | starts every seed from fresh weights and trains them |
# | `Module(pretrained, trained=False)` | keeps the weights; the last layer alone is fitted |
# | `Module(pretrained, reset=False)` | starts from the pretrained weights and trains on |
#
# `sequential` is the exact posterior, with prior precision and noise by the evidence. `map` has one value a weight and
# a learned noise; its penalty is chosen on the validation part.

# %%
table, SEEDS, METHODS = corners.Dataset(measured, frequencies, "recordings"), range(4), ("sequential", "map")


def split(seed):
    """60 rows to train, 30 to validate, the others to test."""
    folds = np.array(["train"] * 60 + ["validation"] * 30 + ["test"] * (table.n - 90))
    return corners.predefined_split(table, folds[np.random.default_rng(seed).permutation(table.n)].tolist())


before = [each.clone() for each in pretrained.parameters()]
backbones = {
    "from scratch": corners.Module(Ringing()),
    "frozen": corners.Module(pretrained, trained=False),
    "trained on": corners.Module(pretrained, reset=False),
}
splits = [split(seed) for seed in SEEDS]
found = {name: corners.compare(splits, METHODS, backbone=backbone, seeds=SEEDS) for name, backbone in backbones.items()}

# %%
columns = {name: {each.name: each for each in comparison.table().columns} for name, comparison in found.items()}
print(f"{'':<26}{'NLL (nats)':>16}{'RMSE (Hz)':>17}{'90 % holds':>17}")
for name, column in columns.items():
    for method in METHODS:
        cells = [column[score] for score in ("nll", "rmse", "coverage")]
        text = "".join(f"{each.mean(method):9.3f} ± {each.error(method):.3f}" for each in cells)
        print(f"{name:<14}{method:<12}{text}")
print()
for name, comparison in found.items():
    for method in METHODS:
        print(f"{name}, {method}: {comparison.table().outcome(method).status}")

# %% [markdown]
# The frozen features are worth more than the choice of the last layer: half the error of a network trained from
# scratch, and little more than half that of the simulator's own answer, whose clock is wrong. Training them further on
# 60 recordings loses part of it. On the frozen features the two last layers have the same mean error, and the exact
# belief has the better spread. Seed by seed, in NLL:

# %%
per_seed = {
    method: np.array([found["frozen"].score("nll", method, k).mean for k in range(len(SEEDS))]) for method in METHODS
}
gap = per_seed["map"] - per_seed["sequential"]
print(f"frozen, map minus sequential: {gap.mean():.3f} ± {gap.std(ddof=1) / len(gap) ** 0.5:.3f} nats")

# %% [markdown]
# ## The intervals
# Eighty test recordings of one seed, by predicted frequency, with central 90 % intervals:

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), dpi=80, sharey=True)
test = splits[0].test
for ax, (name, method) in zip(axes, (("from scratch", "map"), ("frozen", "sequential")), strict=True):
    predictive = found[name].fits[method].predict(test.inputs[:80], replicate=0)
    low, high, order = predictive.quantile(0.05), predictive.quantile(0.95), np.argsort(predictive.mean)
    ax.fill_between(np.arange(80), low[order], high[order], color="tab:blue", alpha=0.25, lw=0, label="90 % interval")
    ax.plot(np.arange(80), predictive.mean[order], color="tab:blue", label="mean")
    ax.plot(np.arange(80), test.targets[:80][order], "k.", ms=4, label="true frequency")
    ax.set(title=f"{name}, {method}", xlabel="test recording, by predicted mean")
axes[0].set_ylabel("frequency (Hz)")
axes[0].legend(frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# Is 90 % the truth at 90 % only? For every level: the share of test targets that the central interval of that level
# holds, all seeds together. Below the diagonal the intervals are too narrow.

# %%
levels = np.linspace(0.05, 0.95, 19)


def held(name, method):
    """Share of the test targets inside the central interval, by level."""
    pit = np.concatenate(
        [
            found[name].fits[method].predict(part.test.inputs, replicate=k).cdf(part.test.targets)
            for k, part in enumerate(splits)
        ]
    )
    return np.array([np.mean(np.abs(pit - 0.5) < level / 2) for level in levels])


fig, ax = plt.subplots(figsize=(5, 4), dpi=80)
curves = {(name, method): held(name, method) for name in found for method in METHODS}
for (name, method), curve in curves.items():
    colour = {"from scratch": "tab:gray", "frozen": "tab:blue", "trained on": "tab:orange"}[name]
    ax.plot(levels, curve, "-" if method == "sequential" else "--", color=colour, label=f"{name}, {method}")
ax.plot([0, 1], [0, 1], "k:", lw=1)
ax.set(xlabel="level of the interval", ylabel="share of test targets inside")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# All are within about a tenth of the diagonal. What differs is how wide the intervals must be to hold so much.
#
# ## What the belief is
# Closed and frozen: given the features, the belief is the conjugate posterior, whatever the network. `layer` hands over
# features, targets and belief of a fit, and `Evidence` computes the same from the first two. The network you gave is
# untouched.

# %%
layer = found["frozen"].layer("sequential", 0)
posterior = Evidence(layer.features, layer.targets).posterior(layer.prior_precision, np.sqrt(layer.noise_var))
print(f"features {layer.features.shape}, belief off the posterior by {np.abs(layer.mean - posterior.mean).max():.0e}")

# %% [markdown]
# ## Answer
# Give the network without its last layer to `corners.Module`, and mind that it sees standardised inputs. With few
# measurements and a network pretrained on something close, freeze it and take the exact closed belief: the
# sharpest here, near its nominal coverage, and without a search for a penalty. No last layer makes up for features that
# 60 recordings cannot teach.

# %%
assert all(torch.equal(old, new) for old, new in zip(before, pretrained.parameters(), strict=True))
assert np.allclose(layer.mean, posterior.mean)
assert np.allclose(layer.covariance, posterior.covariance)

nll = {(name, method): columns[name]["nll"].mean(method) for name in found for method in METHODS}
rmse = {(name, method): columns[name]["rmse"].mean(method) for name in found for method in METHODS}
best = ("frozen", "sequential")
assert min(nll, key=nll.get) == best
assert all(nll["frozen", method] < nll["trained on", method] < nll["from scratch", method] for method in METHODS)
assert rmse[best] < 0.7 * plain_rmse
assert rmse[best] < 0.6 * min(rmse["from scratch", method] for method in METHODS)
assert 0.86 < columns["frozen"]["coverage"].mean("sequential") < 0.96
assert gap.mean() > 0
assert np.abs(curves[best] - levels).mean() < 0.06
assert max(np.abs(curve - levels).max() for curve in curves.values()) < 0.13
