"""Shared options: strict JSON, lists with commas, threads."""

import numpy as np
import pytest
import torch

from corners.cli.options import comma_separated, limit_threads, print_json


@pytest.mark.parametrize(
    ("given", "expected"), [(None, None), ("a", ["a"]), ("a, b", ["a", "b"]), (" a,,b, ", ["a", "b"]), (",", [])]
)
def test_lists_with_commas(given, expected):
    assert comma_separated(given) == expected


def test_json_has_no_nan_and_keeps_letters(capsys):
    print_json([{"name": "größe", "mean": None}])
    assert "größe" in capsys.readouterr().out
    with pytest.raises(ValueError, match="JSON"):
        print_json([{"mean": np.nan}])


def test_threads_are_limited():
    before = torch.get_num_threads()
    try:
        limit_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
