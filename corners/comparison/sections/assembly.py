"""The report of a comparison: its sections in order, and every number of it for machines."""

from typing import TYPE_CHECKING, Any

from corners.comparison.document import Document
from corners.comparison.glossary import CELLS, GLOSSARY, INTRODUCTION, TASK_WORDS
from corners.comparison.palette import styles
from corners.comparison.records import json_ready
from corners.comparison.sections import classes, identification, ordering, plane, prediction, run, truth
from corners.comparison.sections._wording import several

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison

SECTIONS = (prediction, classes, plane, truth, ordering, identification, run)


def comparison_document(comparison: "Comparison") -> Document:
    """Every section, with one style a method throughout."""
    look = styles(comparison.methods)
    made = [each.section(comparison, look) for each in SECTIONS]
    return Document(
        title=f"{comparison.dataset_name}: Bayesian last layers compared",
        subtitle=_subtitle(comparison),
        introduction=INTRODUCTION,
        cells=CELLS,
        methods=tuple(
            (method, comparison.method_summaries[method])
            for method in comparison.methods
            if method in comparison.method_summaries
        ),
        sections=tuple(section for section in made if section is not None),
        glossary=tuple(sorted((*GLOSSARY, *TASK_WORDS[comparison.task]), key=lambda pair: pair[0].lower())),
    )


def _subtitle(comparison: "Comparison") -> str:
    first, last = min(comparison.seeds), max(comparison.seeds)
    seeds = f"seed {first}" if first == last else f"{len(comparison.seeds)} seeds from {first} to {last}"
    split = comparison.splits[0]
    rows = split.train.targets.size + split.validation.targets.size + split.test.targets.size
    kind = "" if split.labels is None else f" of {len(split.labels)} classes"
    size = f"{rows} rows, {several(split.train.inputs.shape[1], 'input')}"
    methods = several(len(comparison.methods), "method")
    return f"{methods}, {seeds}; {size}, target {split.target_name}{kind}; {comparison.provenance.date[:10]}"


def comparison_numbers(comparison: "Comparison") -> dict[str, Any]:
    """Every number of the report as values that JSON can hold."""
    learned = [
        {"method": method, "seed": comparison.seeds[k], **comparison.fits[method].learned(k)}
        for method, k in comparison.usable()
    ]
    return json_ready(
        {
            "dataset": comparison.dataset_name,
            "description": comparison.dataset_description,
            "seeds": comparison.seeds,
            "records": comparison.records(),
            "seed_records": comparison.seed_records(),
            "learned": learned,
            "agreement": comparison.agreement().records(),
            "ordering": comparison.ordering().records(),
            "identifiability": comparison.identifiability().records(),
            **_class_numbers(comparison),
            "unavailable": comparison.unavailable,
            "reference_failures": [
                {"method": method, "seed": seed, "reason": reason}
                for (method, seed), reason in comparison.reference_failures.items()
            ],
            "published": [
                {"method": method, "score": score, "mean": value}
                for (method, score), value in comparison.published.items()
            ],
            "provenance": comparison.provenance.to_dict(),
        }
    )


def _class_numbers(comparison: "Comparison") -> dict[str, Any]:
    """Of classes: reliability bins, selective areas and entropies by method."""
    if comparison.task != "classification":
        return {}
    found = classes.class_quality(comparison)
    return {
        "classes": [
            {
                "method": method,
                "selective_area": each.selective.area,
                "selective_excess_area": each.selective.excess_area,
                "entropy": each.entropy,
                "aleatoric_entropy": each.aleatoric,
                "epistemic_entropy": each.epistemic,
                "reliability": each.reliability.records(),
            }
            for method, each in found.items()
        ]
    }
