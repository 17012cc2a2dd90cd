"""The errors a user can meet: each says what was given, what is allowed and what to do."""


class CornersError(Exception):
    """Base of every error this package raises on purpose."""


class DataError(CornersError, ValueError):
    """The data cannot be used as given (shape, type, NaN or infinity, too few rows)."""


class SpecError(CornersError, ValueError):
    """A specification is contradictory, impossible or out of range."""


class ImpossibleCellError(SpecError):
    """A cavity and a routing that do not go together; the message gives the reason of theory 2."""


class UnknownNameError(CornersError, KeyError):
    """A registry does not know the name; the message lists the names it knows."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the repr


class NotPositiveDefiniteError(CornersError, ArithmeticError):
    """A matrix that must be positive definite is not, even after the largest jitter allowed."""


class UnavailableError(CornersError, RuntimeError):
    """An optional peer library is missing or broken; the message says which, why and how to mend it."""


class TruthError(CornersError, RuntimeError):
    """A sampler run failed its gate and may not be used as ground truth."""


class OutputError(CornersError, OSError):
    """A file or folder cannot be written."""
