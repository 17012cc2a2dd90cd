"""Heads: which likelihood the cells get on a table, by its task and the number of its classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from corners.data.dataset import Dataset
from corners.data.split import Split
from corners.errors import SpecError, UnknownNameError
from corners.likelihoods import LIKELIHOODS
from corners.registry import unknown_name_message
from corners.study.choices import checked_choices, settable

if TYPE_CHECKING:
    from corners.likelihoods._base import Likelihood

GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Target:
    """What a table asks for: its task, and where its targets are labels the number of classes.

    Example
    -------
    >>> Target.of(Dataset([[0.0], [1.0], [2.0]], [0, 2, 1], task="classification"))
    Target(task='classification', classes=3)
    """

    task: str = "regression"
    classes: int | None = None

    @classmethod
    def of(cls, table: "Dataset | Split | Sequence[Split] | Target") -> "Target":
        """The target of a table, a split, or splits of one task; a class that a part lacks counts like any other.

        Raises
        ------
        SpecError : splits of several tasks.
        """
        if isinstance(table, Target):
            return table
        tables = [table] if isinstance(table, Dataset | Split) else list(table)
        tasks = sorted({each.task for each in tables})
        if len(tasks) > 1:
            raise SpecError(f"the splits are of several tasks ({', '.join(tasks)}); compare them apart")
        classes = [len(each.labels) for each in tables if each.labels is not None]
        return cls(tasks[0], max(classes) if classes else None)

    @property
    def words(self) -> str:
        """For messages.

        Example
        -------
        >>> Target("classification", 3).words, Target("count").words
        ('classification (3 classes)', 'count')
        """
        return self.task if self.classes is None else f"{self.task} ({self.classes} classes)"


@dataclass(frozen=True)
class Head:
    """A likelihood by name with some of its fields set, or a likelihood itself; None takes the task's own.

    ``shared_precision``: one prior precision for all latent functions, where a point has several (one-versus-all).
    """

    name: "str | Likelihood | None" = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shared_precision: bool = False

    @classmethod
    def of(cls, head: "str | Likelihood | Head | None") -> "Head":
        """The head itself, or one without options; an unknown name lists the known ones.

        Raises
        ------
        UnknownNameError, SpecError : no likelihood is called so; what was given is no head.
        """
        if isinstance(head, Head):
            return head
        if isinstance(head, str) and head not in LIKELIHOODS.names():
            raise UnknownNameError(unknown_name_message("head", head, LIKELIHOODS.names()))
        if head is not None and not isinstance(head, str) and not hasattr(head, "log_partition"):
            raise SpecError(f"a head is the name of a likelihood or a likelihood; got a {type(head).__name__}")
        return cls(head)

    @property
    def target(self) -> Target:
        """The target it is for, where no table says so: of a name the task alone."""
        if self.name is None:
            return Target()
        kind = LIKELIHOODS.get(self.name) if isinstance(self.name, str) else self.name
        return Target(kind.task, getattr(self.name, "classes", None))


def default_head(target: Target) -> str:
    """``gaussian`` for numbers, ``poisson`` for counts, ``probit`` for two classes and ``one_vs_all`` for more.

    Example
    -------
    >>> default_head(Target()), default_head(Target("classification", 2)), default_head(Target("classification", 3))
    ('gaussian', 'probit', 'one_vs_all')
    """
    if target.task == "classification":
        return "probit" if target.classes in (None, 2) else "one_vs_all"
    return {"regression": GAUSSIAN, "count": "poisson"}[target.task]


def heads_for(target: Target) -> tuple[str, ...]:
    """Names of the likelihoods that such a table can have; one without the field ``classes`` is for two of them.

    Example
    -------
    >>> heads_for(Target("classification", 3)), heads_for(Target("count"))
    (('one_vs_all', 'ordinal'), ('negative_binomial', 'poisson'))
    """
    return tuple(name for name in LIKELIHOODS.names() if _suits(LIKELIHOODS.get(name), target))


def is_conjugate(head: Head, target: Target) -> bool:
    """Whether a closed routing has a posterior to bind its belief to."""
    name = default_head(target) if head.name is None else head.name
    return bool((LIKELIHOODS.get(name) if isinstance(name, str) else name).conjugate)


def make_likelihood(head: Head, target: Target) -> "Likelihood | None":
    """The likelihood of a head on a table, with its number of classes; None is the Gaussian as the protocol has it.

    Raises
    ------
    SpecError : the likelihood is for another task or number of classes (those that fit are named), or does not have
        such an option.

    Example
    -------
    >>> make_likelihood(Head(), Target("classification", 3))
    OneVsAll(classes=3)
    """
    name = default_head(target) if head.name is None else head.name
    if not isinstance(name, str):
        _require_suitable(type(name).__name__, name, target)
        return name
    kind = LIKELIHOODS.get(name)
    _require_suitable(repr(name), kind, target)
    if name == GAUSSIAN:
        return None
    options = checked_options(head, kind)
    if "classes" in _field_names(kind) and target.classes is not None:
        options = {"classes": target.classes} | options
    try:
        return kind(**options)
    except TypeError as error:
        raise SpecError(f"head {name!r} needs the number of classes: pass the table, or head_options") from error


def checked_options(head: Head, kind: Any) -> dict[str, Any]:
    """The head's options as the likelihood's fields want them."""
    return checked_choices("head_options", f"option of head {head.name or kind.name!r}", head.options, settable(kind))


def _field_names(kind: Any) -> set[str]:
    return {each.name for each in fields(kind)}


def _suits(likelihood: Any, target: Target) -> bool:
    if likelihood.task != target.task:
        return False
    return target.classes in (None, 2) or "classes" in _field_names(likelihood)


def _require_suitable(shown: str, likelihood: Any, target: Target) -> None:
    if not _suits(likelihood, target):
        raise SpecError(
            f"head {shown} is not for {target.words}; heads for it: {', '.join(heads_for(target))}, and by default "
            f"{default_head(target)}"
        )
