# %% [markdown]
# # Closed or free: what does the covariance mean?
#
# **Question.** Two last layers have the same features and both call their belief $N(\mu,\Sigma)$. In one the belief is
# *closed*, bound to the conjugate posterior; in the other it is *free*, trained with the rest. What does
# $\psi(x)^\top\Sigma\,\psi(x)$ measure in each?
#
# **Data.** One input, a smooth mean, and noise that grows from left to right. The features are six bumps, so that a sum
# $\sigma^2+\sum_d s_d\,\psi_d(x)^2$ can follow the noise variance.

# %%
import matplotlib.pyplot as plt
import numpy as np

from corners.exact import Evidence, Hyperpriors, find_free_optimum

CENTRES = np.linspace(-2, 2, 6)


def features_of(x):
    """Six Gaussian bumps of width 0.8."""
    return np.exp(-0.5 * ((x[:, None] - CENTRES) / 0.8) ** 2)


def mean_of(x):
    """The true mean."""
    return np.sin(1.5 * x)


def spread_of(x):
    """The true noise standard deviation, 0.1 on the left and 0.6 on the right."""
    return 0.1 + 0.5 / (1 + np.exp(-4 * x))


def draw(count, seed):
    """Inputs and targets."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, count)
    return x, mean_of(x) + spread_of(x) * rng.standard_normal(count)


# %% [markdown]
# ## Two fits
# **Closed.** Prior precision and noise maximise the evidence, and $\Sigma=(\alpha I+\Psi^\top\Psi/\sigma^2)^{-1}$
# follows: no target enters $\Sigma$ but through these two numbers.
#
# **Free.** $\mu$, a diagonal $\Sigma$ and $\sigma^2$ minimise the SCROLL objective
# $-\log N(\mu;0,\Sigma+\alpha^{-1}I)-\sum_n\log N(y_n;\mu^\top\psi_n,\sigma^2+\psi_n^\top\Sigma\psi_n)$ at $\alpha=1$,
# with a weak inverse-gamma prior on the noise variance (without it $\sigma^2$ goes to its bound: notebook 05).


# %%
def closed(x, y):
    """Functions of new inputs: predictive mean, variance of the belief, predictive variance."""
    evidence = Evidence(features_of(x), y)
    best = evidence.maximise()
    at = (best.prior_precision, best.noise_scale)

    def predict(new):
        means, variances = evidence.predict(features_of(new), *at)
        return means, variances - best.noise_scale**2, variances

    return predict


def free(x, y):
    """The same for the free belief."""
    noise_prior = Hyperpriors(noise_var=(1.0, 0.01 * np.var(y)))
    rng = np.random.default_rng(0)
    best = find_free_optimum(
        features_of(x), y, rng, family="diagonal", prior_precision=1.0, hyperpriors=noise_prior, starts=8
    )

    def predict(new):
        psi = features_of(new)
        belief = best.covariance.variances(psi)
        return psi @ best.mean, belief, best.noise_scale**2 + belief

    return predict


SIZES = (25, 100, 400, 1600)
FITS = {"closed": closed, "free": free}
fits = {(name, count): fit(*draw(count, seed=7)) for name, fit in FITS.items() for count in SIZES}

# %% [markdown]
# ## The picture at 400 points
# Dark band: the belief alone, $\mu^\top\psi\pm1.64\sqrt{\psi^\top\Sigma\psi}$. Light band: the 90 % predictive
# interval, noise included. Dashed: the true 5 % and 95 % quantiles.

# %%
grid = np.linspace(-2, 2, 201)
x, y = draw(400, seed=7)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), dpi=80, sharey=True)
for ax, name in zip(axes, FITS, strict=True):
    mean, belief, total = fits[name, 400](grid)
    for variance, alpha, label in ((total, 0.2, "90 % of y"), (belief, 0.5, "90 % of the belief")):
        half = 1.645 * np.sqrt(variance)
        ax.fill_between(grid, mean - half, mean + half, color="tab:blue", alpha=alpha, lw=0, label=label)
    for sign in (-1, 1):
        truth = mean_of(grid) + sign * 1.645 * spread_of(grid)
        ax.plot(grid, truth, "k--", lw=1, label="true 5 % and 95 %" if sign > 0 else None)
    ax.plot(x, y, ".", color="0.4", ms=2)
    ax.set(title=name, xlabel="x", ylim=(-3, 3))
axes[0].set_ylabel("y")
axes[0].legend(loc="upper left", fontsize=8, frameon=False)
fig.tight_layout()

# %% [markdown]
# The closed belief is a thin band about the mean: it says where $E[y\mid x]$ may lie. All else is one noise level,
# too wide on the left and too narrow on the right. The free belief fills the predictive: it says how far $y$ falls from
# the mean, and follows the noise from left to right.
#
# ## What more data do
# If $\Sigma$ is uncertainty about the weights it must shrink like $1/N$. If it is a fitted variance it must settle at a
# value, the one that the residuals have.

# %%
belief_var = {key: fit(grid)[1].mean() for key, fit in fits.items()}
true_var = (spread_of(grid) ** 2).mean()

fig, ax = plt.subplots(figsize=(6, 3.6), dpi=80)
for name, colour in (("closed", "tab:blue"), ("free", "tab:orange")):
    ax.loglog(SIZES, [belief_var[name, count] for count in SIZES], "o-", color=colour, label=name)
ax.loglog(SIZES, 0.5 / np.array(SIZES), ":", color="tab:blue", label="slope of 1/N")
ax.axhline(true_var, color="0.4", ls="--", lw=1, label="true noise variance")
ax.set(xlabel="training points N", ylabel="mean of ψᵀΣψ over x  (units of y, squared)")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# ## What each is worth
# Mean negative log density of 4000 new points. *Constant* and *truth* are the best one can do at the true mean with one
# noise level, and with the true one; the distance between them is what there is to gain,
# $\tfrac12[\log E\,s^2-E\log s^2]$.

# %%
new_x, new_y = draw(4000, seed=99)


def nll(mean, variance):
    """Mean negative log density of the new targets, nats."""
    return 0.5 * np.mean(np.log(2 * np.pi * variance) + (new_y - mean) ** 2 / variance)


new_nll = {}
print("nats per point   N = " + "".join(f"{count:>9}" for count in SIZES))
for name in FITS:
    for count in SIZES:
        mean, _, total = fits[name, count](new_x)
        new_nll[name, count] = nll(mean, total)
    print(f"{name:<20}" + "".join(f"{new_nll[name, count]:9.3f}" for count in SIZES))
constant = nll(mean_of(new_x), np.full(new_x.size, (spread_of(new_x) ** 2).mean()))
truth = nll(mean_of(new_x), spread_of(new_x) ** 2)
print(f"constant {constant:.3f}, truth {truth:.3f}")

# %% [markdown]
# With 25 points the free covariance is fitted to too few residuals and loses clearly; from 100 on it wins, and in the
# end it takes almost all there is to gain. The closed belief stops at *constant*: no amount of data moves it further,
# since its model holds one noise level.
#
# ## Answer
# Closed: $\psi^\top\Sigma\psi$ is the posterior variance of the mean, and vanishes like $1/N$. Free: it is fitted
# residual variance, part of the noise model, and does not vanish. A free $\Sigma$ must not be read as uncertainty about
# the weights, nor be blamed for not agreeing with the posterior.

# %%
closed_slope = np.polyfit(np.log(SIZES[1:]), np.log([belief_var["closed", count] for count in SIZES[1:]]), 1)[0]
assert -1.2 < closed_slope < -0.7
assert 0.75 * true_var < belief_var["free", 1600] < 1.1 * true_var
assert belief_var["closed", 1600] < 0.01 * true_var

_, _, total = fits["free", 1600](grid)
assert np.quantile(np.abs(np.log(total / spread_of(grid) ** 2)), 0.9) < 0.4  # the whole curve, not its mean alone
assert new_nll["free", 25] > new_nll["closed", 25]
assert all(new_nll["free", count] < new_nll["closed", count] for count in SIZES[1:])
assert abs(new_nll["closed", 1600] - constant) < 0.02
assert new_nll["free", 1600] - truth < 0.05 * (constant - truth)
