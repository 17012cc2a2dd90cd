"""The letters used in every shape annotation, and the array types that carry them.

========= ===============================================================
``N``     data points (plates)
``M``     new points at which something is predicted
``H``     features of the last layer
``S``     draws of a sampler, all chains together
``P``     coordinates that a sampler moves (weights and hyperparameters)
``chains`` ``draws``  the two axes of draws that are still kept apart
========= ===============================================================
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

Array = np.ndarray

if TYPE_CHECKING:
    Values = np.ndarray
else:
    # Arithmetic on arrays without axes leaves numpy's scalars, which do all that such an array does.
    Values = np.ndarray | np.generic

__all__ = ["Array", "Bool", "Float", "Int", "Values"]
