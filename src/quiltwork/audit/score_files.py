"""Scores of an attack from a csv file or text: a score and whether the record was in, one trial a line."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter

SCORE, MEMBER = "score", "member"
LINES_A_REPORT = 10_000  # lines between two reports of progress
FLAGS = {"1": True, "1.0": True, "in": True, "true": True, "0": False, "0.0": False, "out": False, "false": False}
FLAG_WORDS = "0 or 1, out or in, false or true"
LAYOUT = f"a header with the columns {SCORE} and {MEMBER}, or a score and {FLAG_WORDS}"


@attrs.frozen(eq=False)
class Scores:
    """Scores in the order of the file, and whether each one is of a run with the record."""

    values: FloatArray
    member: NDArray[np.bool_]

    def sides(self, name: str) -> tuple[FloatArray, FloatArray]:
        """The scores with the record and those without it; both must be there."""
        for kind, there in (("1", self.member.any()), ("0", not self.member.all())):
            if not there:
                raise InvalidParameter(name, f"no line with {MEMBER} = {kind}", "runs with the record and without it")
        return self.values[self.member], self.values[~self.member]


def read_scores(path: Path, progress: Callable[[int, int], None] | None = None) -> Scores:
    """The file's scores; `-` is standard input. Every complaint names the line.

    `progress` is told now and then how much of a file is read, and how much there is.
    """
    try:
        if str(path) == "-":
            return _read("standard input", sys.stdin)
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = file if progress is None else _watched(file, path.stat().st_size, progress)
            return _read(str(path), lines)
    except UnicodeDecodeError:
        raise InvalidParameter(str(path), "bytes that are no text", "a text file in UTF-8") from None


def _watched(lines: Iterable[str], total: int, progress: Callable[[int, int], None]) -> Iterator[str]:
    """The lines, counted on the way."""
    done = 0
    for number, line in enumerate(lines):
        done += len(line)
        if number % LINES_A_REPORT == 0:
            progress(done, total)
        yield line
    progress(total, total)


def parse_scores(text: str, name: str = "the scores") -> Scores:
    r"""The scores in a text; every complaint names the line.

    >>> parse_scores("score,member\n0.5,1\n-1,0").values.tolist()
    [0.5, -1.0]
    """
    return _read(name, io.StringIO(text.removeprefix("\ufeff"), newline=""))


def _read(name: str, lines: Iterable[str]) -> Scores:
    values, member = [], []
    columns: tuple[int, int] | None = None
    for number, row in _rows(name, lines):
        if columns is None:
            columns = _columns(name, number, row)
            if columns is not None:
                continue
            columns = (0, 1)
        if max(columns) >= len(row):
            raise InvalidParameter(f"{name}:{number}", ",".join(row), "a line with a score and a member")
        values.append(_score(f"{name}:{number}: {SCORE}", row[columns[0]]))
        member.append(_flag(f"{name}:{number}: {MEMBER}", row[columns[1]]))
    if not values:
        raise InvalidParameter(name, "a file without scores", "a csv file with at least one score")
    return Scores(np.array(values), np.array(member, dtype=bool))


def _rows(name: str, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, as cells; the separator is that of the first one."""
    separator = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        separator = separator or next((mark for mark in ",;\t" if mark in line), ",")
        try:
            yield number, [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
        except csv.Error as error:
            raise InvalidParameter(f"{name}:{number}", str(error), "a line of a csv file") from None


def _columns(name: str, number: int, row: list[str]) -> tuple[int, int] | None:
    """Where the columns are; None when the first line holds data already."""
    names = [cell.lower() for cell in row]
    if SCORE in names and MEMBER in names:
        return names.index(SCORE), names.index(MEMBER)
    if len(row) == 2 and row[1].lower() in FLAGS:
        return None
    raise InvalidParameter(f"{name}:{number}", ",".join(row), LAYOUT)


def _score(place: str, text: str) -> float:
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise InvalidParameter(place, text, "a number", "NaN is no score")
    return number


def _flag(place: str, text: str) -> bool:
    if text.lower() not in FLAGS:
        raise InvalidParameter(place, text, FLAG_WORDS)
    return FLAGS[text.lower()]
