"""Refusals that the type checks of this test run would pre-empt: what a user without them reads."""

import json

import pytest

from tests.architecture.sources import in_fresh_python

EXPECTED = {
    "a size that is no whole number": "a plate is a name and a size, as in m.plate('row', len(y)); got 'row' and 2.5",
    "an array as size": "a plate is a name and a size",
    "truth as size": "a plate is a name and a size",
    "a plate without a name": "a plate is a name and a size",
    "a number as plates": "plates are made by m.plate(name, size); got 3",
    "a name as plates": "plates are made by m.plate(name, size); got 'row'",
    "a number as name": "m.normal takes a name first, or a variable that gets one more factor; got 3",
    "no name": "m.normal takes a name first",
    "a number as start of a chain": "chain 'x' starts at a Gaussian, P.Normal or P.MvNormal, not at 3.0",
    "a list as data": "data are given by name, as in dict(y=...); got a list",
    "a sub-model without its builder": "is called inside another model, level(m, ...); to run it: infer(level",
    "a number as constraint": "3 is no constraint; there are MeanField()",
    "a class as constraint": "is no constraint; there are MeanField()",
    "numbers in MeanField": "MeanField takes names",
    "numbers in Structured": "Structured takes tuples of names",
    "a number to fix at": "Fixed takes a name and a distribution, a known value being P.PointMass; got 3.0",
    "a number to start from": "'mu' takes a distribution, a known value being P.PointMass; got 3.0",
    "a function as model": "infer takes a model made by @model",
    "a function to look at": "graph takes a model made by @model, or the graph of a result",
}

SCRIPT = """
import json
import numpy as np
import inference as P
from inference.builder import Builder

@P.model
def level(m, y):
    mu = m.normal("mu", mean=0.0, precision=1.0)
    m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))

def run(**given):
    return P.infer(level, **({"data": dict(y=[1.0])} | given))

m = Builder("test", {})
step = lambda a: dict(mean=a, precision=1.0)
attempts = {
    "a size that is no whole number": lambda: m.plate("row", 2.5),
    "an array as size": lambda: m.plate("row", np.zeros(3)),
    "truth as size": lambda: m.plate("row", True),
    "a plate without a name": lambda: m.plate(3, 3),
    "a number as plates": lambda: m.normal("x", 0.0, 1.0, plates=3),
    "a name as plates": lambda: m.normal("x", 0.0, 1.0, plates="row"),
    "a number as name": lambda: m.normal(3, 0.0, 1.0),
    "no name": lambda: m.normal((), 0.0, 1.0),
    "a number as start of a chain": lambda: m.chain("x", start=3.0, step=step, length=2),
    "a list as data": lambda: run(data=[1.0]),
    "a sub-model without its builder": lambda: level(dict(y=[1.0])),
    "a number as constraint": lambda: run(constraints=3),
    "a class as constraint": lambda: run(constraints=[P.MeanField]),
    "numbers in MeanField": lambda: P.MeanField(3),
    "numbers in Structured": lambda: P.Structured((1, 2)),
    "a number to fix at": lambda: P.Fixed("mu", 3.0),
    "a number to start from": lambda: run(init={"mu": 3.0}),
    "a function as model": lambda: P.infer(lambda m: None),
    "a function to look at": lambda: P.graph(lambda m: None),
}
said = {}
for name, attempt in attempts.items():
    try:
        attempt()
        said[name] = "not refused"
    except P.InferenceError as error:
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
