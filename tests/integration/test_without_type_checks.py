"""Refusals that the type checks of this test run would pre-empt: what a user without them reads."""

import json

import pytest

from tests.architecture.sources import in_fresh_python

EXPECTED = {
    "a module whose output is no (N, H)": "must map (N, D) to (N, H); for inputs of shape (2, 2) it gave",
    "a function as a module": "torch.nn.Module; got function",
    "a number as cavity": "registry name",
    "nothing as routing": "registry name",
    "a number as covariance": "registry name",
    "a name as likelihood": "likelihood",
    "a cell as a method": "method",
    "a number as a method": "method",
    "one seed that is no list": "seeds",
    "seeds in a text": "seed",
    "a seed that is no whole number": "seed is 1.5",
    "a name as data": "load it first: corners.load('diabetes')",
    "a number as data": "give a Dataset, a Split or a list of Splits",
    "a column of targets to a cell": "got (5, 1)",
    "a column of targets to map": "got (5, 1)",
    "a column of targets to a Gaussian process": "got (5, 1)",
}

SCRIPT = """
import json
from torch import Generator, float64, nn
from corners.backbones.identity import Identity
from corners.backbones.module import Module
from corners.engine.corner import Corner
from corners.errors import CornersError
from corners.study import compare, make_method
from tests.support.problems import TINY_PROTOCOL, tiny_split

split = tiny_split(1)

def run(data=split, methods=("sequential",), seeds=(5,)):
    return compare(data, list(methods), seeds=seeds, backbone=Identity(), protocol=TINY_PROTOCOL)

def column(name):
    fit = make_method(name, protocol=TINY_PROTOCOL, backbone=Identity()).fit([split], [5])
    return fit.predict(split.test.inputs).log_prob(split.test.targets[:, None])

odd = nn.Sequential(nn.Linear(2, 6), nn.Unflatten(1, (2, 3)))
attempts = {
    "a module whose output is no (N, H)": lambda: Module(odd).init(2, [Generator()], float64),
    "a function as a module": lambda: Module(lambda x: x),
    "a number as cavity": lambda: Corner(3, "free", "dense"),
    "nothing as routing": lambda: Corner("shared", None, "dense"),
    "a number as covariance": lambda: Corner("shared", "free", 3),
    "a name as likelihood": lambda: Corner("shared", "free", "dense", likelihood="gaussian"),
    "a cell as a method": lambda: run(methods=[Corner("sequential", "closed", "dense")]),
    "a number as a method": lambda: run(methods=[3]),
    "one seed that is no list": lambda: run(seeds=5),
    "seeds in a text": lambda: run(seeds="56"),
    "a seed that is no whole number": lambda: run(seeds=[1.5]),
    "a name as data": lambda: run("diabetes"),
    "a number as data": lambda: run(3),
    "a column of targets to a cell": lambda: column("sequential"),
    "a column of targets to map": lambda: column("map"),
    "a column of targets to a Gaussian process": lambda: column("gaussian_process"),
}
said = {}
for name, attempt in attempts.items():
    try:
        attempt()
        said[name] = "not refused"
    except CornersError as error:
        said[name] = str(error)
    except Exception as error:
        said[name] = f"a stranger's {type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each attempt was answered."""
    ran = in_fresh_python(SCRIPT)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("attempt", EXPECTED)
def test_it_is_refused_in_words(said, attempt):
    assert EXPECTED[attempt] in said[attempt] and "stranger" not in said[attempt]
