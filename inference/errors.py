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


class ImproperMarginal(InferenceError, ValueError):  # noqa: N818 (the name that message_passing 1.8 gives it)
    """The messages that meet on a variable do not multiply to a distribution; the text names the variable."""


class Diverged(InferenceError, ArithmeticError):  # noqa: N818
    """An update left the range of float64; the text names the block and what makes a free energy unbounded."""


class NoRule(InferenceError, LookupError):  # noqa: N818 (the name that message_passing 7 gives it)
    """No rule sends a message here; the text names node, port, what was given, what exists and what would help."""


class LoopyBP(UserWarning):
    """A Gaussian cluster has loops and is too large to be solved exactly, so it was split."""


class Stalled(UserWarning):
    """No step of a structured cluster lowered the free energy: its marginals stay, and a quiet trace proves nothing."""


class DualProjection(UserWarning):
    """The published dual projection was asked for; its free energy bounds nothing."""
