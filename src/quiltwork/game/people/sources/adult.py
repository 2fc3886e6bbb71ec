"""People of the 1994 census extract known as UCI Adult, read from the file that the user has.

The file is not part of this package.  `adult.data` has one person a line, fifteen values separated by ", " with "?"
for what is not known; `adult.test` opens with a comment line that starts with "|", and its labels end with a dot.

Reference: Becker and Kohavi, Adult, UCI Machine Learning Repository (1996); theory/game.md section 2.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Population
from quiltwork.game.people.priors import Prior
from quiltwork.game.people.sources.binarise import Table, binarised
from quiltwork.game.people.sources.from_csv import FilePath, file_path

__all__ = ["COLUMNS", "NUMERIC", "adult", "table_from"]

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
INCOMES = ("<=50K", ">50K")
_ALLOWED = "a file in the format of adult.data or adult.test"


def adult(
    path: FilePath | Sequence[FilePath],
    candidates: int,
    reference: int | None = None,
    *,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) from one Adult file, or from several together.

    Categories become one attribute each and the six numbers their decile thresholds (`binarise`); thresholds and the
    choice of attributes come from all rows of the files.
    """
    given = (path,) if isinstance(path, (str, os.PathLike)) or not isinstance(path, Sequence) else path
    paths = [file_path("path", one) for one in given]
    if not paths:
        raise InvalidParameter("path", path, "a file, or a list of files")
    lines: list[list[str]] = []
    for one in paths:
        lines += _cells(one)
    rows, names = binarised(table_from(lines))
    source = f"UCI Adult ({', '.join(one.name for one in paths)}: {len(rows)} people), binarised"
    return Population.of(rows, candidates, reference, prior=prior, seed=seed, source=source, attributes=names)


def table_from(cells: Iterable[Sequence[str]]) -> Table:
    """Columns by name; numbers as floats, with NaN for "?"."""
    columns = dict(zip(COLUMNS, zip(*cells, strict=True), strict=True))
    return {
        name: np.array(["nan" if cell == "?" else cell for cell in column] if name in NUMERIC else column).astype(
            float if name in NUMERIC else str
        )
        for name, column in columns.items()
    }


def _cells(path: Path) -> list[list[str]]:
    """The values of each person; what is wrong is told with its line."""
    rows: list[list[str]] = []
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                text = line.strip()
                if text and not text.startswith("|"):
                    rows.append(_person(path, number, text))
    except UnicodeDecodeError:
        raise InvalidParameter("path", str(path), _ALLOWED, "it is not a text file") from None
    except OSError as error:
        raise InvalidParameter("path", str(path), "a file that can be read", str(error)) from None
    if not rows:
        raise InvalidParameter("path", str(path), _ALLOWED, "there is nobody in it")
    return rows


def _person(path: Path, number: int, text: str) -> list[str]:
    cells = [cell.strip() for cell in text.split(",")]
    if len(cells) != len(COLUMNS):
        problem = f"{len(cells)} values instead of {len(COLUMNS)}"
        raise InvalidParameter("path", str(path), _ALLOWED, f"line {number} has {problem}")
    cells[-1] = cells[-1].removesuffix(".")
    for name, cell in zip(COLUMNS, cells, strict=True):
        if not cell:
            raise InvalidParameter("path", str(path), _ALLOWED, f'line {number} has no {name}; "?" stands for unknown')
        if name in NUMERIC and cell != "?" and not _is_number(cell):
            raise InvalidParameter("path", str(path), _ALLOWED, f"line {number}: {name} {cell[:40]!r} is not a number")
    if cells[-1] not in INCOMES:
        wrong = f"line {number}: income {cells[-1][:40]!r} is neither {' nor '.join(INCOMES)}"
        raise InvalidParameter("path", str(path), _ALLOWED, wrong)
    return cells


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
