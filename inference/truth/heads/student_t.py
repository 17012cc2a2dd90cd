"""Student-t head: y = f + s t_ν, for targets with outliers (theory 6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from inference.errors import SpecError
from inference.truth.heads import HEADS
from inference.truth.heads._base import Head, Parameter
from inference.truth.priors import Prior
from inference.types import Array, Float


@HEADS.register
@dataclass(frozen=True)
class StudentT(Head):
    r"""$\log p(y\mid f)=\log t_\nu((y-f)/s)-\log s$ with ``scale`` s and ``df`` $\nu$, which is held fixed.

    The likelihood is not log-concave in f, so that a posterior of few data can have several modes: then chains disagree
    and the gate refuses them.

    Raises
    ------
    SpecError : a parameter that is not positive and finite, or a density for ``df``.

    Example
    -------
    >>> at_centre = StudentT.log_prob(np.zeros(1), np.zeros((1, 1)), {"scale": 1.0, "df": 4.0})
    >>> float(np.exp(at_centre[0, 0]).round(15))  # t_4 has density 3/8 at its centre
    0.375
    """

    scale: Parameter = 1.0
    df: float = 4.0
    name: ClassVar[str] = "student_t"

    def __post_init__(self) -> None:
        if isinstance(self.df, Prior):
            raise SpecError(f"StudentT: df is held fixed, the data know little of it; give a number, not {self.df}")
        super().__post_init__()

    def parameters(self) -> dict[str, Parameter]:
        """Scale and degrees of freedom."""
        return {"scale": self.scale, "df": self.df}

    def check_targets(self, targets: Float[Array, " N"]) -> None:
        """Any finite numbers."""

    def guess(self, targets: Float[Array, " N"]) -> dict[str, float]:
        """Half of the spread of the targets."""
        return {"scale": 0.5 * float(targets.std()) or 1.0}

    @classmethod
    def log_prob(
        cls, targets: Float[Array, " N"], latent: Float[Array, "S N"], parameters: Mapping[str, Array | float]
    ) -> Float[Array, "S N"]:
        r"""$\log\Gamma(\frac{\nu+1}2)-\log\Gamma(\frac\nu2)-\frac12\log\pi\nu-\log s-\frac{\nu+1}2\log(1+z^2/\nu)$."""
        scale, df = parameters["scale"], np.asarray(parameters["df"], np.float64)
        constant = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
        return constant - np.log(scale) - 0.5 * (df + 1.0) * np.log1p(((targets - latent) / scale) ** 2 / df)

    @classmethod
    def graph(cls, pt: Any, targets: Any, latent: Any, parameters: Mapping[str, Any]) -> Any:
        """The same."""
        scale, df = parameters["scale"], parameters["df"]
        constant = pt.gammaln(0.5 * (df + 1.0)) - pt.gammaln(0.5 * df) - 0.5 * pt.log(np.pi * df)
        return constant - pt.log(scale) - 0.5 * (df + 1.0) * pt.log1p(((targets - latent) / scale) ** 2 / df)
