# %% [markdown]
# # Which score selects better?
#
# **Question.** The prior precision $\alpha$, the noise $\sigma$ and the number of features have to be chosen from the
# training data alone. Notebook 02 has three scores for that: minus the log evidence, leave-one-out, and the shared
# score. Which of them chooses what predicts best?
#
# **Model.** $y_n=w^\top\psi(x_n)+e_n$, $w\sim N(0,\alpha^{-1}I)$, $e_n\sim N(0,\sigma^2)$, with the 40 cosines
# $\psi_i(x)=\sqrt2\cos(i\pi x)/i$ on $[0,1]$. The prior says that functions are rough: the $i$-th amplitude falls like
# $1/i$ and no faster.
#
# Three truths, all with $\sigma=0.3$. One is drawn from the model at $\alpha=1$. In the other two the prior is wrong:

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from corners.exact import Evidence

FEATURES, SIGMA = 40, 0.3
GRID = (np.arange(400) + 0.5) / 400


def psi(x):
    """The cosines at the inputs x."""
    order = np.arange(1, FEATURES + 1)
    return np.sqrt(2) * np.cos(np.pi * np.outer(x, order)) / order


def from_the_model(rng):
    """Weights of the prior."""
    weights = rng.normal(size=FEATURES)
    return lambda x: psi(x) @ weights


def smoother(rng):
    """Weights that fall off exponentially."""
    weights = 4 * np.exp(-np.arange(1, FEATURES + 1) / 1.5) * rng.normal(size=FEATURES)
    return lambda x: psi(x) @ weights


def with_a_jump(rng):
    """A step at a random place: no 40 cosines reproduce it."""
    place = rng.uniform(0.3, 0.7)
    return lambda x: 2.0 * (x > place) - 1.0


TRUTHS = {"model": from_the_model, "smoother": smoother, "jump": with_a_jump}


def draw(truth, count, seed):
    """The true function, and inputs and targets of it."""
    rng = np.random.default_rng(seed)
    function, x = TRUTHS[truth](rng), rng.uniform(size=count)
    return function, x, function(x) + SIGMA * rng.normal(size=count)


fig, axes = plt.subplots(1, 3, figsize=(10, 2.8), dpi=80, sharey=True)
for ax, truth in zip(axes, TRUTHS, strict=True):
    for seed, colour in ((1, "tab:blue"), (2, "tab:orange"), (3, "tab:green")):
        function, x, y = draw(truth, 30, seed)
        ax.plot(GRID, function(GRID), color=colour)
        ax.plot(x, y, ".", color=colour, ms=3)
    ax.set(title=f"truth: {truth}", xlabel="x", ylim=(-4.5, 4.5))
axes[0].set_ylabel("y")
fig.tight_layout()

# %% [markdown]
# ## The three choices
# `maximise` and `maximise_leave_one_out` find the global optimum over $(\alpha,\sigma)$, with a status in words. The
# shared score of the closed belief has no global optimum: its prior term falls like $-\frac H2\log\alpha$, so the more
# precise the prior the better, without end. What a training run finds is a local minimum, so it gets a descent from
# $\alpha=1$, $\sigma^2=\mathrm{var}\,y$, in a box that ends at $\alpha=10^5$.

# %%
LARGEST = 1e5


def by_evidence(evidence):
    """The pair of largest evidence."""
    best = evidence.maximise()
    return best.prior_precision, best.noise_scale


def by_leave_one_out(evidence):
    """The pair of lowest leave-one-out score."""
    best = evidence.maximise_leave_one_out()
    return best.prior_precision, best.noise_scale


def by_shared(evidence):
    """The pair at the end of a descent of the shared score."""

    def value_and_slopes(logs):
        at = (np.exp(logs[0]), np.exp(logs[1] / 2))
        slopes = evidence.shared_closed_gradient(*at)
        return evidence.shared_closed(*at).total, np.array([slopes.log_prior_precision, slopes.log_noise_var])

    size = np.log(evidence.targets.var())
    box = [np.log([1e-4, LARGEST]), size + np.log([1e-4, 10.0])]
    found = minimize(value_and_slopes, [0.0, size], jac=True, method="L-BFGS-B", bounds=box)
    return np.exp(found.x[0]), np.exp(found.x[1] / 2)


RULES = {"evidence": by_evidence, "leave-one-out": by_leave_one_out, "shared": by_shared}

# %% [markdown]
# ## The judge
# New targets at a uniform $x$. The truth is known, so their noise need not be drawn: the expected negative log density
# is $\tfrac12\langle\log2\pi V+(\sigma^2+(f-m)^2)/V\rangle$ over the grid, $f$ being the true function, $m$ and $V$ the
# predictive mean and variance. All rules see the same 60 draws of each kind, so differences are paired.

# %%
DRAWS, SIZES = 60, (30, 100, 300)


def expected_nll(predictive, true):
    """Expected NLL of a new target, nats a point."""
    gap = SIGMA**2 + (true - predictive.means) ** 2
    return 0.5 * np.mean(np.log(2 * np.pi * predictive.variances) + gap / predictive.variances)


def trial(truth, count, seed):
    """NLL and prior precision of each rule on one draw."""
    function, x, y = draw(truth, count, seed)
    evidence = Evidence(psi(x), y)
    chosen = np.array([rule(evidence) for rule in RULES.values()])
    true, rows = function(GRID), psi(GRID)
    return [expected_nll(evidence.predict(rows, *at), true) for at in chosen], chosen[:, 0]


results = {
    (truth, count): [trial(truth, count, [count, seed]) for seed in range(DRAWS)] for truth in TRUTHS for count in SIZES
}
nll = {key: np.array([found for found, _ in trials]) for key, trials in results.items()}
at_edge = {key: np.mean([at[2] > 0.99 * LARGEST for _, at in trials]) for key, trials in results.items()}

# %% [markdown]
# Nats per point *above the evidence's choice*, mean over the draws and its standard error; positive is worse. The last
# column is the share of draws where the shared score ran to the end of the box.

# %%
margin, standard_error = {}, {}
print(f"{'truth':<10}{'N':>4}{'evidence NLL':>14}{'leave-one-out':>20}{'shared':>20}{'shared at edge':>16}")
for (truth, count), found in nll.items():
    against = found[:, 1:] - found[:, :1]
    margin[truth, count], standard_error[truth, count] = against.mean(0), against.std(0, ddof=1) / np.sqrt(DRAWS)
    cells = [f"{m:+.3f} ± {s:.3f}" for m, s in zip(margin[truth, count], standard_error[truth, count], strict=True)]
    print(f"{truth:<10}{count:>4}{found[:, 0].mean():14.3f}{cells[0]:>20}{cells[1]:>20}{at_edge[truth, count]:16.0%}")

# %% [markdown]
# Means hide how the differences are spread. Each dot is one draw:

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), dpi=80, sharey=True)
scatter = np.random.default_rng(0).uniform(-0.25, 0.25, DRAWS)
for ax, count in zip(axes, SIZES, strict=True):
    for place, truth in enumerate(TRUTHS):
        ax.plot(place + scatter, nll[truth, count][:, 1] - nll[truth, count][:, 0], ".", ms=4, color="tab:blue")
    ax.axhline(0, color="0.4", lw=1)
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set_xticks(range(3), [*TRUTHS])
    ax.set(title=f"{count} points", xlabel="truth")
axes[0].set_ylabel("leave-one-out minus evidence\n(nats per point, linear to 0.01)")
fig.tight_layout()

# %% [markdown]
# - **Model**: the evidence is better, by little, and the gain vanishes as points are added.
# - **Smoother**: leave-one-out is better at every size. One $\alpha$ must serve a few large weights and many that are
#   almost zero. The evidence wants the weights to be likely, all of them; leave-one-out wants the next point predicted,
#   for which more smoothing pays.
# - **Jump**: the prior is as wrong as before, and yet the evidence is not beaten. A wrong model is a reason to compare
#   the two, not to prefer one.
# - **Few points**: leave-one-out now and then chooses far too small a noise. One draw of sixty costs twenty nats a
#   point, and makes the mean in the table useless; hence the error beside it.
# - **Shared**: worse than both. With 30 points the descent mostly finds no minimum before the end of the box.
#
# ## How many features?
# Now $\sigma=0.3$ is known, the truth comes from the model, and the number of cosines is chosen, 1 to 40, with $\alpha$
# held at a value that somebody chose beforehand. The true one is 1; a small one is a vague prior.

# %%
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40)
PRECISIONS = 10.0 ** np.arange(-6, 2)
COUNT, WIDTH_DRAWS = 50, 30


def scores_of_widths(seed):
    """Each score, and the expected NLL, for every width and precision."""
    function, x, y = draw("model", COUNT, [9, seed])
    true, rows, new = function(GRID), psi(x), psi(GRID)
    out = np.empty((4, len(WIDTHS), len(PRECISIONS)))
    for i, width in enumerate(WIDTHS):
        evidence = Evidence(rows[:, :width], y)
        for j, alpha in enumerate(PRECISIONS):
            out[:3, i, j] = (
                -evidence.log_evidence(alpha, SIGMA),
                evidence.leave_one_out(alpha, SIGMA).total,
                evidence.shared_closed(alpha, SIGMA).total,
            )
            out[3, i, j] = expected_nll(evidence.predict(new[:, :width], alpha, SIGMA), true)
    return out


every = np.array([scores_of_widths(seed) for seed in range(WIDTH_DRAWS)])
choice = every[:, :3].argmin(2)  # draws, rules, precisions
lost = np.take_along_axis(every[:, 3:], choice[:, :, None], 2)[:, :, 0] - every[:, 3].min(1)[:, None]
width = np.array(WIDTHS)[choice].mean(0)
loss, loss_error = lost.mean(0), lost.std(0, ddof=1) / np.sqrt(WIDTH_DRAWS)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), dpi=80)
for k, rule in enumerate(RULES):
    left.semilogx(PRECISIONS, width[k], "o-", ms=4, label=rule)
    right.errorbar(PRECISIONS, loss[k], loss_error[k], fmt="o-", ms=4, capsize=2)
right.set_xscale("log")
left.set(xlabel="fixed prior precision α (true: 1)", ylabel="chosen number of cosines, mean")
right.set(xlabel="fixed prior precision α (true: 1)", ylabel="NLL above that of the best width\n(nats per point)")
left.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# A vague prior predicts badly before it has seen data, and the evidence charges every added cosine for that: with each
# factor 100 in $\alpha$ the same data get fewer cosines. Leave-one-out predicts from 49 points, where the prior is all
# but forgotten, and its choice hardly moves. It is not perfect either. At the true $\alpha$ the two are about as good.
# The shared score charges for width too, but in a unit that depends on the scale of the weights.
#
# The trouble of the evidence is the fixed $\alpha$, not the evidence. With the best $\alpha$ for each width:


# %%
def loss_with_learned_precision(seed):
    """NLL above that of the best width and precision of the table, width and precision by the evidence."""
    function, x, y = draw("model", COUNT, [9, seed])
    fits = [Evidence(psi(x)[:, :width], y) for width in WIDTHS]
    best = [fit.maximise(noise_scale=SIGMA) for fit in fits]
    k = int(np.argmax([found.log_evidence for found in best]))
    predictive = fits[k].predict(psi(GRID)[:, : WIDTHS[k]], best[k].prior_precision, SIGMA)
    return expected_nll(predictive, function(GRID)) - every[seed, 3].min()


learned = np.array([loss_with_learned_precision(seed) for seed in range(WIDTH_DRAWS)])
vague_loss = np.array([lost[:, k, 0] + every[:, 3, :, 0].min(1) - every[:, 3].min((1, 2)) for k in (0, 1)])
print("NLL above the best of the table (nats per point)")
for name, values in (
    (f"evidence, α = {PRECISIONS[0]:g}", vague_loss[0]),
    (f"leave-one-out, α = {PRECISIONS[0]:g}", vague_loss[1]),
    ("evidence, α learned", learned),
):
    print(f"{name:<26}{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(WIDTH_DRAWS):.3f}")

# %% [markdown]
# ## Answer
# | what is chosen | take |
# | --- | --- |
# | $\alpha$ and $\sigma$, model believed | the evidence: a little better, and steadier with few points |
# | $\alpha$ and $\sigma$, model doubted | both, and compare; leave-one-out wins where the truth is smoother |
# | width at a fixed, vague prior | leave-one-out; better still, learn $\alpha$ as well, by the evidence |
# | anything | not the shared score of a closed belief |


# %%
def in_errors(truth, count, rule):
    """The mean difference to the evidence in standard errors."""
    return margin[truth, count][rule] / standard_error[truth, count][rule]


assert in_errors("model", 100, 0) > 2
assert 0 < margin["model", 100][0] < 0.05
assert abs(margin["model", 300][0]) < 0.002
assert in_errors("smoother", 100, 0) < -3
assert in_errors("smoother", 300, 0) < -3
assert margin["jump", 300][0] > -0.002
assert all(in_errors(truth, count, 1) > 2 for truth in TRUTHS for count in SIZES[1:])
assert at_edge["model", 30] > 0.8
assert at_edge["model", 300] < 0.05
worst = {truth: (nll[truth, 30][:, 1] - nll[truth, 30][:, 0]).max() for truth in TRUTHS}
assert worst["model"] > 10
assert min((found[:, 1] - found[:, 0]).min() for found in nll.values()) > -0.5

vague, right_one = 0, list(PRECISIONS).index(1.0)
assert width[0, vague] < 6
assert width[1, vague] > 10
assert np.ptp(width[1, :4]) < 2
assert np.all(np.diff(width[0]) > 0)
assert loss[0, vague] - loss[1, vague] > 2 * np.hypot(loss_error[0, vague], loss_error[1, vague])
assert abs(loss[0, right_one] - loss[1, right_one]) < 0.03
assert learned.mean() < 0.5 * vague_loss[1].mean()
