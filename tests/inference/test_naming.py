"""A misspelled name is answered with the closest known one, and with nothing where none is close."""

import pytest

from inference.naming import meant


@pytest.mark.parametrize(
    ("given", "known", "said"),
    [
        (["taux"], ["tau", "w"], "'taux' (did you mean 'tau'?)"),
        (["a", "wieghts"], ["weights"], "'a', 'wieghts' (did you mean 'weights'?)"),
        (["TAU"], ["tau"], "'TAU' (did you mean 'tau'?)"),
        (["x"], [], "'x'"),
        ([3], ["tau"], "3"),
        ([], ["tau"], ""),
    ],
)
def test_the_closest_name_is_suggested(given, known, said):
    assert meant(given, known) == said
