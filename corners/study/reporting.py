"""The report of a study: a document from what is committed, written, or rendered again and compared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from corners.comparison.document import Document
from corners.comparison.glossary import CELLS, GLOSSARY, TASK_WORDS
from corners.comparison.glossary import INTRODUCTION as DESIGN_SPACE
from corners.comparison.records import json_ready
from corners.comparison.report import FIGURES, TEXT, render_markdown, render_page
from corners.comparison.sections._wording import listed, several
from corners.study.committed import write_json, write_whole
from corners.study.methods import method_summary
from corners.study.published import read_published
from corners.study.results import PROVENANCE, RENDERED_WITH, read_json, read_results
from corners.study.sections import (
    classes,
    contrasts,
    cost,
    counts,
    failure_modes,
    mixtures,
    outcomes,
    protocol,
    published_figures,
    ranking,
    rankings_held,
    scores,
)
from corners.study.sections._view import View

if TYPE_CHECKING:
    from corners.study.spec import StudySpec

PAGE = "report.html"
DRAWN_BY = ("matplotlib", "pillow")
SECTIONS = (
    published_figures,
    rankings_held,
    ranking,
    scores,
    classes,
    counts,
    contrasts,
    failure_modes,
    mixtures,
    cost,
    outcomes,
    protocol,
)
PICTURE = re.compile(r'src="data:image/png;base64,[^"]*"')
ALL = 99
WORDS = (
    ("critical difference", "How far apart two mean ranks must be to differ, when all pairs are tested at once."),
    (
        "oracle NLL",
        "The lowest test NLL on a training trajectory; nobody can select by it, it shows what stopping cost.",
    ),
    ("row", "One line of a study's tables: a method with its own choices."),
    (
        "standard error",
        "How uncertain a mean over seeds is: the standard deviation over seeds by the root of their number.",
    ),
)


@dataclass(frozen=True)
class Check:
    """What rendering again found: the first difference ("" where there is none), and what was not compared."""

    difference: str
    remark: str = ""

    @property
    def same(self) -> bool:
        """Whether everything compared is equal."""
        return not self.difference


def read_view(study: "StudySpec") -> View:
    """The study with its committed results and the published figures beside it.

    Raises
    ------
    DataError : no results.  SpecError : a published table or label that is not there.
    """
    return View(study, read_results(study.folder), read_published(study))


def study_document(view: View) -> Document:
    """Every section that has something to say, in reading order."""
    made = [each.section(view) for each in SECTIONS]
    own = [pair for task in sorted(view.tasks) for pair in TASK_WORDS[task]]
    return Document(
        title=view.study.title,
        subtitle=_subtitle(view),
        introduction=(view.study.question, *view.study.notes, *_sources(view), *DESIGN_SPACE),
        cells=CELLS,
        methods=_methods(view),
        sections=tuple(section for section in made if section is not None),
        glossary=tuple(sorted((*GLOSSARY, *WORDS, *own), key=lambda pair: pair[0].lower())),
    )


def _subtitle(view: View) -> str:
    study, last = view.study, str(view.results.provenance.get("dates", {}).get("last", ""))[:10]
    seeds = f"{several(len(study.seeds), 'seed')} from {study.seeds[0]} to {study.seeds[-1]}"
    parts = (several(len(study.rows), "row"), several(len(study.datasets), "data set"), seeds)
    return f"{', '.join(parts)}; protocol {study.protocol.name}" + (f"; {last}" if last else "")


def _sources(view: View) -> tuple[str, ...]:
    names = sorted(
        {name for row in view.rows for q in view.published.quantities() if (name := view.published.table_name(row, q))}
        | {contrast.published for contrast in view.study.contrasts if contrast.published}
    )
    if not names:
        return ()
    files = listed([f"{name}.csv" for name in names], ALL)
    return (f"Published figures are read from {files}; the README beside those tables names their source.",)


def _methods(view: View) -> tuple[tuple[str, str], ...]:
    """Every method once, with the rows that use it."""
    rows: dict[str, list[str]] = {}
    for row in view.study.rows:
        rows.setdefault(row.method, []).append(view.labels[row.name])
    said = {method: method_summary(method).rstrip(".") for method in rows}
    return tuple((method, f"{said[method]}. Rows: {listed(labels, ALL)}.") for method, labels in rows.items())


def render_study(view: View) -> dict[str, bytes]:
    """The files of the report by their path in the study's folder; nothing depends on when or where it is rendered."""
    document = study_document(view)
    files = {f"{FIGURES}/{picture.name}.png": picture.png for each in document.sections for picture in each.pictures}
    files[TEXT] = render_markdown(document).encode()
    files[PAGE] = render_page(document).encode()
    return files


def write_study(view: View) -> dict[str, bytes]:
    """Write page, text and figures; figures of an earlier report that are no longer in it are deleted.

    Raises
    ------
    OutputError : a file cannot be written.
    """
    folder = view.study.folder
    files = render_study(view)
    for name, content in files.items():
        write_whole(folder / name, content)
    for path in sorted((folder / FIGURES).glob("*.png")):
        if f"{FIGURES}/{path.name}" not in files:
            path.unlink()
    write_json(folder / PROVENANCE, read_json(folder / PROVENANCE) | {RENDERED_WITH: drawn_by()})
    return files


def drawn_by() -> dict[str, str]:
    """Versions of the libraries that decide the pixels of a figure."""
    return {name: metadata.version(name) for name in DRAWN_BY}


def check_study(view: View) -> Check:
    """Render again and compare with what is committed: text exactly, figures where the same libraries drew them."""
    folder, recorded = view.study.folder, dict(view.results.provenance.get(RENDERED_WITH, {}))
    same_pixels = recorded == drawn_by()
    remark = (
        "" if same_pixels else f"figures not compared: drawn by {_versions(recorded)}; here {_versions(drawn_by())}"
    )
    files = render_study(view)
    for name in (TEXT, PAGE, *sorted(set(files) - {TEXT, PAGE})):
        path = folder / name
        if not path.is_file():
            return Check(f"{path} is missing", remark)
        committed = path.read_bytes()
        if not name.endswith(".png"):
            found = _text_difference(committed.decode(), files[name].decode(), pictures=same_pixels)
            if found:
                return Check(f"{path}, {found}", remark)
        elif same_pixels and committed != files[name]:
            return Check(f"{path} shows something else", remark)
    extra = [path for path in sorted((folder / FIGURES).glob("*.png")) if f"{FIGURES}/{path.name}" not in files]
    return Check(f"{extra[0]} is not in the report" if extra else "", remark)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "unknown libraries"


def _text_difference(committed: str, rendered: str, *, pictures: bool) -> str:
    """The first line that differs; pictures inside the page count only where their pixels can be equal."""
    if not pictures:
        committed, rendered = PICTURE.sub("", committed), PICTURE.sub("", rendered)
    if committed == rendered:
        return ""
    old, new = committed.split("\n"), rendered.split("\n")
    place = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    said = [repr(lines[place][:160]) if place < len(lines) else "nothing" for lines in (old, new)]
    return f"line {place + 1}: committed is {said[0]}, the results give {said[1]}"


def summary_records(view: View) -> list[dict[str, Any]]:
    """One flat row a (data set, row, quantity): mean, standard error, seeds, and the published figure beside."""
    records = []
    for dataset in view.study.datasets:
        for row in view.study.rows_of(dataset):
            for name in view.results.quantities:
                found = view.results.summary(dataset, row.name, name)
                if found.seeds:
                    published = view.published.figure(row, dataset, name)
                    numbers = {"mean": found.mean, "se": found.se, "seeds": found.seeds, "published": published}
                    records.append({"dataset": dataset, "row": row.name, "quantity": name, **numbers})
    return json_ready(records)
