"""What early stopping cost: test NLL at the selected step against the lowest on the trajectory."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corners.errors import DataError
from corners.method import Trace

LARGE_GAP = 0.05


@dataclass(frozen=True)
class OracleGap:
    """The selected and the oracle step of one replicate, with their test NLL in nats per observation.

    The oracle looks at the test part: it is a diagnostic and never selects anything.
    """

    selected_step: float
    selected_test_nll: float
    oracle_step: float
    oracle_test_nll: float

    @property
    def gap(self) -> float:
        """Test NLL at the selected step minus the lowest on the trajectory; never negative."""
        return self.selected_test_nll - self.oracle_test_nll

    @property
    def large(self) -> bool:
        """Whether the gap exceeds 0.05 nats per observation (theory 7.4)."""
        return self.gap > LARGE_GAP

    @property
    def sentence(self) -> str:
        """The gap in words, with the remedy of theory 7.4 where it is large."""
        text = (
            f"stopping at step {self.selected_step:g} costs {self.gap:.3f} nats per observation against the best step "
            f"{self.oracle_step:g} of the trajectory"
        )
        return text + ("; combined stopping (validation NLL and calibration error) may help" if self.large else "")

    def __str__(self) -> str:
        return self.sentence

    def records(self) -> list[dict[str, Any]]:
        """One flat row."""
        return [{**asdict(self), "gap": self.gap, "large": self.large}]


def oracle_gap(trace: Trace, replicate: int = 0) -> OracleGap:
    """Selected step = first lowest validation NLL; oracle = lowest test NLL on the trajectory (theory 11).

    Steps after a replicate stopped (NaN) are not on its trajectory.

    Raises
    ------
    DataError : ``validation_nll`` or ``test_nll`` was not recorded, or never both at one step.

    Example
    -------
    >>> import numpy as np
    >>> nll = {"validation_nll": np.array([[2.0, 1.0]]), "test_nll": np.array([[2.5, 3.0]])}
    >>> oracle_gap(Trace(np.array([0.0, 10.0]), nll)).gap
    0.5
    """
    missing = [key for key in ("validation_nll", "test_nll") if key not in trace.values]
    if missing:
        raise DataError(f"the trace has no {' and no '.join(missing)}; it recorded {sorted(trace.values) or 'nothing'}")
    validation, test = (np.asarray(trace.values[key])[replicate] for key in ("validation_nll", "test_nll"))
    known = np.flatnonzero(np.isfinite(validation) & np.isfinite(test))
    if known.size == 0:
        raise DataError(f"replicate {replicate} never recorded a finite validation and test NLL at the same step")
    selected, oracle = known[np.argmin(validation[known])], known[np.argmin(test[known])]
    return OracleGap(
        float(trace.steps[selected]), float(test[selected]), float(trace.steps[oracle]), float(test[oracle])
    )
