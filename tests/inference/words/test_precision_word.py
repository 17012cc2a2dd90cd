"""The precision word by itself: what it makes, what it refuses, and that words stack (message passing 4.2, 4.7)."""

import numpy as np
import pytest

import inference as P
from inference.building import Builder
from inference.words import precision_word


@pytest.fixture
def m():
    return Builder("one", {})


def test_names_plates_and_types(m):
    rows, experts = m.plate("row", 4), m.plate("expert", 3)
    features = np.ones((4, 2))
    gamma = precision_word(m, "pi", features, plates=(rows, experts), outer=experts, rate_prior=(1.0, 2.0))
    made = m.graph().variables
    assert set(made) == {"pi.w", "pi.tau", "pi.z", "pi.gamma", "pi.beta"}
    assert made["pi.gamma"] is gamma and gamma.type == "positive" and gamma.shape == (4, 3)
    assert made["pi.w"].shape == (3, 2) and made["pi.tau"].shape == made["pi.beta"].shape == (3,)


def test_without_a_name_there_is_no_prefix_and_a_known_noise_makes_no_variable(m):
    precision_word(m, "", np.ones((4, 2)), plates=m.plate("row", 4), noise=3.0)
    assert set(m.graph().variables) == {"w", "z", "gamma"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"noise": (1.0, 2.0, 3.0)}, r"'pi.tau' is a pair \(shape, rate\)"),
        ({"rate_prior": 1.0}, r"'pi.beta' is a pair \(shape, rate\)"),
        ({"jacobian": 2}, r"jacobian 0 .* or 1"),
    ],
)
def test_priors_of_the_wrong_form_are_refused(m, options, said):
    with pytest.raises(P.SpecError, match=said):
        precision_word(m, "pi", np.ones((4, 2)), plates=m.plate("row", 4), **options)


def test_features_need_an_axis(m):
    with pytest.raises(P.SpecError, match=r"'pi\.w' need features with a last axis"):
        precision_word(m, "pi", 1.0, plates=m.plate("row", 4))


@P.model
def stacked(m, phi, y):
    """A heteroscedastic series whose log precision has a noise that depends on the features itself."""
    rows = m.plate("row", len(y))
    tau = precision_word(m, "tau", phi, plates=rows, weights_precision=4.0, noise=2.0)
    gamma = precision_word(m, "pi", phi, plates=rows, weights_precision=4.0, noise=tau)
    m.normal("y", mean=0.0, precision=gamma, observed=y, plates=rows)


def drawn(rows=40):
    generator = np.random.default_rng(3)
    phi = np.column_stack([generator.standard_normal(rows), np.ones(rows)])
    tau = np.exp(phi @ [0.5, 1.0] + generator.standard_normal(rows) / np.sqrt(2.0))
    z = phi @ [1.0, -0.5] + generator.standard_normal(rows) / np.sqrt(tau)
    return {"phi": phi, "y": np.exp(-0.5 * z) * generator.standard_normal(rows)}


@pytest.mark.parametrize("last", ["tau.z", "pi.z"])
def test_a_word_is_the_noise_of_another(last):
    """4.7: the far side of the inner pair is ``s = 1/2, c = S/2``; what is updated last is a stationary point."""
    data, blocks = drawn(), ["pi.w", "tau.w", "tau.z", "pi.z"]
    order = [*(name for name in blocks if name != last), last]
    q = P.infer(stacked, data=data, constraints=P.MeanField(), iterations=4, order=order).posteriors
    phi = data["phi"]

    def score(name):
        """Mean and variance of w'phi."""
        return phi @ q[name].mean(), np.einsum("ni,ij,nj->n", phi, q[name].covariance, phi)

    mean, spread = score("pi.w")
    if last == "tau.z":
        p, mu, c = 2.0, score("tau.w")[0], 0.5 * ((q["pi.z"].mean() - mean) ** 2 + q["pi.z"].var() + spread)
    else:
        p, mu, c = q["tau.gamma"].mean(), mean, 0.5 * data["y"] ** 2
    z = q[last]
    pull = c * np.exp(z.mean() + 0.5 * z.var())
    np.testing.assert_allclose(z.var(), 1.0 / (p + pull), rtol=1e-9)
    np.testing.assert_allclose(z.mean(), mu + (0.5 - pull) / p, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["joint", "apart"])
def test_no_block_of_a_stack_raises_the_free_energy(constraints):
    r = P.infer(stacked, data=drawn(), constraints=constraints, free_energy="blocks", iterations=30)
    energies = np.array([energy for _, energy in r.free_energy_blocks])
    assert (np.diff(energies) <= 1e-9 * (1.0 + np.abs(energies[:-1]))).all()
