"""People that the user brings: a matrix of zeros and ones in a file, one row a person."""

from __future__ import annotations

import csv
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath, PeopleFile, file_path
from quiltwork.game.people.population import Population, Prior

_ALLOWED = "a file of zeros and ones, one row a person"


def from_csv(
    path: FilePath,
    candidates: int,
    reference: int | None = None,
    *,
    header: bool | None = None,
    delimiter: str = ",",
    key: str | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) from a CSV file, or from a .npy or .npz file of numpy.

    The first line of a CSV file may name the attributes: `header` says so, and without it a first line with anything
    that is no number is taken for one.  An .npz file holds one array, or `key` says which.
    """
    file = file_path("path", path)
    names: tuple[str, ...] = ()
    if file.suffix in (".npy", ".npz"):
        matrix = _array(file, key)
    else:
        matrix, names = _lines(file, None if header is None else checks.flag("header", header), _one(delimiter))
    source = f"rows of {file.name}"
    return Population.of(matrix, candidates, reference, prior=prior, seed=seed, source=source, attributes=names)


def _one(delimiter: Any) -> str:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidParameter("delimiter", delimiter, "one character, such as ',' or ';'")
    return delimiter


def _array(file: Path, key: str | None) -> NDArray[Any]:
    """The array of a numpy file; nothing pickled is ever loaded."""
    try:
        with file.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            matrix = loaded if isinstance(loaded, np.ndarray) else loaded[_key(file, key, loaded.files)]
    except InvalidParameter:
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways, and each means the same
        raise InvalidParameter("path", str(file), "a file of numpy that can be read", type(error).__name__) from None
    shown = f"{matrix.dtype} of shape {matrix.shape}"
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not matrix.size:
        raise InvalidParameter("path", str(file), _ALLOWED, f"it holds {shown}")
    wrong = np.argwhere((matrix != 0) & (matrix != 1))
    if len(wrong):
        row, column = (int(place) for place in wrong[0])
        place = f"row {row}, column {column} (from 0)"
        raise InvalidParameter("path", str(file), _ALLOWED, f"{place} holds another number")
    return matrix


def _key(file: Path, key: str | None, names: list[str]) -> str:
    if key is None and len(names) == 1:
        return names[0]
    if key is None or key not in names:
        raise InvalidParameter("key", key, f"the name of an array in {file.name}: {', '.join(names) or 'it has none'}")
    return key


def _lines(file: Path, header: bool | None, delimiter: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The matrix and the names of its columns; a fast reader, and a careful one to say what is wrong."""
    try:
        first, before = _first(file, delimiter)
        if header is None:
            header = not all(is_number(cell) for cell in first)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of numpy, when there is nothing to read
            matrix = np.loadtxt(
                file,
                delimiter=delimiter,
                skiprows=before + header,
                comments=None,
                quotechar='"',
                ndmin=2,
                encoding="utf-8-sig",
            )
        names = tuple(name.strip() for name in first) if header else ()
        if matrix.size and bool(np.all((matrix == 0) | (matrix == 1))) and len(names) in (0, matrix.shape[1]):
            return matrix, names
        problem = _problem(file, bool(header), delimiter)
    except UnicodeDecodeError:
        problem = _not_text(file)
    except OSError as error:
        raise InvalidParameter("path", str(file), "a file that can be read", str(error)) from None
    except (ValueError, UserWarning):  # what numpy says repeats what stands in the file
        problem = _problem(file, bool(header), delimiter)
    raise InvalidParameter("path", str(file), _ALLOWED, problem)


def _first(file: Path, delimiter: str) -> tuple[list[str], int]:
    """The cells of the first line that is not empty, and how many lines come before it."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        for cells in (reader := csv.reader(stream, delimiter=delimiter)):
            if cells:
                return cells, reader.line_num - 1
    raise ValueError("there is nothing in it")


def _problem(file: Path, header: bool, delimiter: str) -> str:
    """The first line that does not fit, in words that repeat nothing of it: it is about a person."""
    width = people = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in filter(None, reader):
                named, width = header and not width, width or len(cells)
                if len(cells) != width:
                    return f"line {reader.line_num} has {len(cells)} values instead of {width}"
                people += not named
                for column, cell in enumerate(cells, 1):
                    if not named and not (is_number(cell) and float(cell) in (0.0, 1.0)):
                        return f"line {reader.line_num}, column {column} is neither 0 nor 1"
    except csv.Error as error:
        return f"line {reader.line_num}: {error}"
    except UnicodeDecodeError:
        return _not_text(file)
    return "it is no table of numbers" if people else "there is nobody in it"


def _not_text(file: Path) -> str:
    """The line that is not text is told by its number."""
    for _ in PeopleFile(file, "path", _ALLOWED):
        pass
    return "it is not a text file"


def is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
