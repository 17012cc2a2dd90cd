# %% [markdown]
# # Noise or covariance?
#
# **Question.** A free belief predicts $y_n$ with variance $V_n=\sigma^2+\psi_n^\top\Sigma\psi_n$. Training must split
# $V_n$ into noise and covariance. When can the data tell the two apart, and what happens when they cannot?

# %%
import matplotlib.pyplot as plt
import numpy as np

from corners.comparison.identifiability import identifiability
from corners.exact import Evidence, Hyperpriors, Start, find_free_optimum, shared_free_terms
from corners.method import LastLayer

# %% [markdown]
# ## An exact ridge: features of constant length
# If $\lVert\psi_n\rVert^2=R^2$ for every point, as with saturated tanh units, then
#
# $$\sigma^2\to\sigma^2-tR^2,\qquad \Sigma\to\Sigma+tI,\qquad \alpha^{-1}\to\alpha^{-1}-t$$
#
# changes no $V_n$, and leaves $\Sigma+\alpha^{-1}I$ and with it the prior term alone. The whole SCROLL objective is
# constant along $t$: one direction through noise, covariance and prior precision at once. Features of varying length
# break the tie. We draw 300 points from the model at $t=0$ and walk along $t$, for four amounts of variation.

# %%
N, H = 300, 3
SIGNAL, SCALES, NOISE_VAR, ALPHA = np.array([1.0, -0.5, 0.3]), np.array([0.3, 0.1, 0.2]), 0.5, 1.0


def draw(variation):
    """Features whose squared length has mean 1.5 and the given coefficient of variation, and targets of the model."""
    rng = np.random.default_rng(3)
    directions, size, error = rng.normal(size=(N, H)), rng.normal(size=N), rng.normal(size=N)
    squares = np.clip(1 + variation * size, 0.05, None)
    lengths = np.sqrt(1.5 * squares / squares.mean())
    features = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
    return features, features @ SIGNAL + np.sqrt(NOISE_VAR + features**2 @ SCALES) * error


def along(t, features, targets):
    """The SCROLL objective at distance t along the ridge, nats."""
    covariance = np.diag(SCALES + t)
    noise_scale = np.sqrt(NOISE_VAR - 1.5 * t)
    return shared_free_terms(features, targets, SIGNAL, covariance, 1 / (1 / ALPHA - t), noise_scale).total


steps = np.linspace(-0.09, 0.32, 42)
walks = {}
fig, ax = plt.subplots(figsize=(6.5, 3.6), dpi=80)
for variation in (0.0, 0.05, 0.3, 0.6):
    problem = draw(variation)
    values = np.array([along(t, *problem) for t in steps])
    walks[variation] = values - values.min()
    ax.plot(NOISE_VAR - 1.5 * steps, walks[variation], label=f"{variation:g}")
ax.set(xlabel="noise variance σ² along the ridge", ylabel="objective above its minimum (nats)", ylim=(-0.1, 4))
ax.legend(title="variation of ‖ψ‖²", frameon=False)
fig.tight_layout()

# %% [markdown]
# With constant length the objective cannot say whether the noise variance is 0.02 or 0.63. With a variation of 5 %,
# which trained tanh networks reach, it can hardly: the walk moves it by hundredths of a nat on 300 points.
#
# ## A second exact ridge: a bias column
# If one feature is constantly 1, $(\sigma^2,\Sigma_{00})\to(\sigma^2-t,\Sigma_{00}+t)$ leaves every $V_n$ alone. Only
# the prior term notices, and it does not grow with the data. (The default networks of `corners` have no such column.)

# %%
features, targets = draw(0.6)
with_bias = np.column_stack([np.ones(N), features])
mean = np.concatenate([[0.0], SIGNAL])
moved = {
    t: shared_free_terms(
        with_bias, targets, mean, np.diag([0.1 + t, *SCALES]), ALPHA, noise_scale=np.sqrt(NOISE_VAR - t)
    )
    for t in (0.0, 0.4)
}
data_change = moved[0.4].data_terms.sum() - moved[0.0].data_terms.sum()
print(f"noise variance 0.5 to 0.1: data terms change by {data_change:.1e} nats, ", end="")
print(f"prior term by {moved[0.4].prior_term - moved[0.0].prior_term:.3f} nats")

# %% [markdown]
# ## What training does with the freedom: the noise collapses
# Now a problem without a ridge: twenty tanh features of two inputs, whose lengths vary, and constant noise of standard
# deviation 0.3. For each fixed $\sigma$ minimise the SCROLL objective over $\mu$ and a diagonal $\Sigma$. Beside it:
# minus the log evidence at the same $\sigma$, and SCROLL with an inverse-gamma prior on $\sigma^2$ (shape 1, scale
# $0.01\,\mathrm{var}\,y$). Each curve is drawn above its own minimum.


# %%
def tanh_problem(count):
    """Features and targets with noise of standard deviation 0.3."""
    rng = np.random.default_rng(3)
    weights, biases = rng.normal(size=(2, 20)), 0.5 * rng.normal(size=20)
    inputs = rng.uniform(-2, 2, (count, 2))
    signal = 0.5 * np.sin(1.5 * inputs[:, 0]) * inputs[:, 1]
    return np.tanh(inputs @ weights + biases), signal + 0.3 * rng.normal(size=count)


def fit(problem, *, held=False, **options):
    """The best free belief with a diagonal covariance at α = 1; with the prior on the noise if `held`."""
    prior = Hyperpriors(noise_var=(1.0, 0.01 * np.var(problem[1]))) if held else Hyperpriors()
    rng = np.random.default_rng(0)
    return find_free_optimum(*problem, rng, family="diagonal", prior_precision=1.0, hyperpriors=prior, **options)


def profiles(problem):
    """The three objectives at every σ of the grid."""
    evidence = Evidence(*problem)
    return {
        "minus log evidence": np.array([-evidence.log_evidence(1.0, sigma) for sigma in GRID]),
        "SCROLL": np.array([fit(problem, noise_scale=sigma, starts=Start(1.0, sigma)).value for sigma in GRID]),
        "SCROLL, prior on σ²": np.array(
            [fit(problem, held=True, noise_scale=sigma, starts=Start(1.0, sigma)).value for sigma in GRID]
        ),
    }


GRID = np.concatenate([np.geomspace(0.0015, 0.15, 14), np.geomspace(0.18, 0.6, 12)])
problems = {count: tanh_problem(count) for count in (60, 600)}
curves = {count: profiles(problem) for count, problem in problems.items()}

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), dpi=80, sharey=True)
for ax, (count, lines) in zip(axes, curves.items(), strict=True):
    for label, values in lines.items():
        ax.semilogx(GRID, values - values.min(), label=label)
    ax.axvline(0.3, color="0.4", ls="--", lw=1)
    ax.set(title=f"{count} points", xlabel="noise standard deviation σ (truth: 0.3)", ylim=(-1, 25))
axes[0].set_ylabel("objective above its minimum (nats)")
axes[1].legend(loc="upper right", bbox_to_anchor=(0.83, 1), frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# The evidence has its minimum near the truth. SCROLL on 60 points falls to the left and is flat there: the noise moves
# into $\Sigma$, where it fits a little better, and below $\sigma\approx0.01$ nothing depends on $\sigma$ any more. On
# 600 points there is a minimum, too low and about one nat deep. The prior keeps the noise off zero, but its density has
# a peak of its own at $\sigma^2=0.005\,\mathrm{var}\,y$, and where the objective is nearly flat that peak decides: on
# 600 points the optimum with the prior lies far below the one without.

# %%
optima = {count: (fit(problem, starts=8), fit(problem, held=True, starts=8)) for count, problem in problems.items()}
print("optimal σ     evidence    SCROLL  with prior  peak of the prior")
for count, (plain, held) in optima.items():
    exact, peak = Evidence(*problems[count]).maximise().noise_scale, np.sqrt(0.005 * np.var(problems[count][1]))
    print(f"{count:>4} points{exact:12.3f}{plain.noise_scale:10.4f}{held.noise_scale:12.3f}{peak:19.3f}")
print(f"at 60 points SCROLL stops at the bound of: {', '.join(optima[60][0].at_bounds)}")

# %% [markdown]
# ## Statistics that say so
# `identifiability` computes them for any fitted last layer (`comparison.identifiability()` for those of a comparison):
#
# - `noise_share`, mean of $\sigma^2/V_n$: below 0.05 the noise has collapsed, above 0.99 the covariance has.
# - `info_sigma`, mean of $(\sigma^2/V_n)^2$: how much the data say about $\log\sigma^2$, relative to $\Sigma=0$.
# - `vif_sigma`: by how much not knowing $\Sigma$ inflates the variance of an estimate of $\log\sigma^2$.
# - `feature_norm_cv`: variation of $\lVert\psi_n\rVert^2$; near 0 is the first ridge.
# - `design_rank_diag`: rank of the columns $1,\psi_{n1}^2,\dots,\psi_{nH}^2$; below $H+1$ is an exact exchange.


# %%
def report(features, targets, mean, scales, noise_var, jitter=0.0):
    """Statistics of a free, diagonal belief at α = 1."""
    covariance = np.diag(scales)
    layer = LastLayer(
        features=features,
        targets=targets,
        test_features=features,
        test_targets=targets,
        mean=mean,
        covariance=covariance,
        prior_precision=1.0,
        noise_var=noise_var,
        jitter=jitter,
        cavity="shared",
        routing="free",
        family="diagonal",
    )
    return identifiability(layer)


collapsed = optima[60][0]
at_collapse = np.diag(collapsed.covariance.matrix(20))
reports = {
    "varying length": report(*draw(0.6), SIGNAL, SCALES, NOISE_VAR),
    "constant length": report(*draw(0.0), SIGNAL, SCALES, NOISE_VAR),
    "bias column": report(with_bias, targets, mean, np.array([0.1, *SCALES]), NOISE_VAR),
    "collapsed": report(*problems[60], collapsed.mean, at_collapse, collapsed.noise_scale**2, jitter=1e-4),
}
names = ("noise_share", "info_sigma", "vif_sigma", "feature_norm_cv", "design_rank_diag")
print(f"{'':<16}" + "".join(f"{name:>18}" for name in names))
for title, found in reports.items():
    print(f"{title:<16}" + "".join(f"{found[name].value:18.3g}" for name in names))
print()
for title, found in reports.items():
    flags = dict.fromkeys(each.flag for each in found.flagged)  # two statistics may say the same
    print(f"{title}:", *(flags or ["nothing is flagged"]), sep="\n  ")

# %% [markdown]
# ## Answer
# Noise and covariance are told apart only by how $\psi_n^\top\Sigma\psi_n$ varies over the points. Constant length or a
# constant feature makes them exactly exchangeable. Where nothing is exchangeable the trained objective still prefers
# too little noise, with few points none, and once there it is flat. So read $\sigma$ and $\Sigma$ of a free belief only
# together, as $V_n$, and look at the statistics before saying more. A prior on the noise keeps it off zero but chooses
# its value; if the value is needed, fix it at the mean squared error on validation data.

# %%
assert np.ptp(walks[0.0]) < 1e-9
assert np.ptp(walks[0.05]) < 0.1
assert np.ptp(walks[0.0]) < np.ptp(walks[0.05]) < np.ptp(walks[0.3]) < np.ptp(walks[0.6])
assert abs(data_change) < 1e-9

scroll = curves[60]["SCROLL"]
assert collapsed.at_bounds == ("noise_scale",)
assert np.ptp(scroll[GRID < 0.005]) < 0.05  # flat
assert scroll[np.argmin(np.abs(GRID - 0.3))] - scroll.min() > 2.0
assert reports["collapsed"]["feature_norm_cv"].value > 0.1  # and yet there is no ridge
for count, (plain, held) in optima.items():
    assert 0.2 < Evidence(*problems[count]).maximise().noise_scale < 0.4
    assert plain.noise_scale < 0.3
    assert 0.5 < held.noise_scale / np.sqrt(0.005 * np.var(problems[count][1])) < 2
assert optima[600][1].noise_scale < 0.5 * optima[600][0].noise_scale
assert 0.2 < curves[600]["SCROLL"][0] - curves[600]["SCROLL"].min() < 3.0

assert reports["varying length"]["design_rank_diag"].value == H + 1
assert reports["constant length"]["design_rank_diag"].value == H
assert np.isinf(reports["constant length"]["vif_sigma"].value)
assert np.isinf(reports["bias column"]["vif_sigma"].value)
assert np.isfinite(reports["varying length"]["vif_sigma"].value)
assert reports["collapsed"]["noise_share"].value < 0.05
assert not any(each.name in ("noise_share", "vif_sigma") for each in reports["varying length"].flagged)
