"""Mean field of gated experts: what turns the verdict, and the likelihood of a row."""

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from corners.claims import mean_field_experts_are_calibrated as module
from corners.claims._base import HOLDS


def found():
    claim = module.MeanFieldExpertsAreCalibrated.example()
    return claim.check(claim.problem())


def test_broken_likelihood_turns_the_verdict(monkeypatch):
    """Truth without the noise of the latent precision is narrower than it is."""
    real = module.log_likelihood

    def broken(problem, centres):
        latent = centres
        return 0.5 * (latent - np.log(2.0 * np.pi) - problem.targets**2 * np.exp(latent)) + 0.0 * real(problem, centres)

    monkeypatch.setattr(module, "log_likelihood", broken)
    assert found().verdict == HOLDS


def test_broken_factorisation_turns_the_verdict(monkeypatch):
    """Were both runs structured, there would be nothing to complain of."""
    real = module._inferred
    monkeypatch.setattr(module, "_inferred", lambda problem, _: real(problem, "structured"))
    assert found().verdict == HOLDS


def test_the_likelihood_of_rows():
    """Gauss-Hermite against adaptive quadrature."""
    problem = module.MeanFieldExpertsAreCalibrated().problem()
    centres = problem.features @ np.array([0.6, -0.8])
    found = module.log_likelihood(problem, centres[None])[0]
    for row in range(0, problem.rows, 17):

        def density(z, row=row):
            return norm.pdf(z, centres[row], problem.noise_scale) * norm.pdf(
                problem.targets[row], 0.0, np.exp(-0.5 * z)
            )

        exact = quad(density, centres[row] - 6.0, centres[row] + 6.0)[0]
        np.testing.assert_allclose(found[row], np.log(exact), rtol=1e-7)
