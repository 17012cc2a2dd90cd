# %% [markdown]
# # MAP ≤ Bethe ≤ ELBO?
#
# **Question.** Three objectives can be evaluated at one belief $q=N(\mu,\Sigma)$. It is tempting to say that they come
# in the order MAP ≤ Bethe ≤ ELBO (negative logs, minimised). When is that so?
#
# | | prior term | data term of a point |
# | --- | --- | --- |
# | MAP | $-\log p(\mu)$ | $-\log p(y\mid m)$ |
# | Bethe | $-\log\int q(w)\,p(w)\,dw$ | $-\log\int p(y\mid f)\,N(f;m,v)\,df$ |
# | ELBO, negated | $KL(q\,\Vert\,p)$ | $-\int\log p(y\mid f)\,N(f;m,v)\,df$ |
#
# with $m=\mu^\top\psi$, $v=\psi^\top\Sigma\psi$ and the same $\mu$, $\alpha$, $\sigma^2$ in all three.

# %%
import matplotlib.pyplot as plt
import numpy as np

from corners.exact import (
    AT_FREE_OPTIMUM,
    PRIOR_BELIEF_THRESHOLD,
    UNIVERSAL_THRESHOLD,
    Evidence,
    Hyperpriors,
    find_free_optimum,
    gaussian_plates,
    ordering_at,
    plate_condition,
    prior_gaps,
)

H = 5


def draw(count, noise_scale):
    """A linear problem with tanh features."""
    rng = np.random.default_rng(4)
    features = np.tanh(rng.normal(size=(count, H)))
    return features, features @ rng.normal(size=H) + noise_scale * rng.normal(size=count)


# %% [markdown]
# ## A first look
# Take the conjugate posterior and scale its covariance by a factor $c$. At $c=1$ the negated ELBO is $-\log Z$, minus
# the log evidence. Two problems: few noisy points under a weak prior, and many points under a strong one.

# %%
PROBLEMS = {"8 points, σ = 1, α = 0.1": (8, 1.0, 0.1), "60 points, σ = 0.3, α = 20": (60, 0.3, 20.0)}
factors = np.geomspace(1e-3, 1e4, 60)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.4), dpi=80, sharey=True)
scans = {}
for ax, (title, (count, sigma, alpha)) in zip(axes, PROBLEMS.items(), strict=True):
    problem = draw(count, sigma)
    posterior = Evidence(*problem).posterior(alpha, sigma)
    scan = [ordering_at(*problem, posterior.mean, c * posterior.covariance, alpha, sigma) for c in factors]
    scans[title] = np.array([(each.map.total, each.bethe.total, each.elbo.total) for each in scan])
    for column, (name, colour) in enumerate((("MAP", "tab:green"), ("Bethe", "tab:orange"), ("ELBO", "tab:blue"))):
        ax.plot(factors, scans[title][:, column], color=colour, label=name)
    ax.set(xscale="log", ylim=(0, 80), title=title, xlabel="scale c of the covariance")
axes[0].set_ylabel("objective (nats)")
axes[0].legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# On the left Bethe lies above the ELBO around $c=1$, at the posterior itself; on the right it falls below MAP. Both
# inequalities fail, for different reasons: take data terms and prior terms apart.
#
# ## Bethe ≤ ELBO: the data terms always obey
# $-\log$ of a mean is at most the mean of $-\log$: Jensen's inequality, one point at a time, for every likelihood.

# %%
N, SIGMA = 60, 0.3
features, targets = draw(N, SIGMA)
rng = np.random.default_rng(0)
beliefs = []
for _ in range(200):
    root = rng.normal(size=(H, H)) * 10 ** rng.uniform(-2, 1)
    beliefs.append((rng.normal(size=H) * 10 ** rng.uniform(-2, 1), root @ root.T + 1e-8 * np.eye(H)))
drawn = [ordering_at(features, targets, mean, covariance, 1.0, SIGMA) for mean, covariance in beliefs]
data_gaps = np.array([each.elbo.data_terms - each.bethe.data_terms for each in drawn])
print(f"smallest of {data_gaps.size} data gaps ELBO - Bethe: {data_gaps.min():.1e} nats")

# %% [markdown]
# ## Bethe ≤ ELBO: the prior term needs a threshold
# The gap is $KL-(-\log Z_w)=J-\mathrm{Ent}(q)$, a Jensen gap less the entropy of $q$, which is large for a wide
# belief. At $q=p$ it is $\frac H2\log\frac\alpha{4\pi}$: negative as soon as $\alpha<4\pi$. Over all Gaussian $q$ it is
# smallest at $\mu=0$, $\alpha\Sigma=\varphi I$ with the golden ratio $\varphi$, where it changes sign at
# $\alpha=2\pi\varphi^3e^{1-\varphi}=14.346$.

# %%
precisions = np.geomspace(1, 200, 80)
golden = 0.5 * (1 + np.sqrt(5))
at_prior = [prior_gaps(np.zeros(1), np.eye(1) / a, a).bethe_elbo for a in precisions]
worst = [prior_gaps(np.zeros(1), golden * np.eye(1) / a, a).bethe_elbo for a in precisions]

fig, ax = plt.subplots(figsize=(6.5, 3.4), dpi=80)
ax.semilogx(precisions, at_prior, color="tab:blue", label="at q = p")
ax.semilogx(precisions, worst, color="tab:red", label="worst Gaussian q")
ax.axhline(0, color="0.4", lw=0.8)
for threshold, colour in ((PRIOR_BELIEF_THRESHOLD, "tab:blue"), (UNIVERSAL_THRESHOLD, "tab:red")):
    ax.axvline(threshold, color=colour, ls=":", label=f"α = {threshold:.3f}")
ax.set(xlabel="prior precision α", ylabel="prior gap ELBO - Bethe\n(nats per weight)")
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# A threshold on $\alpha$ alone is a warning: $\alpha$ has units. Multiply the features by $k$ and divide the weights by
# it, at the posterior of the eight points. No prediction changes, nor does the ELBO; the Bethe prior term moves by
# $-H\log k$, and the verdict with it.

# %%
few, (mean, covariance) = draw(8, 1.0), Evidence(*draw(8, 1.0)).posterior(0.1, 1.0)
scaled = {
    k: ordering_at(k * few[0], few[1], mean / k, covariance / k**2, prior_precision=0.1 * k**2, noise_scale=1.0)
    for k in (0.1, 1.0, 10.0)
}
print("features times    ELBO - Bethe, nats: total    data    prior")
for k, each in scaled.items():
    gap = each.bethe_elbo
    print(f"{k:>14g}{gap.total:28.2f}{gap.data:9.2f}{gap.prior:9.2f}   {gap.verdict}")

# %% [markdown]
# ## MAP ≤ Bethe: a condition for every point
# With $\kappa=v/\sigma^2$ and $\rho=r^2/\sigma^2$ a point obeys iff $\rho\le(1+\kappa)\log(1+\kappa)/\kappa$. The right
# side is at least 1: points within one noise standard deviation always obey. A point far out gains from variance and
# breaks the order.

# %%
mean, covariance = Evidence(features, targets).posterior(1.0, SIGMA)
wide = 20 * covariance
found = ordering_at(features, targets, mean, wide, 1.0, SIGMA)
residuals = targets - features @ mean
variances = np.sum((features @ wide) * features, axis=1)
obeys = plate_condition(residuals, variances, SIGMA)
kappa, rho = variances / SIGMA**2, residuals**2 / SIGMA**2

fig, ax = plt.subplots(figsize=(6.5, 3.4), dpi=80)
line = np.linspace(1e-3, kappa.max() * 1.1, 200)
ax.fill_between(line, 1e-4, (1 + line) * np.log1p(line) / line, color="tab:green", alpha=0.15, lw=0)
for which, colour, label in ((obeys, "tab:green", "MAP ≤ Bethe"), (~obeys, "tab:red", "Bethe < MAP")):
    ax.semilogy(kappa[which], rho[which], ".", color=colour, label=f"{label}: {which.sum()} points")
ax.set(xlabel="κ = variance of the belief / noise variance", ylabel="ρ = residual² / noise variance", ylim=(1e-3, 50))
ax.legend(frameon=False, fontsize=8)
fig.tight_layout()

# %% [markdown]
# The prior term has a condition of its own. With $b_i=\alpha\lambda_i$ for the eigenvalues of $\Sigma$ and
# $\tilde m_i=\sqrt\alpha\,(Q^\top\mu)_i$ in its eigenbasis the gap is
# $\tfrac12\sum_i[\log(1+b_i)-\tilde m_i^2\,b_i/(1+b_i)]$, negative where the weights are larger than the prior expects.
# That is what broke the right panel of the first figure, at $\alpha=20$:

# %%
mean_many, covariance_many = Evidence(features, targets).posterior(20.0, SIGMA)
right_panel = ordering_at(features, targets, mean_many, 10 * covariance_many, 20.0, SIGMA).map_bethe
print(f"Bethe - MAP at c = 10: data {right_panel.data:+.2f}, prior {right_panel.prior:+.2f} nats")
print(f"mean squared weight times α: {20 * np.mean(mean_many**2):.1f}")

# %% [markdown]
# ## At a trained free belief the order is reversed
# A free $\Sigma$ is chosen to make Bethe small, and $\Sigma=0$, where Bethe is MAP, was among the choices. So at a
# global optimum Bethe cannot lie above MAP at the same mean.

# %%
best = find_free_optimum(
    features,
    targets,
    np.random.default_rng(0),
    family="diagonal",
    prior_precision=1.0,
    hyperpriors=Hyperpriors(noise_var=(1.0, 0.01 * np.var(targets))),
    jitter=1e-8,
    starts=8,
)
optimum = ordering_at(features, targets, best.mean, best.covariance, 1.0, best.noise_scale)
print(f"MAP {optimum.map.total:.2f}, Bethe {optimum.bethe.total:.2f}, ELBO {optimum.elbo.total:.2f} nats")
print(AT_FREE_OPTIMUM)

# %% [markdown]
# ## Answer
# | inequality | data term | prior term | total |
# | --- | --- | --- | --- |
# | Bethe ≤ ELBO | always | every $q$ iff $\alpha\ge14.346$; $q=p$ iff $\alpha\ge4\pi$ | if $q$ is narrow enough |
# | MAP ≤ Bethe | point by point, by $\kappa$ and $\rho$ | fails for large $\lVert\mu\rVert$ | reversed at free optima |

# %%
at_one = ordering_at(features, targets, mean, covariance, 1.0, SIGMA)
assert np.isclose(at_one.elbo.total, -Evidence(features, targets).log_evidence(1.0, SIGMA))
few_points, many_points = scans.values()
assert (few_points[:, 1] > few_points[:, 2]).any()  # Bethe above ELBO
assert (many_points[:, 1] <= many_points[:, 2]).all()  # α = 20 is above the threshold
assert (many_points[:, 1] < many_points[:, 0]).any()  # Bethe below MAP

assert data_gaps.min() > -1e-9
assert np.isclose(PRIOR_BELIEF_THRESHOLD, 4 * np.pi)
assert np.isclose(UNIVERSAL_THRESHOLD, 14.3461, atol=1e-4)
for centre, spread in beliefs:
    assert prior_gaps(centre, spread, UNIVERSAL_THRESHOLD).bethe_elbo >= -1e-9
touching = prior_gaps(np.zeros(1), golden * np.eye(1) / UNIVERSAL_THRESHOLD, UNIVERSAL_THRESHOLD)
assert np.isclose(touching.bethe_elbo, 0)

assert np.allclose(scaled[10.0].bethe.data_terms, scaled[1.0].bethe.data_terms)
assert np.isclose(scaled[10.0].bethe.total - scaled[1.0].bethe.total, -H * np.log(10))
assert scaled[1.0].bethe_elbo.total < 0 < scaled[10.0].bethe_elbo.total

differences = gaussian_plates(targets, features @ mean, variances, SIGMA).value - found.map.data_terms
assert ((differences >= 0) == obeys).all()
assert obeys[rho <= 1].all()
assert 0 < obeys.sum() < N
assert right_panel.data > 0 > right_panel.prior
assert np.isclose(right_panel.prior, prior_gaps(mean_many, 10 * covariance_many, 20.0).map_bethe)
assert optimum.bethe.total < optimum.map.total
