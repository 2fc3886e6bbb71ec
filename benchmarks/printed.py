"""Brackets behind the numbers that are printed: by the code of README and documentation, and by items of the gallery.

Code runs here with every question to a curve overheard. An answer counts as printed where the page shows a number of at
least three digits that is one of its ends, rounded to so many digits.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
from examples.gallery.item import Effort
from examples.gallery.rooms import all_rooms
from tests.docs_blocks import Block, blocks, pages

from quiltwork.cli import main
from quiltwork.curves.curve import BaseCurve
from quiltwork.errors import QuiltworkError
from quiltwork.proof.claims import Claim

ROOT = Path(__file__).resolve().parents[1]
PLAIN = (
    "account",
    "train",
    "region",
    "tables",
    "influence",
    "design",
    "calibrate",
    "diff",
)  # commands that only answer
NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:e([+-]?\d+))?( ?%)?(?![\w])")
SHORTEST = re.compile(r"(?<![\w.])(\d+\.\d*)\[(\d+), (\d+)\]")  # 11.47[15, 29]
FEWEST, MOST = 4, 17  # digits; shares in percent may have one less
SEVERAL = 12  # answers of one question that are looked at: more are a figure
EASY = 3  # seconds of a study of the gallery, quick


@attrs.frozen
class Printed:
    """A number on a page, and the claim that proves it: both ends of the bracket, rounded outward to its digits."""

    page: str
    shown: str
    claim: Claim


@contextlib.contextmanager
def overheard() -> Iterator[list[Any]]:
    """Every bracket that a curve answers meanwhile."""
    found: list[Any] = []
    answer = BaseCurve._answer

    def listening(self: Any, question: Any) -> Any:
        bracket = answer(self, question)
        found.append(bracket)
        return bracket

    BaseCurve._answer = listening  # type: ignore[method-assign]
    try:
        yield found
    finally:
        BaseCurve._answer = answer  # type: ignore[method-assign]


def numbers(text: str) -> dict[str, tuple[Fraction, Fraction, int]]:
    """What is shown: as text, its value, the unit of its last digit, and how many digits it has."""
    found = {}
    for shown in NUMBER.finditer(text):
        whole, part, power, percent = (
            shown.group(1).replace(",", ""),
            shown.group(2) or "",
            shown.group(3),
            shown.group(4),
        )
        digits = len((whole + part).lstrip("0"))
        unit = Fraction(10) ** (int(power or 0) - len(part) - (2 if percent else 0))
        if FEWEST - bool(percent) <= digits <= MOST:
            found[shown.group(0)] = int(whole + part) * unit, unit, digits
    for shown in SHORTEST.finditer(text):
        stem, low = shown.group(1), shown.group(2)
        _, _, part = (stem + low).partition(".")
        unit = Fraction(1, 10 ** len(part))
        found[shown.group(0)] = Fraction(stem + low), unit, min(len((stem + low).replace(".", "").lstrip("0")), MOST)
    return found


def matched(page: str, text: str, brackets: Iterable[Any]) -> Iterator[Printed]:
    """The printed ones, each number once, with their claims."""
    shown = numbers(text)
    seen = set()
    for bracket in brackets:
        for one in _single(bracket):
            ends = {Fraction(float(end)) for end in (one.lower, one.upper) if 0 < abs(float(end)) < 1e300}
            words = [
                word
                for word, (value, unit, _) in shown.items()
                if any(abs(value - end) < unit for end in ends)
                and not (word.endswith("%") and one.quantity == "epsilon")
            ]
            if not words:
                continue
            word = max(words, key=lambda word: shown[word][2])
            try:
                told = one.claim()
            except (QuiltworkError, NotImplementedError):
                continue
            claim = told.rounded(max(shown[word][2], 4))
            if (word, claim.quantity, claim.at) not in seen:
                seen.add((word, claim.quantity, claim.at))
                yield Printed(page, word, claim)


def _single(bracket: Any) -> list[Any]:
    if bracket.shape == ():
        return [bracket]
    few = len(bracket.shape) == 1 and bracket.shape[0] <= SEVERAL
    return [bracket[place] for place in range(bracket.shape[0])] if few else []


def documentation() -> Iterator[Printed]:
    """Of README and of every page."""
    for page in pages():
        listed = blocks(page)
        with tempfile.TemporaryDirectory() as folder, overheard() as brackets, _at_home(Path(folder)):
            names: dict[str, Any] = {"__name__": "__main__"}
            for block in listed:
                _run(block, names)
        yield from matched(str(page.relative_to(ROOT)), page.read_text(), brackets)


@contextlib.contextmanager
def _at_home(folder: Path) -> Iterator[None]:
    """In a folder with the examples, with nothing said."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "build").mkdir()
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        before = dict(os.environ)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _run(block: Block, names: dict[str, Any]) -> None:
    """A block of Python, or commands that only answer; what fails here is the tests' matter."""
    with contextlib.suppress(Exception, SystemExit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if block.kind == "python":
            exec(block.text, names)
        elif block.kind == "pycon":
            lines = [line[4:] for line in block.text.splitlines() if line.startswith((">>> ", "... "))]
            exec("\n".join(lines), names)
        elif block.kind in ("sh", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words[:1] == ["quiltwork"] and words[1:2] and words[1] in PLAIN and not set(words) & {"|", ">"}:
                    main(words[1:])


def gallery() -> Iterator[Printed]:
    """Of items of the gallery that do not take long, on smaller samples."""
    for room in all_rooms():
        for study in room.studies:
            if study.seconds[1] > EASY:
                continue
            with overheard() as brackets, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                findings = study.measure(Effort(quick=True))
            for key, finding in findings.items():
                yield from matched(f"gallery: {key}", json.dumps(finding.to_json(), ensure_ascii=False), brackets)


__all__ = ["Printed", "documentation", "gallery", "matched", "numbers"]
