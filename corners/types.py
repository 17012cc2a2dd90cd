"""The letters used in every shape annotation, and the array types that carry them.

===== ==============================================================
``*B``  leading replicate dimensions (seeds, splits); may be absent
``N``   data points (plates)
``D``   input columns
``H``   features of the last layer
``R``   rank of a low-rank covariance factor
``S``   draws of a sampler, or components of a mixture
===== ==============================================================

Arrays are numpy here: only modules that compute with torch import it.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

Array = np.ndarray

__all__ = ["Array", "Bool", "Float", "Int"]
