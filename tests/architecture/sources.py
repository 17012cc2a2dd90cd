"""The project's own files, found on disk without importing anything."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("corners", "inference")


def source_files() -> list[Path]:
    """Every Python file of both packages."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def text_files() -> list[Path]:
    """What is written by hand: code, tests, texts and configuration; no caches, environments or golden numbers."""
    suffixes = {".py", ".md", ".toml", ".cff", ".yaml", ".j2", ".html", ""}
    hidden = [ROOT / ".ci" / "run", ROOT / ".pre-commit-config.yaml", ROOT / ".gitignore"]
    folders = [ROOT / name for name in (*PACKAGES, "tests", "reports")]
    inside = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    top = [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    return sorted(path for path in (*hidden, *top, *inside) if path.is_file() and path.suffix in suffixes)


def module_name(path: Path) -> str:
    """``corners/data/__init__.py`` as ``corners.data``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """The file, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Every class and function of the file, nested ones too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def in_fresh_python(code: str, *, folder: Path = ROOT, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a new interpreter that finds the project's packages."""
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, cwd=folder, timeout=timeout, capture_output=True, text=True, check=False)
