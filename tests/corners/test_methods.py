"""The method laws over every cell and every registered reference."""

import pytest

from corners.study import method_names
from tests.support.laws import method_laws as laws
from tests.support.truths import Sampler

pytestmark = pytest.mark.unchecked

NAMES = method_names()
OF_NAME = ["progress_is_told", "one_split_a_seed", "specification_is_frozen", "another_task_is_refused"]
OF_FIT = [
    "learned",
    "last_layer_is_the_predictive",
    "features",
    "wrong_inputs_are_refused",
    "an_unusable_replicate_refuses_to_predict",
]
OF_BOTH = [
    "promises",
    "predictions",
    "same_seed_same_numbers",
    "a_replicate_is_that_run_alone",
    "splits_of_other_shapes",
]


def test_no_law_is_forgotten():
    written = {name.removeprefix("check_") for name in dir(laws) if name.startswith("check_")}
    assert written == {*OF_NAME, *OF_FIT, *OF_BOTH}


@pytest.fixture(scope="module", autouse=True)
def exact_draws():
    """Exact draws instead of NUTS: the sampler has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corners.baselines._sampling.sample_layer", Sampler())
        yield


@pytest.fixture(scope="module")
def fits():
    """Each method is fitted once a module."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = laws.fit(name)
        return made[name]

    return get


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", OF_NAME)
def test_law_of_the_method(name, law):
    getattr(laws, f"check_{law}")(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", OF_FIT)
def test_law_of_the_fit(name, law, fits):
    getattr(laws, f"check_{law}")(fits(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", OF_BOTH)
def test_law_of_both(name, law, fits):
    getattr(laws, f"check_{law}")(name, fits(name))
