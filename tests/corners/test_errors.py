"""Our errors: one base to catch, the built-in kin that callers expect, and messages as sentences."""

import inspect

import pytest

from corners import errors

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == "corners.errors"]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_one_of_ours_with_its_message_as_it_is(error):
    raised = error("no cavity is called 'x'")
    assert isinstance(raised, errors.CornersError)
    assert str(raised) == "no cavity is called 'x'"


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.DataError, ValueError),
        (errors.SpecError, ValueError),
        (errors.ImpossibleCellError, errors.SpecError),
        (errors.UnknownNameError, KeyError),
        (errors.NotPositiveDefiniteError, ArithmeticError),
        (errors.UnavailableError, RuntimeError),
        (errors.TruthError, RuntimeError),
        (errors.OutputError, OSError),
    ],
)
def test_kinship(error, builtin):
    assert issubclass(error, builtin)
