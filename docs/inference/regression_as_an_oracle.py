# %% [markdown]
# # Linear regression as an oracle
#
# With Gaussian weights and known noise everything about regression has a closed form, so that an independent
# computation of its evidence, say by a neural network's last layer, can be checked to the last digits. Here the same
# log evidence comes out of three computations, and leave-one-out predictions out of two.

# %%
import numpy as np
from scipy.stats import multivariate_normal, norm

import inference as P

rng = np.random.default_rng(0)
N, D, TAU = 40, 5, 25.0
F = np.column_stack([np.tanh(rng.standard_normal((N, D - 1))), np.ones(N)])
V0 = np.diag([1.0, 1.0, 0.5, 0.5, 4.0])
t = F @ rng.multivariate_normal(np.zeros(D), V0) + rng.standard_normal(N) / np.sqrt(TAU)


# %% [markdown]
# ## The model, once


# %%
@P.model
def linreg(m, x, y, *, V0, tau):
    """y ~ N(w'x, 1/tau), w ~ N(0, V0)."""
    w = m.mvnormal("w", mean=0.0, cov=V0, dim=x.shape[1])
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


known = linreg.bind(V0=V0, tau=TAU)

# %% [markdown]
# ## Log evidence, three ways
# 1. Belief propagation on all rows: minus the Bethe free energy.
# 2. One row after the other: the sum of log predictive densities.
# 3. The density of the targets, w integrated out by hand.

# %%
batch = P.infer(known, data={"x": F, "y": t}, constraints=P.BeliefPropagation())
by_graph = -batch.free_energy[-1]

stream = P.Stream(known, carry=["w"])
by_rows = sum(stream.step({"x": F[i : i + 1], "y": t[i : i + 1]}).logscore for i in range(N))

by_hand = multivariate_normal(np.zeros(N), F @ V0 @ F.T + np.eye(N) / TAU).logpdf(t)

print(batch)
print(f"\nlog evidence   graph {by_graph:.12f}   row by row {by_rows:.12f}   by hand {by_hand:.12f}")
assert abs(by_graph - by_hand) < 1e-9
assert abs(by_rows - by_hand) < 1e-9

# %% [markdown]
# The weights agree too, and the order of rows does not matter.

# %%
q, carried = batch.posteriors["w"], stream.posteriors["w"]
precision = np.linalg.inv(V0) + TAU * F.T @ F
np.testing.assert_allclose(q.mean(), np.linalg.solve(precision, TAU * F.T @ t), rtol=1e-10)
np.testing.assert_allclose(carried.mean(), q.mean(), rtol=1e-8)
np.testing.assert_allclose(carried.covariance, q.covariance, rtol=1e-8, atol=1e-14)

# %% [markdown]
# ## Leaving one row out
# `messages["w"].cavity(j)` is the belief about w from all rows but j. Its prediction of row j must equal that of a
# fit that never saw row j, and the textbook formula from the full fit.

# %%
into_w = batch.messages["w"]
log_densities = np.empty(N)
for j in range(N):
    w = into_w.cavity(j)
    log_densities[j] = norm(F[j] @ w.mean(), np.sqrt(F[j] @ w.covariance @ F[j] + 1.0 / TAU)).logpdf(t[j])

leverage = TAU * np.einsum("ni,ij,nj->n", F, q.covariance, F)
residual = (t - F @ q.mean()) / (1.0 - leverage)
textbook = norm(0.0, np.sqrt(1.0 / TAU / (1.0 - leverage))).logpdf(residual)
refit = P.infer(known, data={"x": np.delete(F, 3, 0), "y": np.delete(t, 3)})
ahead = refit.predict({"x": F[3:4]})

print(f"\nleave-one-out log density   cavities {log_densities.sum():.12f}   textbook {textbook.sum():.12f}")
np.testing.assert_allclose(log_densities, textbook, rtol=1e-9)
np.testing.assert_allclose(ahead.logpdf(t[3:4]), log_densities[3], rtol=1e-9)

# %% [markdown]
# ## Where the noise is unknown
# Weights and precision share a normal-gamma prior, w given tau being N(0, I / (0.02 tau)); still exact, and row by
# row the predictions are Student t.


# %%
@P.model
def unknown_noise(m, x, y):
    """(w, tau) normal-gamma."""
    w, tau = m.normal_gamma(("w", "tau"), mean=0.0, precision=0.02 * np.eye(x.shape[1]), shape=2.0, rate=0.1)
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


whole = P.infer(unknown_noise, data={"x": F, "y": t})
pieces = P.Stream(unknown_noise, carry=["w", "tau"])
total = sum(pieces.step({"x": F[i : i + 1], "y": t[i : i + 1]}).logscore for i in range(N))
tau = whole.posteriors["tau"]
print(f"\nunknown noise: log evidence {-whole.free_energy[-1]:.10f}, row by row {total:.10f}")
print(f"precision {tau.mean():.1f} +- {np.sqrt(tau.var()):.1f}, in truth {TAU:.1f}")
assert abs(total + whole.free_energy[-1]) < 1e-8
assert abs(tau.mean() - TAU) < 3.0 * np.sqrt(tau.var())
print("\nall statements of this page hold")
