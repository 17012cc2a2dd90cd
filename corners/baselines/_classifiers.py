"""What fits of classifiers share: class probabilities, and the temperature that may be laid on them."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from jaxtyping import Float

from corners.baselines._tasks import missing_classes
from corners.baselines._temperature import Temperature, fit_temperature
from corners.method import Fit
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

F = TypeVar("F", bound="ClassifierFit")


class ClassifierFit(Fit):
    """A fit whose predictive is over classes; a subclass says what it is before temperature."""

    temperatures: tuple[Temperature | None, ...]
    """One a replicate; none at all where temperature was not asked for."""

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> CategoricalPredictive:
        """``P(y = k)``; where temperature was asked for, ``∝ P(k)^{1/T}``."""
        predictive = self.untempered(inputs, replicate)
        temperature = self.temperatures[replicate] if self.temperatures else None
        return predictive if temperature is None else temperature.of(predictive)

    @abstractmethod
    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """The method's own class probabilities at inputs in original units."""

    def tempering(self, replicate: int) -> dict[str, float]:
        """What temperature adds to ``learned``."""
        temperature = self.temperatures[replicate] if self.temperatures else None
        return {} if temperature is None else {"temperature": temperature.value}


def finished(fit: F, splits: "Sequence[Split]", *, temperature: bool, classes_said: bool = False) -> F:
    """The fit with its temperatures, where they are asked for, and with what is to be said of classes and of them.

    ``classes_said``: the statuses come from another classifier, which has spoken of missing classes already.
    """
    statuses, temperatures = [], []
    for k, (status, split) in enumerate(zip(fit.statuses, splits, strict=True)):
        said: tuple[str, ...] = () if classes_said or not status.usable else missing_classes(split)
        found = None
        if temperature and status.usable:
            found = fit_temperature(fit.untempered(split.validation.inputs, k), split.validation)
            said += found.remarks
        temperatures.append(found)
        statuses.append(replace(status, remarks=(*status.remarks, *said)))
    changes: dict[str, Any] = {"statuses": tuple(statuses)}
    if temperature:
        changes["temperatures"] = tuple(temperatures)
    return replace(fit, **changes)  # pyright: ignore[reportArgumentType, reportType]
