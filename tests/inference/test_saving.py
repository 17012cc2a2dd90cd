"""Results on disk: whole, readable without pickle, and predicting as the fresh ones do."""

import json
import subprocess
import sys

import numpy as np
import pytest

import inference as P
from inference.errors import FormatError


@P.model
def experts(m, phi, yhat, y, *, w_prec=0.5, scale=None):
    obs, ex = m.plate("obs", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=w_prec, dim=phi.shape[1], plates=ex)
    tau = m.gamma("tau", shape=2.0, rate=1.0, plates=ex)
    z = m.softdot("z", w, phi, tau, plates=(obs, ex))
    m.normal("yhat", mean=y, precision=m.exp("gamma", z), observed=yhat, plates=(obs, ex))


@P.model
def conjugate(m, x, y):
    w, tau = m.normal_gamma(("w", "tau"), mean=0.0, precision=1.0, shape=2.0, rate=1.0, dim=x.shape[1])
    m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))


@pytest.fixture
def data():
    rng = np.random.default_rng(8)
    y = rng.standard_normal(15)
    return {"phi": rng.standard_normal((15, 2)), "yhat": y[:, None] + rng.standard_normal((15, 2)), "y": y}


def test_a_loaded_result_predicts_bit_for_bit(data, tmp_path):
    fresh = P.infer(experts, data=data | {"w_prec": 0.3}, iterations=30)
    fresh.save(tmp_path / "experts.npz")
    loaded = P.load(tmp_path / "experts.npz", model=experts)
    new = {"phi": data["phi"][:4], "yhat": data["yhat"][:4]}
    for mode, options in [("forward", {}), ("mixture", {"seed": 4, "n_samples": 5})]:
        one, other = fresh.predict(new, mode, **options), loaded.predict(new, mode, **options)
        assert np.array_equal(one.mean(), other.mean())
        assert np.array_equal(one.var(), other.var())
    assert np.array_equal(loaded.free_energy, fresh.free_energy)
    assert loaded.posteriors.keys() == fresh.posteriors.keys()
    assert (loaded.converged, loaded.n_iter, loaded.reason) == (fresh.converged, fresh.n_iter, fresh.reason)
    assert str(loaded).startswith("experts: free energy")


def test_it_loads_in_a_new_process_without_the_model(data, tmp_path):
    fresh = P.infer(experts, data=data, iterations=5)
    fresh.save(tmp_path / "experts.npz")
    code = (
        "import inference as P, sys; r = P.load(sys.argv[1]); print(repr(float(r.posteriors['tau'].rate[1]))); "
        "assert 'torch' not in sys.modules and 'pymc' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "experts.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) == fresh.posteriors["tau"].rate[1]


def test_normal_gamma_results_keep_their_pair(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((9, 2)), rng.standard_normal(9)
    fresh = P.infer(conjugate, data={"x": x, "y": y})
    fresh.save(tmp_path / "pair.npz")
    loaded = P.load(tmp_path / "pair.npz", model=conjugate)
    one, other = fresh.predict({"x": x[:3]}), loaded.predict({"x": x[:3]})
    assert isinstance(other, P.StudentT)
    assert np.array_equal(one.logpdf(np.zeros(3)), other.logpdf(np.zeros(3)))


@pytest.mark.parametrize(
    "constraint",
    [
        P.MeanField(),
        P.MeanField("tau"),
        P.Structured(("w", "z")),
        "q(w,z)q(tau)",
        P.Form("z", "gaussian"),
        P.Fixed("tau", P.Gamma(3.0, 2.0)),
    ],
)
def test_constraints_come_back(data, tmp_path, constraint):
    fresh = P.infer(experts, data=data, constraints=[constraint], iterations=3)
    fresh.save(tmp_path / "r.npz")
    (back,) = P.load(tmp_path / "r.npz").constraints
    assert type(back) is type(constraint)
    if isinstance(constraint, P.Fixed):
        assert back.variable == "tau"
        assert float(back.distribution.rate) == 2.0
    else:
        assert back == constraint


def test_without_a_model_predicting_says_what_to_do(data, tmp_path):
    P.infer(experts, data=data, iterations=3).save(tmp_path / "r.npz")
    with pytest.raises(P.SpecError, match="model="):
        P.load(tmp_path / "r.npz").predict({"phi": data["phi"], "yhat": data["yhat"]})
    with pytest.raises(P.SpecError, match="not of 'conjugate'"):
        P.load(tmp_path / "r.npz", model=conjugate)


def test_files_that_are_no_results_are_refused(data, tmp_path):
    with pytest.raises(FormatError, match="no file"):
        P.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(FormatError, match="damaged"):
        P.load(tmp_path / "text.npz")
    path = tmp_path / "r.npz"
    P.infer(experts, data=data, iterations=2).save(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(FormatError, match="damaged"):
        P.load(path)
    header = np.frombuffer(
        json.dumps({"kind": "bethe-corners inference result", "format": 99}).encode(), dtype=np.uint8
    )
    np.savez(tmp_path / "newer.npz", header=header)
    with pytest.raises(FormatError, match="newer version"):
        P.load(tmp_path / "newer.npz")


def test_a_constant_that_cannot_be_saved_is_named(data, tmp_path):
    result = P.infer(experts, data=data | {"scale": {"a": 1}}, iterations=2)
    with pytest.raises(P.SpecError, match="'scale' is a dict"):
        result.save(tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


def test_to_dict_holds_plain_values(data):
    given = P.infer(experts, data=data, iterations=2).to_dict()
    assert given["posteriors"]["tau"]["family"] == "Gamma"
    assert given["posteriors"]["tau"]["rate"].shape == (2,)
    assert given["plan"] == "q(w, z, gamma)q(tau)"
