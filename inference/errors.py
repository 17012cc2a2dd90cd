"""The errors a user of ``inference`` can meet: each says what was given, what is allowed and what to do."""


class InferenceError(Exception):
    """Base of every error this package raises on purpose."""


class DataError(InferenceError, ValueError):
    """The data cannot be used as given (shape, type, NaN or infinity, no rows)."""


class SpecError(InferenceError, ValueError):
    """A specification is contradictory, impossible or out of range."""


class TruthError(InferenceError, RuntimeError):
    """A sampler run failed its gate and may not be used as ground truth."""


class FormatError(InferenceError, ValueError):
    """A file is not a saved reference posterior, is damaged, or was written by a newer version."""


class UnavailableError(InferenceError, RuntimeError):
    """An optional library is missing or broken; the message says which, why and how to mend it."""
