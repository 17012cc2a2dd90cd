# %% [markdown]
# # Three cavities
#
# **Question.** A belief about the weights is scored by the density it gives to a target. Which data may that belief
# have seen? Three answers are in use. What does each sum to, and how are they related?
#
# **Model.** $y_n = w^\top\psi_n + e_n$, $e_n\sim N(0,\sigma^2)$, $w\sim N(0,\alpha^{-1}I)$. Given the points in a set
# $S$ the belief is Gaussian with
#
# $$\Sigma_S=\Big(\alpha I+\sigma^{-2}\sum_{i\in S}\psi_i\psi_i^\top\Big)^{-1},\qquad
#   \mu_S=\sigma^{-2}\,\Sigma_S\sum_{i\in S}\psi_iy_i ,$$
#
# and it predicts $y_n\sim N(\psi_n^\top\mu_S,\ \sigma^2+\psi_n^\top\Sigma_S\psi_n)$. A *cavity* is the rule that
# chooses $S$ when point $n$ is scored. Six points and two features, 1 and $x$, are enough to do everything by hand.

# %%
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from corners.exact import Evidence

x = np.array([-1.5, -0.9, -0.3, 0.3, 0.9, 1.5])
y = np.array([-1.1, -0.9, 0.2, 0.1, 1.4, 1.0])
features = np.column_stack([np.ones(6), x])
ALPHA, SIGMA = 1.0, 0.4


def predict(seen, n):
    """Mean and variance of y[n] for the belief that has seen the points in `seen`."""
    rows, targets = features[list(seen)], y[list(seen)]
    covariance = np.linalg.inv(ALPHA * np.eye(2) + rows.T @ rows / SIGMA**2)
    mean = covariance @ rows.T @ targets / SIGMA**2
    return features[n] @ mean, SIGMA**2 + features[n] @ covariance @ features[n]


def score(seen, n):
    """Negative log density of y[n], nats."""
    mean, variance = predict(seen, n)
    return 0.5 * (np.log(2 * np.pi * variance) + (y[n] - mean) ** 2 / variance)


# %% [markdown]
# ## The rules
# - **Sequential**: the points visited before $n$. It needs an order; take 1, 2, 3, 4, 5, 6 and 5, 3, 1, 6, 2, 4.
# - **Leave-one-out**: all points but $n$.
# - **Shared**: all points, $n$ too. One belief serves every point.

# %%
everyone = range(6)
other_order = [4, 2, 0, 5, 1, 3]
in_order = [score(range(n), n) for n in everyone]
shuffled = [score(other_order[: other_order.index(n)], n) for n in everyone]
left_out = [score([i for i in everyone if i != n], n) for n in everyone]
shared = [score(everyone, n) for n in everyone]

print("nats     in order  shuffled  leave-one-out  shared")
for n in everyone:
    print(f"point {n + 1}  {in_order[n]:8.3f}  {shuffled[n]:8.3f}  {left_out[n]:13.3f}  {shared[n]:6.3f}")
print(f"sum      {sum(in_order):8.3f}  {sum(shuffled):8.3f}  {sum(left_out):13.3f}  {sum(shared):6.3f}")

# %% [markdown]
# The two sequential columns differ row by row and agree in the sum. (The point visited last has the entry of the
# leave-one-out column: all others came before it.) The equal sums are the chain rule,
# $p(y)=\prod_j p(y_{(j)}\mid y_{(1)},\dots,y_{(j-1)})$, which holds in any order: the sum is $-\log Z$, minus the log
# evidence. The evidence itself is one Gaussian density:

# %%
marginal = SIGMA**2 * np.eye(6) + features @ features.T / ALPHA
minus_log_z = 0.5 * (6 * np.log(2 * np.pi) + np.linalg.slogdet(marginal)[1] + y @ np.linalg.solve(marginal, y))
print(f"-log Z = {minus_log_z:.3f} nats")

# %% [markdown]
# ## One point under the four beliefs
# Point 5 lies above the line through the others. The shuffled order visits it first, so there the belief is still the
# prior. The more a belief has seen, the narrower its predictive; the shared belief has seen the very point it scores,
# so its mean is pulled towards it.

# %%
N5 = 4
beliefs = {
    "shuffled: nothing yet": [],
    "in order: points 1 to 4": [0, 1, 2, 3],
    "leave-one-out: all but point 5": [0, 1, 2, 3, 5],
    "shared: all six": list(everyone),
}
grid = np.linspace(-4, 5, 400)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), dpi=80, width_ratios=[1, 1.5])
left.plot(x, y, "ko")
left.plot(x[N5], y[N5], "o", color="tab:red")
left.set(xlabel="x", ylabel="y", title="six points; point 5 in red")
for (name, seen), colour in zip(beliefs.items(), ("tab:green", "tab:olive", "tab:blue", "tab:purple"), strict=True):
    mean, variance = predict(seen, N5)
    density = np.exp(-0.5 * (grid - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    right.plot(grid, density, color=colour, label=f"{name} ({score(seen, N5):.2f} nats)")
right.vlines(y[N5], 0, 0.9, color="tab:red", lw=1)
right.set(xlabel="y of point 5", ylabel="predictive density", title="predictives of point 5; red: its y", ylim=(0, 1.5))
right.legend(loc="upper left", fontsize=8, frameon=False)
fig.tight_layout()

# %% [markdown]
# ## The same from `corners.exact`
# One factorisation gives all of it, without a loop and without refitting.

# %%
evidence = Evidence(features, y)
exact = {
    "in order": evidence.sequential(ALPHA, SIGMA),
    "shuffled": evidence.sequential(ALPHA, SIGMA, order=other_order),
    "leave-one-out": evidence.leave_one_out(ALPHA, SIGMA),
    "shared": evidence.shared_closed(ALPHA, SIGMA),
}
print(f"sequential     {exact['in order'].total:.6f} and {exact['shuffled'].total:.6f}")
print(f"-log Z         {-evidence.log_evidence(ALPHA, SIGMA):.6f}")
print(f"leave-one-out  {exact['leave-one-out'].total:.6f}")
print(f"shared         {exact['shared'].data_terms.sum():.6f}, with its prior term {exact['shared'].total:.6f}")

# %% [markdown]
# The *shared* objective of SCROLL has a prior term besides, $-\log\int q(w)\,p(w)\,dw$. With it or without it, the sum
# is not $-\log Z$.
#
# ## One curve holds all three
# Average the score over all points and over all sets $S$ of $j$ others: $c_j$ is the mean cost of a point when the
# belief has seen $j$ points. There are only $6\cdot2^5$ pairs, so this is exact.

# %%
curve = [
    np.mean([score(seen, n) for n in everyone for seen in combinations([i for i in everyone if i != n], j)])
    for j in range(6)
]

fig, ax = plt.subplots(figsize=(6.5, 3.4), dpi=80)
ax.bar(range(6), curve, color="tab:green", alpha=0.35, label="sequential: all bars together")
ax.bar([5], curve[5:], color="tab:blue", label="leave-one-out: six times the last bar")
ax.bar([6], [np.mean(shared)], color="tab:purple", label="shared: six times this one")
ax.set_xticks(range(7), [*map(str, range(6)), "6, itself\namong them"])
ax.set(xlabel="points the belief has seen", ylabel="mean cost of a point (nats)")
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# The evidence adds up the whole curve: it also charges for the time when little was known, and so depends on the prior
# strongly. Leave-one-out looks only at the end of the curve. The shared cavity steps past the end, onto a point already
# seen, and is never above leave-one-out: with leverage $h_n=\psi_n^\top\Sigma\psi_n/\sigma^2$ of the full belief the
# difference is $-\tfrac12\log(1-h_n^2)+\frac{r_n^2}{\sigma^2}\frac{h_n}{1-h_n^2}\ge0$.

# %%
leverage = exact["leave-one-out"].leverage
residual = exact["leave-one-out"].residuals
correction = -0.5 * np.log(1 - leverage**2) + residual**2 / SIGMA**2 * leverage / (1 - leverage**2)
print("leverage            ", leverage.round(2))
print("leave-one-out minus shared (nats)", (np.array(left_out) - shared).round(3))

# %% [markdown]
# ## Answer
# | cavity | the belief has seen | sum |
# | --- | --- | --- |
# | sequential | the points before | $-\log Z$, in any order |
# | leave-one-out | all but the point | $N$ times the last step of the learning curve; not $-\log Z$ |
# | shared | all, the point too | at most leave-one-out, term by term; not $-\log Z$, with or without a prior term |

# %%
assert np.allclose(sum(in_order), minus_log_z)
assert np.allclose(sum(shuffled), minus_log_z)
assert not np.allclose(in_order, shuffled, atol=0.1)
assert np.isclose(in_order[5], left_out[5])
assert np.allclose(sum(curve), minus_log_z)
assert np.allclose(6 * curve[5], sum(left_out))
assert np.all(np.diff([*curve, np.mean(shared)]) < 0)
assert np.allclose(np.array(left_out) - shared, correction)
assert correction.min() > 0

assert np.allclose(exact["in order"].terms, in_order)
assert np.allclose(exact["shuffled"].terms, np.array(shuffled)[other_order])  # terms come in visiting order
assert np.allclose(exact["leave-one-out"].terms, left_out)
assert np.allclose(exact["shared"].data_terms, shared)
assert np.isclose(-evidence.log_evidence(ALPHA, SIGMA), minus_log_z)
assert abs(exact["shared"].total - minus_log_z) > 0.5
