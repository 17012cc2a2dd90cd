"""What a reader who has not read the theory needs: the design space in a paragraph, and the words of the report."""

INTRODUCTION = (
    "A network's last layer is linear: the prediction is the inner product of weights and features. Here only those "
    "weights are uncertain; they get a Gaussian belief, and the network below them gets none. Two choices span the "
    "methods compared.",
    "The first choice is the cavity: which data the belief may have seen when it scores a data point. Sequential: only "
    "the points before it. Leave-one-out: all points but it. Shared: all points, it included.",
    "The second choice is the routing: closed, the belief is the exact posterior given the current features, or free, "
    "the belief's mean and covariance are trained like any other parameter. Three cavities and two routings make six "
    "cells, of which four exist: a free belief has no meaning without the shared cavity. Sequential closed is the "
    "Bayesian evidence; shared free is SCROLL. Methods that are not cells of this table are there as points of "
    "comparison.",
)

CELLS = (
    ("", "closed: the exact posterior", "free: trained"),
    ("sequential", "evidence, also called neural-linear", "not defined"),
    ("leave-one-out", "leave-one-out predictive likelihood", "not defined"),
    ("shared", "shared closed", "SCROLL, with covariance none, diagonal, low rank or dense"),
)

GLOSSARY = (
    (
        "belief",
        "The Gaussian over the last layer's weights that a method predicts with: a mean and a covariance. A method "
        "with covariance none predicts with one weight vector.",
    ),
    (
        "Bethe",
        "The objective that scores each data point by the logarithm of its averaged likelihood, "
        "−log ∫ p(y | f) q(f) df, and adds an overlap term of belief and prior.",
    ),
    (
        "calibration error",
        "For 19 levels from 5 % to 95 %: how far the share of test points inside the central interval is from the "
        "level, averaged. A perfectly calibrated method still scores about 0.3/√N on N test points.",
    ),
    ("cavity", "Which data the belief has seen when it scores a data point: sequential, leave-one-out or shared."),
    (
        "closed",
        "Routing in which the belief is not trained: it is the exact posterior given the features, the noise and the "
        "prior precision.",
    ),
    ("coverage", "Share of test points inside the central 90 % predictive interval; right is 0.90, not 1."),
    (
        "CRPS",
        "Continuous ranked probability score, in units of the target: the absolute error of a point forecast, "
        "generalised to a whole distribution. Lower is better.",
    ),
    (
        "ELBO",
        "The variational objective, negated here: expected negative log likelihood under the belief plus the "
        "Kullback-Leibler divergence from the prior.",
    ),
    (
        "evidence",
        "The probability of all targets under the model with the weights integrated out; also called the marginal "
        "likelihood.",
    ),
    (
        "free",
        "Routing in which the belief's mean and covariance are parameters of their own. What comes out fits the data; "
        "it is not an approximation to the posterior, and nothing makes it close to one.",
    ),
    ("MAP", "One weight vector, the most probable one; the belief has no width."),
    ("nat", "Unit of log probability with the natural logarithm; 0.69 nats are one bit."),
    (
        "NLL",
        "Negative log predictive density, mean over test points, in nats per point on the target's original scale. "
        "Lower is better; changing the unit of the target by a factor a shifts every value by log a.",
    ),
    (
        "noise share",
        "Part of the predictive variance that is noise of the observations rather than width of the belief.",
    ),
    (
        "NUTS",
        "A sampler that draws from the exact posterior. Its draws are used as the truth only after they passed a gate "
        "of convergence checks.",
    ),
    ("PIT", "The predictive distribution function at the observed target; uniform if the predictive is right."),
    (
        "prior precision",
        "One over the prior variance of a weight: the larger, the stronger the pull of the weights to zero.",
    ),
    ("routing", "How the belief comes about: closed or free."),
    (
        "seed",
        "One repetition: it sets the initial weights and, where the data have no split of their own, the split into "
        "training, validation and test part. Methods are compared seed by seed.",
    ),
)

TASK_WORDS = {
    "regression": (),
    "classification": (
        ("accuracy", "Share of test points whose most probable class is the right one. Higher is better."),
        (
            "aleatoric and epistemic",
            "The two parts of a prediction's entropy: what is left given a draw of the belief, and what the draws "
            "disagree about. More data would remove the second one.",
        ),
        (
            "Brier score",
            "Mean squared distance of the class probabilities from the class that came, summed over the classes: "
            "between 0 and 2, lower is better.",
        ),
        (
            "ECE",
            "Expected calibration error: how far the share of right predictions is from the confidence, averaged over "
            "bins of confidence. Adaptive: bins of equal counts. Classwise: for the probability of every class.",
        ),
        (
            "one-versus-all",
            "A head with one yes-or-no function a class. Its training loss is no proper score of the class "
            "probabilities, which are normalised afterwards; the scores are those of the normalised ones.",
        ),
        (
            "ordinal",
            "A head that cuts one noisy function into classes by thresholds; of two classes it is the probit with a "
            "threshold.",
        ),
        ("probit", "A head of two classes: the probability is the normal distribution function of the latent value."),
        (
            "selective prediction",
            "Predicting only the points one is most confident about. The area under the curve of the error rate "
            "against the share predicted is small where confidence and being right go together.",
        ),
    ),
    "count": (
        (
            "negative binomial",
            "A distribution of counts whose variance exceeds the mean: a Poisson whose rate varies by a Gamma factor.",
        ),
        ("Poisson", "The distribution of counts at a known rate; its variance is its mean."),
        (
            "randomised PIT",
            "The PIT of a count, spread evenly over the step that the distribution function makes there: uniform if "
            "the predictive is right.",
        ),
    ),
}
"""What is added to the glossary where there are tables of a task."""
