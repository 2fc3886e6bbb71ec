"""Parts that every kind of page has: plain words, warnings, charts, assumptions, references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from quiltwork.document.blocks import Block, Bullets, Chart, Details, Section, Words

NAMES = "Papers and notes that are named by number or file here are listed on the page theory.md of the documentation."
_SAID_ELSEWHERE = ("Protected:", "This assumes", "It follows from")
SUMMARY = "At a glance"
Detail = Literal["words", "quick", "whole"]  # no charts; charts for somebody who waits; charts at every place
FOLDED = 5  # items of a list that is shown at once
AT_MOST, AT_LEAST = "\N{LESS-THAN OR EQUAL TO}", "\N{GREATER-THAN OR EQUAL TO}"


def plain_words(lines: Iterable[str]) -> list[Block]:
    """Paragraphs and lists, without what other sections say; a long list is folded."""
    blocks: list[Block] = []
    told = [line for line in lines if not line.startswith(_SAID_ELSEWHERE)]
    for listed, group in groupby(told, lambda line: line.startswith("- ")):
        if not listed:
            blocks += [Words(line) for line in group]
            continue
        items = Bullets([line.removeprefix("- ") for line in group])
        blocks.append(items if len(items.items) <= FOLDED else Details("One by one", [items]))
    return blocks


def warned(lines: Iterable[str]) -> list[Block]:
    """What a reader must not overlook."""
    found = list(dict.fromkeys(lines))
    return [Bullets([f"Warning: {line}" for line in found])] if found else []


def curves_section(charts: Sequence[Chart], heading: str = "The curves") -> list[Section]:
    """The charts under a heading, when there are any."""
    return [Section(heading, charts)] if charts else []


def assumed(lines: Iterable[str]) -> list[Section]:
    """What every number rests on."""
    found = list(dict.fromkeys(lines))
    return [Section("What is assumed", [Bullets(found)])] if found else []


def why(lines: Iterable[str]) -> list[Section]:
    """The theorems, and where their short names are explained."""
    found = list(dict.fromkeys(lines))
    if not found:
        return []
    blocks: list[Block] = [Bullets(found)]
    if any("theory/" in line or "seed 00" in line for line in found):
        blocks.append(Words(NAMES))
    return [Section("Why it holds", blocks)]
