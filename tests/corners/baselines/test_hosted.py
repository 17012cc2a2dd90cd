"""Replicates on another fit's last layer: one that fails is said, the others go on, and other errors are not hidden."""

import pytest

from corners.baselines._hosted import replicate_by_replicate
from corners.errors import DataError
from corners.method import FitStatus


def fit_one(replicate: int) -> FitStatus:
    if replicate == 1:
        raise DataError("the second is broken")
    return FitStatus("converged")


def test_a_failed_replicate_is_said_and_the_others_go_on():
    heard = []
    statuses = replicate_by_replicate(3, fit_one, lambda *said: heard.append(said[:2]))
    assert [status.code for status in statuses] == ["converged", "failed", "converged"]
    assert "the second is broken" in statuses[1].sentence
    assert heard == [(1, 2), (2, 1), (3, 0)]


def test_an_error_that_is_not_ours_is_raised():
    def broken(replicate: int) -> FitStatus:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        replicate_by_replicate(1, broken, None)
