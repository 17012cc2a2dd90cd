import subprocess
import sys

import pytest

import inference


def loaded_by(statement):
    script = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


SAMPLERS = {"pymc", "pytensor", "arviz", "numba", "xarray", "pandas"}


def test_import_is_light():
    assert not loaded_by("import inference, inference.truth") & (SAMPLERS | {"numpy", "scipy", "torch"})


def test_references_are_read_with_numpy_alone():
    statement = "import inference.truth.reference, inference.truth.storage, inference.truth.distances"
    assert not loaded_by(statement) & (SAMPLERS | {"scipy", "torch", "corners"})


def test_neither_torch_nor_corners_is_ever_needed():
    assert not loaded_by("import inference.truth.nuts") & (SAMPLERS | {"torch", "corners"})


def test_every_listed_name_is_there():
    assert {"truth", "__version__"} <= set(dir(inference))
    for name in inference.truth.__all__:
        assert getattr(inference.truth, name).__doc__, name
    assert set(dir(inference.truth)) == set(inference.truth.__all__)


@pytest.mark.parametrize("module", [inference, inference.truth])
def test_an_unknown_name_lists_the_known_ones(module):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'; it has"):
        _ = module.nothing
