"""What all families share: looking them up, and what the package costs to import."""

import subprocess
import sys

import pytest

from inference.distributions import Distribution, Gamma
from inference.errors import SpecError


def test_families_are_found_by_name():
    assert Distribution.named("Gamma") is Gamma


@pytest.mark.parametrize("name", ["gamma", "Parametric", "Distribution"])
def test_an_unknown_family_lists_the_known_ones(name):
    with pytest.raises(SpecError, match=rf"no distribution '{name}'; there are Bernoulli, Beta, Gamma, .*StudentT"):
        Distribution.named(name)


def test_import_is_light():
    script = "import sys\nimport inference.distributions\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"scipy.stats", "scipy.integrate", "scipy.optimize", "torch", "corners"}
