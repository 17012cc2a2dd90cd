"""Writing a report: one page that needs nothing else, the same as Markdown with figures, and the numbers as JSON."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corners.comparison.document import Document
from corners.comparison.grid import markdown
from corners.errors import OutputError

PAGE, TEXT, NUMBERS, FIGURES = "index.html", "report.md", "scores.json", "figures"


@dataclass(frozen=True)
class Report:
    """The files of a written report."""

    folder: Path

    @property
    def page(self) -> Path:
        """The page to open in a browser; it can be moved or sent alone."""
        return self.folder / PAGE

    @property
    def text(self) -> Path:
        """The same report as Markdown, its figures in ``figures/``."""
        return self.folder / TEXT

    @property
    def numbers(self) -> Path:
        """Every number of the report as JSON."""
        return self.folder / NUMBERS

    def __str__(self) -> str:
        return str(self.page)


def check_writable(folder: str | Path) -> Path:
    """Return the folder as a path if a report can be written there; nothing is created.

    Raises
    ------
    OutputError : something on the path is a file, or the nearest folder that exists cannot be written to.
    """
    folder = Path(folder).expanduser()
    nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not nearest.is_dir():
        raise OutputError(f"cannot write a report to {folder}: {nearest} is not a folder; choose another folder")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OutputError(
            f"cannot write a report to {folder}: {nearest} cannot be written to ({reason}); choose another folder"
        ) from error
    return folder


def write_report(document: Document, numbers: Mapping[str, Any], folder: str | Path) -> Report:
    """Write page, Markdown, figures and JSON, each file whole or not at all.

    Raises
    ------
    OutputError : a file cannot be written.
    """
    folder = check_writable(folder)
    contents = {f"{FIGURES}/{picture.name}.png": picture.png for s in document.sections for picture in s.pictures}
    contents[TEXT] = render_markdown(document).encode("utf-8")
    contents[NUMBERS] = (json.dumps(numbers, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode("utf-8")
    contents[PAGE] = render_page(document).encode("utf-8")
    for name, content in contents.items():
        _write(folder / name, content)
    return Report(folder)


def render_page(document: Document) -> str:
    """The report as one HTML page: styles and figures inside, no script; every text from outside is escaped."""
    return _template("report.html.j2").render(document=document)


def render_markdown(document: Document) -> str:
    """The report as Markdown; every text from outside is escaped."""
    return _template("report.md.j2").render(document=document)


def _template(name: str) -> Any:
    """A template in which all text is escaped for HTML, unless a filter here has escaped it for Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("corners.comparison"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["md"] = lambda text: Markup(markdown(text))
    environment.filters["breakable"] = lambda text: Markup(str(escape(text)).replace("_", "_<wbr>"))
    environment.filters["md_table"] = lambda grid: Markup(grid.to_markdown())
    return environment.get_template(name)


def _write(path: Path, content: bytes) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path} ({error.strerror or error}); choose another folder") from error
