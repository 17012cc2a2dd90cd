"""The skeletons of CONTRIBUTING.md, written to a folder and seen by the registries from there."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import ROOT

FOLDER_VARIABLE = "CORNERS_RECIPES"
BLOCK = re.compile(r"^```python\n# ((?:corners|inference)/[\w/]+\.py)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    """One skeleton: the file it stands for, and its text."""

    place: str
    text: str

    @property
    def package(self) -> str:
        """Dotted name of the family's folder."""
        return ".".join(Path(self.place).parent.parts)

    @property
    def name(self) -> str:
        """The member's name in its registry."""
        return Path(self.place).stem

    @property
    def laws(self) -> Path:
        """The test module that runs the family's laws over its registry."""
        folder = ROOT / "tests" / Path(self.place).parent
        places = (folder / "test_laws.py", folder / "test_base.py", folder.parent / "test_methods.py")
        return next(path for path in places if path.is_file())


def recipes() -> list[Recipe]:
    """Every skeleton of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [Recipe(place, body) for place, body in BLOCK.findall(text)]


def write(folder: Path) -> None:
    """Each skeleton under ``folder`` at its place; without an ``__init__.py``, so that no package is shadowed."""
    for recipe in recipes():
        path = folder / recipe.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recipe.text, encoding="utf-8")
