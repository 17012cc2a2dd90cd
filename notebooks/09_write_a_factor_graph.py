# %% [markdown]
# # Write a model as a factor graph
#
# **Question.** How does a model become a factor graph, what does inference do with it, and how can one know that the
# answer is right?
#
# **Story.** Eight machines fill bags of 500 g. Six bags of each were weighed, three weights were lost. Machines differ,
# and so do the bags of one machine:
#
# $$y_{ij}\sim N(\mu_i,1/r),\quad\mu_i\sim N(c,1/t),\quad c\sim N(500,100^2),\quad t\sim\mathrm{Ga}(2,4),\quad
#   r\sim\mathrm{Ga}(2,20),$$
#
# Gammas by shape and rate. One line a factor, one `plate` an index; `observed=` says what was seen, and NaN what was
# not.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gamma, multivariate_normal

import inference as P


@P.model
def bags(m, weight):
    """Machines about a centre, bags about their machine (g)."""
    machine, bag = m.plate("machine", weight.shape[0]), m.plate("bag", weight.shape[1])
    centre = m.normal("centre", mean=500.0, precision=1e-4)
    between = m.gamma("between", shape=2.0, rate=4.0)  # precision of the machines, 1/g²
    within = m.gamma("within", shape=2.0, rate=20.0)  # precision of the bags of one machine, 1/g²
    mu = m.normal("mu", mean=centre, precision=between, plates=machine)
    m.normal("weight", mean=mu, precision=within, observed=weight, plates=(machine, bag))


rng = np.random.default_rng(0)
complete = 500 + 1.5 * rng.normal(size=(8, 1)) + 4 * rng.normal(size=(8, 6))
weight = complete.copy()
weight[2, 3:] = np.nan

# %% [markdown]
# ## The graph
# Before anything is inferred, `P.graph` shows what was written. Types are checked here: a precision where a real
# variable belongs is refused in words.

# %%
view = P.graph(bags, {"weight": weight})
print(view)


@P.model
def wrong(m, weight):
    """A precision in the place of a mean."""
    precision = m.gamma("precision", shape=1.0, rate=1.0)
    m.normal("weight", mean=precision, precision=1.0, observed=weight, plates=m.plate("bag", len(weight)))


try:
    P.graph(wrong, {"weight": np.zeros(3)})
except P.SpecError as error:
    refusal = str(error)
print("\nrefused:", refusal)

# %% [markdown]
# The same as a picture: circles are variables (grey: observed), squares are factors, a frame is a plate.
# (`view.to_dot()` writes it for Graphviz.)

# %%
PLACES = {"between": (0, 1.5), "centre": (2, 2.3), "mu": (2, 0.75), "within": (6.3, 0.75), "[weight]": (4, 0)}
FACTORS = {"between": (-0.9, 1.5), "centre": (3, 2.3), "mu": (2, 1.5), "within": (7.2, 0.75), "weight": (4, 0.75)}

fig, ax = plt.subplots(figsize=(7, 3.2), dpi=80)
for edge in view.edges:
    if edge.variable in PLACES:
        ends = np.array([PLACES[edge.variable], FACTORS[edge.node]])
        ax.plot(*ends.T, color="0.4", lw=1, zorder=0)
for name, place in PLACES.items():
    known = view.variables[name].known
    ax.plot(*place, "o", ms=16, color="0.75" if known else "white", mec="k")
    ax.annotate(name.strip("[]"), place, (12, -13), textcoords="offset points", fontsize=9)
for node in view.nodes:
    ax.plot(*FACTORS[node.name], "s", ms=9, color="tab:blue")
    ax.annotate(node.letter, FACTORS[node.name], (8, 5), textcoords="offset points", fontsize=8, color="tab:blue")
ax.add_patch(plt.Rectangle((1.2, -0.5), 4.2, 2.35, fill=False, ec="0.6"))
ax.add_patch(plt.Rectangle((3.2, -0.35), 2.05, 1.5, fill=False, ec="0.6"))
ax.text(1.3, -0.43, f"machine × {view.plates['machine']}", fontsize=8, color="0.4")
ax.text(3.3, -0.28, f"bag × {view.plates['bag']}", fontsize=8, color="0.4")
ax.set(xlim=(-1.4, 8), ylim=(-0.6, 2.6))
ax.axis("off")
fig.tight_layout()

# %% [markdown]
# ## Known precisions: the answer is exact
# With $t$ and $r$ known the graph is a tree of Gaussians. One pass up and down gives exact marginals, and
# the Bethe free energy is minus the log evidence. By hand: the weights are jointly Gaussian, with covariance
# $10^4+t^{-1}[\text{same machine}]+r^{-1}[\text{same bag}]$. `P.Fixed` holds a variable at a value.

# %%
seen = ~np.isnan(weight)
machine_of = np.nonzero(seen)[0]
same_machine = (machine_of[:, None] == machine_of).astype(float)
readings = weight[seen]


def covariance(t, r):
    """Covariance of the weights that were seen, g²."""
    return 1e4 + same_machine / t + np.eye(readings.size) / r


T, R = 0.44, 0.06
fixed = [P.Fixed("between", P.PointMass(T)), P.Fixed("within", P.PointMass(R))]
known = P.infer(bags, data={"weight": weight}, constraints=fixed)
# F of the fixed run also holds -log p(t) - log p(r) at the two values.
prior_cost = -gamma(2, scale=1 / 4).logpdf(T) - gamma(2, scale=1 / 20).logpdf(R)
by_graph = -(known.free_energy[-1] - prior_cost)
by_hand = multivariate_normal(np.full(readings.size, 500.0), covariance(T, R)).logpdf(readings)
print(f"log evidence at t = {T}, r = {R}: {by_graph:.10f} by message passing, {by_hand:.10f} by hand")

# %% [markdown]
# ## Unknown precisions
# Now inference has to choose a family for the joint belief. Without constraints it joins what linear-Gaussian factors
# join and keeps the Gammas apart: $q(c,\mu)\,q(t)\,q(r)$. `P.MeanField()` splits $c$ from $\mu$ as well. Which rule
# sends which message is no secret:

# %%
default = P.infer(bags, data={"weight": weight}, iterations=200)
apart = P.infer(bags, data={"weight": weight}, constraints=P.MeanField(), iterations=200)
print(default)
print()
print(default.plan.explain("mu"))

# %% [markdown]
# The witness: integrate $c$ and all $\mu$ by hand as above, and $t$ and $r$ on a grid. That is the exact evidence, up
# to the grid, and $F\ge-\log p(\text{weights})$ must hold for both families, with less excess for the wider one.

# %%
log_t, log_r = np.linspace(np.log(0.02), np.log(8.0), 60), np.linspace(np.log(0.015), np.log(0.3), 60)


def log_joint(t, r):
    """log p(weights, t, r), as a density of (log t, log r)."""
    likelihood = multivariate_normal(np.full(readings.size, 500.0), covariance(t, r)).logpdf(readings)
    prior = gamma(2, scale=1 / 4).logpdf(t) + gamma(2, scale=1 / 20).logpdf(r)
    return likelihood + prior + np.log(t) + np.log(r)


surface = np.array([[log_joint(t, r) for r in np.exp(log_r)] for t in np.exp(log_t)])
mass = np.exp(surface - surface.max())
total = np.trapezoid(np.trapezoid(mass, log_r), log_t)
minus_log_evidence = -(surface.max() + np.log(total))
energies = {"q(c, mu)q(t)q(r)": default.free_energy[-1], "mean field": apart.free_energy[-1]}
print(f"{'-log evidence, by quadrature':<30}{minus_log_evidence:.3f} nats")
for name, energy in energies.items():
    print(f"{'F, ' + name:<30}{energy:.3f} nats, {energy - minus_log_evidence:.3f} above")

# %% [markdown]
# What is lost shows in the marginals: the posterior of the two standard deviations, and of the centre.

# %%
weights_of_grid = mass / mass.sum()
marginals = {"between": (log_t, mass.sum(1)), "within": (log_r, mass.sum(0))}


def given(t, r):
    """Mean and variance of (c, mu of machine 3) given the precisions."""
    inverse = np.linalg.inv(covariance(t, r))
    cross = np.vstack([np.full(readings.size, 1e4), 1e4 + (machine_of == 2) / t])
    mean = 500.0 + cross @ inverse @ (readings - 500.0)
    return mean, np.array([1e4, 1e4 + 1 / t]) - np.einsum("ij,jk,ik->i", cross, inverse, cross)


moments = [[given(t, r) for r in np.exp(log_r[::3])] for t in np.exp(log_t[::3])]
grid_mean = np.array([[cell[0] for cell in row] for row in moments])
grid_var = np.array([[cell[1] for cell in row] for row in moments])
coarse = mass[::3, ::3] / mass[::3, ::3].sum()
exact_mean = np.einsum("ij,ijk->k", coarse, grid_mean)
exact_sd = np.sqrt(np.einsum("ij,ijk->k", coarse, grid_var + (grid_mean - exact_mean) ** 2))

fig, axes = plt.subplots(1, 3, figsize=(10, 3), dpi=80)
for ax, (name, title) in zip(axes, (("between", "machines"), ("within", "bags")), strict=False):
    logs, exact = marginals[name]
    spread = np.exp(-0.5 * logs)
    ax.plot(spread, exact / np.trapezoid(exact, logs) * 2 / spread, "k", lw=2, label="exact")
    for result, colour, label in ((default, "tab:blue", "default"), (apart, "tab:orange", "mean field")):
        density = np.exp(result.posteriors[name].logpdf(np.exp(logs)) + logs) * 2 / spread
        ax.plot(spread, density, "--", color=colour, label=label)
    ax.set(title=f"spread of {title}", xlabel="standard deviation (g)", ylabel="density (1/g)")
axes[0].set_xlim(0, 6)
axes[0].legend(frameon=False, fontsize=8)
c = np.linspace(exact_mean[0] - 7, exact_mean[0] + 7, 300)
mixture = np.einsum(
    "ij,ijc->c",
    coarse,
    np.exp(-0.5 * (c - grid_mean[..., :1]) ** 2 / grid_var[..., :1]) / np.sqrt(2 * np.pi * grid_var[..., :1]),
)
axes[2].plot(c, mixture, "k", lw=2)
for result, colour in ((default, "tab:blue"), (apart, "tab:orange")):
    axes[2].plot(c, np.exp(result.posteriors["centre"].logpdf(c)), "--", color=colour)
axes[2].set(title="centre", xlabel="weight (g)", ylabel="density (1/g)")
fig.tight_layout()

# %% [markdown]
# The default has the centre almost exactly; under mean field the centre believes that it knows every $\mu_i$, and is
# too narrow. Both have the precisions apart from $\mu$, and are too sure of them, most of the one between machines:
# eight means that are not known exactly speak of it. A default is a choice, not the truth.
#
# ## What was lost
# Missing values are predicted, each with the spread of its machine's mean and of the bags.

# %%
lost = default.predictions["weight"]
exact_var = exact_sd[1] ** 2 + (weights_of_grid.sum(0) * np.exp(-log_r)).sum()
print("machine 3, lost weights (g):", complete[2, 3:].round(1))
print(
    f"predicted {lost.mean()[0]:.2f} ± {np.sqrt(lost.var()[0]):.2f}, exactly {exact_mean[1]:.2f} ± {exact_var**0.5:.2f}"
)

# %% [markdown]
# ## Answer
# One line a factor, one plate an index; what is joint is a constraint, and the plan says what it chose and why. On a
# tree with known precisions $-F$ is the log evidence to rounding. Otherwise $F$ is an upper bound of $-\log p(y)$, and
# a witness on a small case (a grid, or NUTS in `inference.truth`) shows how far the marginals can be trusted.

# %%
assert "port mean takes a real variable" in refusal
assert view.clusters == (("centre", "mu"), ("between",), ("within",))
assert np.isclose(by_graph, by_hand, rtol=1e-9)
assert default.converged and apart.converged
assert minus_log_evidence < default.free_energy[-1] < apart.free_energy[-1]
assert default.free_energy[-1] - minus_log_evidence < 1.0
assert np.all(np.diff(default.free_energy) < 1e-9)
assert abs(default.posteriors["centre"].mean() - exact_mean[0]) < 0.1 * exact_sd[0]
assert 0.8 < np.sqrt(default.posteriors["centre"].var()) / exact_sd[0] < 1.0
assert np.sqrt(apart.posteriors["centre"].var()) < 0.9 * np.sqrt(default.posteriors["centre"].var())
assert abs(lost.mean()[0] - exact_mean[1]) < 0.2
assert abs(np.sqrt(lost.var()[0] / exact_var) - 1) < 0.05
