"""Peer libraries of the baselines: imported when used; one that is missing or broken is named with the remedy."""

import importlib
import warnings
from importlib import metadata
from types import ModuleType

from corners.errors import UnavailableError

CLASHING_TORCHVISION = "operator torchvision::nms does not exist"
"""What torch's CPU build says beside a CUDA build of torchvision."""


def import_peer(package: str, remedy: str) -> ModuleType:
    """The package, or why it cannot be used and how to mend that.

    Raises
    ------
    UnavailableError : the package is missing, or importing it fails in whatever way; ``remedy`` ends the message.

    Example
    -------
    >>> import_peer("math", "nothing to do").sqrt(4.0)
    2.0
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a peer says of its own code is no concern of our users
            return importlib.import_module(package)
    except ModuleNotFoundError as error:
        missing = package if error.name == package else f"{error.name}, which {package} imports,"
        raise UnavailableError(f"{missing} is not installed; {remedy}") from error
    except Exception as error:  # a broken library can raise anything, RuntimeError of torch's operators included
        if CLASHING_TORCHVISION in str(error):
            raise UnavailableError(
                f"{package} cannot be imported ({CLASHING_TORCHVISION}): a CUDA build of torchvision stands beside the "
                "CPU build of torch; pip uninstall torchvision, which nothing here needs"
            ) from error
        raise UnavailableError(
            f"{package} is installed but broken ({type(error).__name__}: {error}); {remedy}"
        ) from error


def peer_version(distribution: str) -> str:
    """The installed version, "of unknown version" where the distribution left no metadata."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "of unknown version"
