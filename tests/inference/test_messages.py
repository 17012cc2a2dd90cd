"""Messages one factor at a time, and cavities without one row."""

import numpy as np
import pytest

import inference as P


@P.model
def regression(m, x, y):
    w = m.mvnormal("w", mean=0.0, precision=0.5, dim=x.shape[1])
    m.softdot("y", w, x, 4.0, observed=y, plates=m.plate("row", len(y)))


@P.model
def latent(m, x, y):
    w = m.mvnormal("w", mean=0.0, precision=0.5, dim=x.shape[1])
    z = m.softdot("z", w, x, 8.0, plates=m.plate("row", len(y)))
    m.normal("y", mean=z, precision=8.0, observed=y)


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    return {"x": rng.standard_normal((7, 2)), "y": rng.standard_normal(7)}


@pytest.mark.parametrize("model", [regression, latent])
@pytest.mark.parametrize("row", [0, 3, -1])
def test_the_cavity_is_the_posterior_of_the_other_rows(model, rows, row):
    """With a latent z the noise is 1/8 + 1/8 = 1/4: both models are the same regression."""
    cavity = P.infer(model, data=rows).messages["w"].cavity(row)
    others = {k: np.delete(v, row, axis=0) for k, v in rows.items()}
    expected = P.infer(regression, data=others).posteriors["w"]
    np.testing.assert_allclose(cavity.mean(), expected.mean(), rtol=1e-11)
    np.testing.assert_allclose(cavity.covariance, expected.covariance, rtol=1e-11)


def test_the_messages_multiply_to_the_posterior(rows):
    result = P.infer(regression, data=rows)
    into = result.messages["w"]
    assert into.factors == ("w", "y")
    linear, precision = (a + b for a, b in zip(into.naturals("w"), into.naturals("y"), strict=True))
    np.testing.assert_allclose(precision, result.posteriors["w"].precision, rtol=1e-13)
    np.testing.assert_allclose(np.linalg.solve(precision, linear), result.posteriors["w"].mean(), rtol=1e-12)
    np.testing.assert_allclose(into.naturals("y")[1], 4.0 * rows["x"].T @ rows["x"], rtol=1e-13)


def test_a_missing_row_sends_nothing(rows):
    gap = rows | {"y": np.where(np.arange(7) == 2, np.nan, rows["y"])}
    cavity = P.infer(regression, data=gap).messages["w"].cavity(2)
    np.testing.assert_allclose(cavity.mean(), P.infer(regression, data=gap).posteriors["w"].mean(), rtol=1e-12)


def test_what_is_not_there_is_named(rows):
    messages = P.infer(regression, data=rows).messages
    with pytest.raises(P.SpecError, match="no variable 'v'"):
        messages["v"]
    with pytest.raises(P.SpecError, match="outside plate 'row'"):
        messages["w"].cavity(7)
    with pytest.raises(P.SpecError, match="plate"):
        messages["w"].cavity(0, plate="column")
    with pytest.raises(P.SpecError, match="no factor 'x'"):
        messages["w"].naturals("x")
    with pytest.raises(P.NoRule, match="only the root"):
        P.infer(latent, data=rows).messages["z"]
